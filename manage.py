#!/usr/bin/env python3
"""Run a command of the product: ``manage.py help`` lists them. Without other settings it works on the demo's data."""

import os
import sys

# The package reads the name of the settings when it is imported.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentops.settings.demo")

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from agentops.kernel.errors import AgentOpsError


def main() -> None:
    """Run the command; a wrong setting or a known failure ends with one sentence and exit code 2."""
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, AgentOpsError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
