"""What the ledger costs those who write, how fast events get their place in the log, and whether either grows.

    python benchmarks/ledger.py [--json] [--rounds N] [--events N] [--only PART,…]

Makes a database of its own on the server of DATABASE_URL, or on an embedded one, and drops it at the end. The parts:
insert, sequencer, growth, verify. What the figures mean: docs/design/ledger.md.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.starting import number_from, parser_of, set_up, some_of  # noqa: E402 - found by the path above

# Each part is a module with ``measure(rounds=, events=)`` that returns figures. They share one database, in this order.
PARTS = {
    "insert": "benchmarks.ledger_insert",
    "sequencer": "benchmarks.ledger_sequencer",
    "growth": "benchmarks.ledger_growth",
    "verify": "benchmarks.ledger_verify",
}
TARGETS = {
    "insert_ratio": "at least 0.8",
    "added_p95_ms": "at most 5",
    "sequencer_events_s": "at least 20000",
    "growth_1e6_over_1e4": "about 1",
    "verify_events_s": "at least 50000",
}


def main() -> int:
    """Run the parts that are wanted and print their figures."""
    options = _options()
    figures: dict[str, Any] = {}
    with set_up():
        # The apps have to be set up before their models can be imported.
        from benchmarks.runtime_base import scratch_database  # noqa: PLC0415

        with scratch_database():
            for name, module in PARTS.items():
                if name in options.only:
                    figures |= importlib.import_module(module).measure(rounds=options.rounds, events=options.events)
    print(json.dumps(figures) if options.json else _table(figures))
    return 0


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=number_from(1, 1000), default=9, help="how often each is measured (default 9)")
    parser.add_argument(
        "--events",
        type=number_from(20_000, 100_000_000),
        default=1_000_000,
        help="to how many events the log grows (default 1000000)",
    )
    parser.add_argument("--only", type=some_of(PARTS), default=frozenset(PARTS), help=f"of {', '.join(PARTS)}")
    return parser.parse_args()


def _table(figures: dict[str, Any]) -> str:
    lines = []
    for name, value in figures.items():
        target = f"   (target {TARGETS[name]})" if name in TARGETS else ""
        lines.append(f"{name:28} {value}{target}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
