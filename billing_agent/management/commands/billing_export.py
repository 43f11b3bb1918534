"""``manage.py billing_export --tenant SLUG [--since DAY --until DAY] --out FOLDER``: the journal as files."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from billing_agent.exporting import FILES, Period, name_of, note
from billing_agent.management.days import add_days, period_of

ACTOR = "command:billing_export"


class Command(BaseCommand):
    """Write journal, trial balance and control totals of one moment, so that they agree whoever posts meanwhile."""

    help = "Write the journal of billing, its trial balance and its control totals as CSV files."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the tenant, the days and the folder."""
        add_days(parser)
        parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="an existing folder")

    def handle(self, *args: Any, **options: Any) -> None:
        """Put on record that they are taken, and write them. Raises CommandError."""
        period, folder = period_of(options), options["out"]
        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder.")
        for file in FILES.values():
            note(period, file, actor=ACTOR)
        try:
            self._write(period, folder)
        except OSError as error:
            raise CommandError(f"{error.filename or folder} cannot be written: {error.strerror}.") from error

    @transaction.atomic
    def _write(self, period: Period, folder: Path) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for file in FILES.values():
            path = folder / name_of(period, file)
            with path.open("wb") as stream:
                stream.writelines(file.lines(period))
            self.stdout.write(str(path))
