"""``manage.py subject export|hold|lift|holds``: what is held about a person, and what forbids to erase it."""

import getpass
import json
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.erasing import export
from agentops.ledger.holds import lift_hold, place_hold, standing_holds
from agentops.ledger.vault_models import LegalHold
from agentops.tenancy.models import Tenant


class Command(BaseCommand):
    """Parses, makes one call, prints what came of it."""

    help = "Export what is held about a person as JSON, or place and lift legal holds."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        does = parser.add_subparsers(dest="does", required=True)
        told = does.add_parser("export", help="print everything that is held, as JSON")
        hold = does.add_parser("hold", help="forbid to erase a person, or anybody of the tenant")
        lift = does.add_parser("lift", help="take a hold back")
        holds = does.add_parser("holds", help="the holds that stand")
        for one in (told, hold, lift, holds):
            one.add_argument("--tenant", required=True, metavar="SLUG")
        told.add_argument("--subject", required=True, help="customer:ID, user:NAME or sender:MAIL")
        hold.add_argument("--subject", default="", help="nothing means the whole tenant")
        hold.add_argument("--reason", required=True)
        lift.add_argument("--id", required=True, type=UUID)

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what was asked."""
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant'][:60]!r}.")
        actor = f"command:{getpass.getuser()}"
        try:
            getattr(self, f"_{options['does']}")(tenant, actor, options)
        except (AgentOpsError, LegalHold.DoesNotExist) as error:
            raise CommandError(getattr(error, "in_full", "There is no such hold.")) from error

    def _export(self, tenant: Tenant, actor: str, options: dict[str, Any]) -> None:
        told = export(tenant_id=tenant.pk, subject=options["subject"], actor=actor)
        self.stdout.write(json.dumps(told, ensure_ascii=False, indent=2))

    def _hold(self, tenant: Tenant, actor: str, options: dict[str, Any]) -> None:
        made = place_hold(tenant_id=tenant.pk, subject=options["subject"], reason=options["reason"], actor=actor)
        self.stdout.write(f"{made.pk}  {made.subject or 'the whole tenant'}")

    def _lift(self, tenant: Tenant, actor: str, options: dict[str, Any]) -> None:
        lifted = lift_hold(tenant_id=tenant.pk, hold_id=options["id"], actor=actor)
        self.stdout.write(f"{lifted.pk} was lifted.")

    def _holds(self, tenant: Tenant, actor: str, options: dict[str, Any]) -> None:
        for hold in standing_holds(tenant.pk):
            subject = hold.subject or "the whole tenant"
            self.stdout.write(f"{hold.pk}  {hold.placed_at:%Y-%m-%d}  {hold.placed_by}  {subject}  {hold.reason}")
