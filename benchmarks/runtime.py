"""What a durable step of the runtime costs, beside the least it could cost and beside other libraries.

    python benchmarks/runtime.py [--json] [--rounds N] [--only PART,…] [--others PYTHON] [--parked N,…]

Makes a database of its own on the server of DATABASE_URL, or on an embedded one, and drops it at the end. The parts:
core (a step), others (DBOS and LangGraph, with core), throughput, decision (with REDIS_URL), parked. What the figures
mean: docs/design/hotpath.md.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.starting import number_from, parser_of, set_up, some_of  # noqa: E402 - found by the path above

PARTS = ("core", "others", "throughput", "decision", "parked")


def main() -> int:
    """Run the parts that are wanted and print their figures."""
    options = _options()
    os.environ["BENCHMARK_PREFIX"] = f"benchmark-{os.getpid()}:"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    with set_up():
        # The apps have to be set up before their models can be imported.
        from benchmarks.runtime_parts import run_parts  # noqa: PLC0415
        from benchmarks.runtime_report import table  # noqa: PLC0415

        figures: dict[str, Any] = run_parts(options)
    print(json.dumps(figures) if options.json else table(figures))
    return 0


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--rounds", type=number_from(1, 1_000), default=15, help="of the core; the other parts follow it"
    )
    parser.add_argument("--only", type=some_of(PARTS), default=frozenset(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--others", default="", help="the Python that has the packages of requirements-bench.txt")
    parser.add_argument("--parked", type=_sizes, default=(1_000, 10_000, 100_000), help="numbers of parked sessions")
    return parser.parse_args()


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(_positive(part) for part in text.split(",")))


def _positive(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError("write numbers of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
