"""``manage.py blast_radius``: the document on the blast radius of every tool, from the registry."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from agentops.registry.blast_radius import document, rows_of
from agentops.registry.roles import all_roles


class Command(BaseCommand):
    """Print the document; with ``--write`` replace what is generated of it."""

    help = "Show every tool with its worst single call and the control that stops it, or write docs/blast-radius.md."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the flag."""
        parser.add_argument("--write", action="store_true", help="write docs/blast-radius.md; its head stays")

    def handle(self, *args: Any, write: bool, **options: Any) -> None:
        """Print or write."""
        path = Path(settings.BASE_DIR) / "docs" / "blast-radius.md"
        text = document(path.read_text(encoding="utf-8"), rows_of(all_roles()))
        if write:
            path.write_text(text, encoding="utf-8")
        else:
            self.stdout.write(text)
