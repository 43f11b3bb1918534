"""What a decision costs, what checking arguments costs, and how long 100,000 decisions of the past take to make anew.

    python benchmarks/policy.py [--json] [--proposals N] [--only PART,…]

Makes a database of its own on the server of DATABASE_URL, or on an embedded one, and drops it at the end. The parts:
decide, validate, simulate. What the figures mean: docs/design/policy.md.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PARTS = ("decide", "validate", "simulate")
TARGETS = {"decide_us": 200, "validate_us": 5, "simulate_100k_s": 10}


def main() -> int:
    """Run the parts that are wanted and print their figures."""
    options = _options()
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.runtime_settings"
    os.environ.pop("AGENTOPS_TEST_DATABASE", None)
    with tempfile.TemporaryDirectory(prefix="agentops-benchmark-", ignore_cleanup_errors=True) as folder:
        os.environ["BENCHMARK_FOLDER"] = str(Path(folder) / "server")
        # The apps have to be set up before their models can be imported.
        import django  # noqa: PLC0415

        django.setup()
        from benchmarks.policy_parts import run_parts  # noqa: PLC0415

        figures: dict[str, Any] = run_parts(options.only, proposals=options.proposals)
    print(json.dumps(figures) if options.json else _table(figures))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object only")
    parser.add_argument("--proposals", type=_count, default=100_000, help="how many are recorded (default 100000)")
    parser.add_argument("--only", type=_parts, default=frozenset(PARTS), help=f"of {', '.join(PARTS)}")
    return parser.parse_args()


def _count(text: str) -> int:
    if not 100 <= int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError("write a number from 100 to 10000000")
    return int(text)


def _parts(text: str) -> frozenset[str]:
    parts = frozenset(text.split(","))
    if not parts <= set(PARTS):
        raise argparse.ArgumentTypeError(f"the parts are {', '.join(PARTS)}")
    return parts


def _table(figures: dict[str, Any]) -> str:
    lines = []
    for name, value in figures.items():
        target = f"   (target at most {TARGETS[name]})" if name in TARGETS else ""
        lines.append(f"{name:24} {value}{target}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
