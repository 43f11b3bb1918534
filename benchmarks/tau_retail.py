"""Work a shop's recorded requests through the whole product and compare the shop afterwards.

    python benchmarks/tau_retail.py DIR [--json] [--seed N]

DIR holds ``users.json``, ``orders.json``, ``products.json``, ``tickets.jsonl`` and ``tasks.jsonl`` in the form of
tau-bench retail. For each task the calls of a perfect agent are proposed by a scripted planner and take the full path:
proposal, policy, a person who approves, intent, effect. Two worker processes with two threads each are rung far
too often and killed at random. Tasks of one customer run in different rounds, each on a fresh copy of the shop;
after a round every order and customer of the shop is compared, so an effect in the wrong place is found too.

Prints ``tasks``, ``equal``, ``double_effects``, ``questions``, ``errors``; exit code 1 unless all tasks are equal
without double effects and errors.
"""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.starting import parser_of  # noqa: E402 - found by the path above

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentops.settings.test")
os.environ.setdefault("LEASE_SECONDS", "2")
TASKS = "TAU_RETAIL_TASKS"
PATIENCE_S = 300


def main() -> int:
    """Run every round and print the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="for the moments of the kills")
    options = parser.parse_args()

    # The apps have to be set up before their models can be imported.
    import django  # noqa: PLC0415

    django.setup()
    from benchmarks.runtime_base import scratch_database  # noqa: PLC0415
    from benchmarks.tau_round import Round, read_shop, rounds_of  # noqa: PLC0415

    shop = read_shop(options.dir)
    os.environ[TASKS] = str((options.dir / "tasks.jsonl").resolve())
    total: Counter[str] = Counter(tasks=len(shop.tasks))
    began = time.monotonic()
    with scratch_database():
        for number, tasks in enumerate(rounds_of(shop.tasks)):
            figures, words = Round(shop, tasks, number, options.seed + number).run(PATIENCE_S)
            total.update(figures)
            if not options.json:
                print(f"round {number}: {len(tasks)} tasks, {dict(figures)}")
                print("".join(f"  {line}\n" for line in words), end="")
    result = {name: total[name] for name in ("tasks", "equal", "double_effects", "questions", "errors", "kills")}
    result |= {"seed": options.seed, "seconds": round(time.monotonic() - began)}
    print(json.dumps(result))
    return 0 if result["equal"] == result["tasks"] and not result["double_effects"] and not result["errors"] else 1


if __name__ == "__main__":
    sys.exit(main())
