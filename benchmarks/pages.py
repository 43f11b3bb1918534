"""What the pages cost that people wait for: server time, queries and weight, with a long past stored.

    python benchmarks/pages.py [--json] [--requests N] [--events N] [--looks N]

Makes a database of its own on the server of DATABASE_URL, or on an embedded one, fills it with COPY and drops it at
the end. What the figures mean: docs/design/approvals.md.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.starting import number_from, parser_of, set_up  # noqa: E402 - found by the path above

MOST_P95_MS, MOST_QUERIES = 100, 12
MOST_KB = {"queue": 120, "request": 150}


def main() -> int:
    """Fill the database, open the pages and print their figures."""
    options = _options()
    with set_up("benchmarks.pages_settings"):
        # The apps have to be set up before their models can be imported.
        from benchmarks.pages_parts import run  # noqa: PLC0415

        figures: dict[str, Any] = run(requests=options.requests, events=options.events, looks=options.looks)
    print(json.dumps(figures) if options.json else _table(figures))
    return 0


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    rows = number_from(1_000, 20_000_000)
    parser.add_argument("--requests", type=rows, default=1_000_000, help="stored requests (default 1000000)")
    parser.add_argument("--events", type=rows, default=1_000_000, help="stored events (default 1000000)")
    parser.add_argument("--looks", type=number_from(20, 10_000), default=200, help="at each page (default 200)")
    return parser.parse_args()


def _table(figures: dict[str, Any]) -> str:
    lines = [f"{figures['requests']} requests and {figures['events']} events stored in {figures['stored_s']} s"]
    lines.append(f"at most {MOST_P95_MS} ms; the queue in at most {MOST_QUERIES} queries")
    for name, page in figures.items():
        if isinstance(page, dict):
            weight = f"{page['gzip_kb']} KB" + (f" (at most {MOST_KB[name]})" if name in MOST_KB else "")
            lines.append(
                f"{name:10} p95 {page['p95_ms']:8} ms   median {page['median_ms']:8} ms   "
                f"{page['queries']:3} queries   {weight}, of it script {page['script_kb']} KB"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
