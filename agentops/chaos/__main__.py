"""``manage.py chaos`` in a process of its own, under ``agentops.chaos.settings``."""

import argparse
import json
import signal
import sys
import time

import django


def main() -> int:
    """Run the drill and print its report; 1 when anything is wrong with it."""
    parser = argparse.ArgumentParser(prog="manage.py chaos")
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    seed = int(time.time()) if options.seed is None else options.seed
    # SIGTERM also leaves by way of what drops the database and ends the workers.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    django.setup()
    # The models can be imported now, not before.
    from agentops.chaos.drill import run_drill  # noqa: PLC0415
    from agentops.chaos.site import site  # noqa: PLC0415

    with site() as place:
        report = run_drill(place, kills=options.kills, seed=seed)
    for line in report.words():
        sys.stderr.write(f"{line}\n")
    figures = report.as_json()
    sys.stdout.write(json.dumps(figures) + "\n" if options.json else report.as_text())
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
