"""The reconciliation of a tenant's billing: reads the three accounts of a period and compares them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from agentops.registry.call_record import call_record
from agentops.registry.reconcile import Difference, Gap, Reconciliation
from billing_agent import models
from billing_agent.books import Finding, Rule, imbalances
from billing_agent.comparing import Accounts, booked_move, compare
from billing_agent.connectors import effect_log
from billing_agent.connectors.effects import Move

ROLE = "billing"
AT_ONCE = 2_000
"""Keys that one query asks about."""


def reconcile(tenant_id: UUID, since: datetime, until: datetime) -> Reconciliation:
    """Compare what the ledger, the billing system and the books say of a period, and the books with their records.

    A call and its effect may lie on two sides of the period's edge, so each is looked up by its key wherever another
    one names it. Books and records are compared as they stand now. Raises ToolFailure when the system is silent.
    """
    record = call_record()
    calls = {call.key: call for call in record.made(tenant_id, ROLE, since, until)}
    entries = models.Entry.objects.filter(tenant_id=tenant_id).exclude(operation_key="")
    posted = set(entries.filter(at__gte=since, at__lt=until).values_list("operation_key", flat=True))
    log = effect_log().took_effect(tenant_id, since, until, {*calls, *posted})
    effects = {effect.key: effect for effect in log}
    calls |= record.by_key(tenant_id, {*effects, *posted} - set(calls))
    booked, pages, count = _booked(tenant_id, sorted({*calls, *effects, *posted}))
    differences = compare(Accounts(calls, effects, booked, pages))
    unbalanced = [_unbalanced(finding) for finding in imbalances(tenant_id)]
    return Reconciliation(len(calls), len(effects), count, (*differences, *unbalanced))


def _booked(tenant_id: UUID, keys: Sequence[str]) -> tuple[Mapping[str, list[Move]], Mapping[str, str], int]:
    """Return what the entries of keys moved, the page of the customer of each key, and how many entries they are."""
    booked: dict[str, list[Move]] = {}
    pages: dict[str, str] = {}
    count = 0
    for first in range(0, len(keys), AT_ONCE):
        rows = models.Entry.objects.filter(tenant_id=tenant_id, operation_key__in=keys[first : first + AT_ONCE])
        for row in rows.order_by("pk").prefetch_related("postings"):
            count += 1
            pages[row.operation_key] = reverse("billing_customer", args=[row.customer_ref])
            moved = {line.account: line.minor for line in row.postings.all()}
            if (move := booked_move(row.kind, row.currency, moved)) is not None:
                booked.setdefault(row.operation_key, []).append(move)
    return booked, pages, count


_OF_CUSTOMERS = (Rule.RECEIVABLE, Rule.CREDIT, Rule.CASH)


def _unbalanced(finding: Finding) -> Difference:
    url = ""
    if finding.rule in _OF_CUSTOMERS:
        url = reverse("billing_customer", args=[finding.record])
    elif finding.rule is Rule.LINES:
        url = reverse("billing_invoice", args=[finding.record])
    return Difference(Gap.UNBALANCED, finding.words, url=url)
