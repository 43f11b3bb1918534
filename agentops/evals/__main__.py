"""``manage.py scenarios`` in a process of its own, under ``agentops.evals.settings``."""

import argparse
import json
import signal
import sys

import django


def main() -> int:
    """Work the scenarios and print the report; 1 when any failed."""
    parser = argparse.ArgumentParser(prog="manage.py scenarios")
    parser.add_argument("role")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    # SIGTERM also leaves by way of what drops the database.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    django.setup()
    # The models can be imported now, not before.
    from agentops.evals.scratch import scratch_database  # noqa: PLC0415
    from agentops.evals.suite import run_suite  # noqa: PLC0415
    from agentops.registry.roles import get_role  # noqa: PLC0415

    with scratch_database("scenarios"):
        report = run_suite(get_role(options.role), options.only)
    sys.stdout.write(json.dumps(report.as_json()) + "\n" if options.json else report.as_text())
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
