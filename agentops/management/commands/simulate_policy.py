"""``manage.py simulate_policy --tenant SLUG --days N [--rules FILE] [--base now] [--json]``: rules tried on history."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.canonical import digest
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.money import Money
from agentops.policy.queries import rules_of_tenant
from agentops.policy.rule_check import MOST_BYTES, BadRules, read
from agentops.policy.ruleset import TenantRules, compiled
from agentops.policy.simulate import WAYS, Cell
from agentops.runtime.house import house_of
from agentops.runtime.trying import MOST_DAYS, Base, Tried, try_on_history
from agentops.tenancy.models import Tenant


class Command(BaseCommand):
    """Parses, tries the rules, prints what came of it."""

    help = "Decide the proposals of the last days anew: with the rules in a file, or with the tenant's active ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--tenant", required=True, metavar="SLUG", help="whose history")
        parser.add_argument("--days", type=int, default=30, help=f"how far back, 1 to {MOST_DAYS} (default 30)")
        parser.add_argument("--rules", type=Path, metavar="FILE", help="a rule set as JSON (default: the active one)")
        parser.add_argument(
            "--base",
            choices=[base.value for base in Base],
            default=Base.THEN.value,
            help="besides these rules: what was decided then (default), or what holds now",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Try the rules. Writes nothing."""
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant'][:60]!r}.")
        try:
            rules = _rules(tenant, options["rules"])
            tried = try_on_history(tenant_id=tenant.pk, rules=rules, days=options["days"], base=Base(options["base"]))
        except BadRules as error:
            raise CommandError("\n".join([*error.problems, error.next_step])) from error
        except AgentOpsError as error:
            raise CommandError(error.in_full) from error
        if options["json"]:
            self.stdout.write(json.dumps(_described(tried, rules)))
        else:
            self._tell(tried)

    def _tell(self, tried: Tried) -> None:
        summary = tried.summary
        self.stdout.write(f"{summary.total} proposals, {summary.changed} decided another way.")
        for (then, now), cell in sorted(summary.matrix.items()):
            self.stdout.write(f"{WAYS[then]:>8} -> {WAYS[now]:<8} {_told(cell)}")
        for rule, found in sorted(summary.rules.items()):
            self.stdout.write(f"  {rule}: fired {found.fired}, newly {found.new}, not known then {found.not_recorded}")


def _rules(tenant: Tenant, path: Path | None) -> TenantRules:
    """Return the rules in a file, or the tenant's active ones. Raises BadRules."""
    if path is None:
        return rules_of_tenant(tenant.pk)
    try:
        with path.open("rb") as file:
            document = read(file.read(MOST_BYTES + 1), house_of(tenant.pk))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    return compiled(document, digest(document).hex())


def _told(cell: Cell) -> str:
    money = ", ".join(str(Money(minor, currency)) for currency, minor in sorted(cell.money.items()))
    people = ", ".join(f"{count} {outcome}" for outcome, count in sorted(cell.outcomes.items()))
    parts = (money, people, f"{cell.undone} undone later" if cell.undone else "")
    known = f"{cell.not_recorded} not known then" if cell.not_recorded else ""
    return "; ".join(filter(None, (str(cell.count), *parts, known)))


def _described(tried: Tried, rules: TenantRules) -> dict[str, Any]:
    window = {"since": tried.since.isoformat(), "until": tried.until.isoformat(), "base": tried.base.value}
    return {**window, "digest": rules.digest, **tried.summary.as_json()}
