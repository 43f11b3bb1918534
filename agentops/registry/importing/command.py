"""The command of a role that records work from a file."""

from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.clock import utcnow
from agentops.registry.importing.files import SNIFFED_BYTES, Format, format_of, read
from agentops.registry.importing.recording import Insert, Report, record_rows
from agentops.registry.importing.rows import COLUMNS, REQUIRED
from agentops.registry.roles import UnknownRole, get_role
from agentops.tenancy.models import Tenant

REPORT_EVERY = 5_000
_NAMES = "\n".join(f"  {column:<12} {', '.join(names)}" for column, names in COLUMNS.items())
_HELP = f"""

CSV (with a header; comma, semicolon or tab), JSON Lines (one object a line), or a mailbox (mbox). The format
follows from the file's name (.csv .tsv .jsonl .ndjson .mbox) or from how it begins.

Columns and keys, with the names they may have:
{_NAMES}
{", ".join(REQUIRED)} are required. Dates are ISO 8601 or as in mail; without a zone they are UTC.

Good rows are taken; bad ones are listed with line and reason. A row is known by its id, otherwise by sender,
date, subject and body, so importing a file again adds nothing."""


class ImportCommand(BaseCommand):
    """Parses, records the rows, tells the counts. Exit code 1 when not a single row could be used.

    A role names itself (``role``), what its work is called (``noun``: the subject kind), and how rows become such work
    (``insert``).
    """

    role: ClassVar[str]
    noun: ClassVar[str]
    insert: Insert
    next_report = REPORT_EVERY

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Keep the lines of the help text as they are."""
        self.help = f"Record {self.noun}s from a file.{_HELP}"
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--tenant", metavar="SLUG", help=f"whose {self.noun}s these are; needed when there are several"
        )
        parser.add_argument("--format", choices=[form.value for form in Format], help="do not guess the format")
        parser.add_argument(
            "--role", default=self.role, help=f"the role whose work {self.noun}s are (default: {self.role})"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file."""
        self._require_role(options["role"])
        tenant = _tenant(options["tenant"])
        report = self._import(options["file"], options["format"], tenant)
        self._tell(report, tenant)
        if not report.taken and not report.duplicates:
            raise CommandError(f"No {self.noun} could be read from the file.")

    def _import(self, path: Path, named: str | None, tenant: Tenant) -> Report:
        try:
            with path.open("rb") as stream:
                form = Format(named) if named else format_of(path.name, stream.read(SNIFFED_BYTES))
                stream.seek(0)
                self.stdout.write(f"Reading {path.name} as {form.value} for {tenant.name}.")
                rows = read(stream, form, now=utcnow())
                return record_rows(tenant_id=tenant.id, rows=rows, insert=type(self).insert, progress=self._progress)
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from error

    def _progress(self, report: Report) -> None:
        if report.seen >= self.next_report:
            self.stdout.write(f"  {report.seen} rows read, {report.taken} taken")
            self.next_report = report.seen + REPORT_EVERY

    def _tell(self, report: Report, tenant: Tenant) -> None:
        for bad in report.bad:
            self.stdout.write(f"  line {bad.line}: {bad.reason.value}: {bad.words}")
        if report.refused > len(report.bad):
            self.stdout.write(f"  … and {report.refused - len(report.bad)} more bad rows")
        for reason, count in sorted(report.reasons.items()):
            self.stdout.write(f"  {count} not taken: {reason.value}")
        self.stdout.write(
            f"{report.taken} {self.noun}s taken, {report.duplicates} known already, {report.refused} bad rows. "
            f"Open {self.noun}s of {tenant.name} wait for sessions."
        )

    def _require_role(self, name: str) -> None:
        try:
            role = get_role(name)
        except UnknownRole as error:
            raise CommandError(f"{error.message}. {error.next_step}") from error
        if role.subject_kind != self.noun:
            raise CommandError(f"The role {name!r} does not work on {self.noun}s.")


def _tenant(slug: str | None) -> Tenant:
    """Return the named tenant, or the only one."""
    if slug is None:
        tenants = list(Tenant.objects.all()[:2])
        if len(tenants) != 1:
            raise CommandError("Name the tenant with --tenant SLUG.")
        return tenants[0]
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise CommandError(f"There is no tenant {slug[:60]!r}.")
    return tenant
