"""What a decision costs, what checking arguments costs, and how long 100,000 decisions of the past take to make anew.

    python benchmarks/policy.py [--json] [--proposals N] [--only PART,…]

Makes a database of its own on the server of DATABASE_URL, or on an embedded one, and drops it at the end. The parts:
decide, validate, simulate. What the figures mean: docs/design/policy.md.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.starting import number_from, parser_of, set_up, some_of  # noqa: E402 - found by the path above

PARTS = ("decide", "validate", "simulate")
TARGETS = {"decide_us": 200, "validate_us": 5, "simulate_100k_s": 10}


def main() -> int:
    """Run the parts that are wanted and print their figures."""
    options = _options()
    with set_up():
        # The apps have to be set up before their models can be imported.
        from benchmarks.policy_parts import run_parts  # noqa: PLC0415

        figures: dict[str, Any] = run_parts(options.only, proposals=options.proposals)
    print(json.dumps(figures) if options.json else _table(figures))
    return 0


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    counts = number_from(100, 10_000_000)
    parser.add_argument("--proposals", type=counts, default=100_000, help="how many are recorded (default 100000)")
    parser.add_argument("--only", type=some_of(PARTS), default=frozenset(PARTS), help=f"of {', '.join(PARTS)}")
    return parser.parse_args()


def _table(figures: dict[str, Any]) -> str:
    lines = []
    for name, value in figures.items():
        target = f"   (target at most {TARGETS[name]})" if name in TARGETS else ""
        lines.append(f"{name:24} {value}{target}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
