"""Carries out what is due by the calendar: periods that end, pauses that are over, and charges that are tried again.

What is not tried again by itself becomes a case (``dunning``).

Each step is a transaction of its own with a key that follows from what is due, so a run can be repeated, and two runs
at once do everything once. Rows are locked in the order of every write.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from agentops.kernel.canonical import digest
from agentops.registry.once import Call
from agentops.registry.schedule import Run
from agentops.registry.tool import ToolFailure
from billing_agent import models
from billing_agent.connectors import reading
from billing_agent.connectors.applying import Rows, apply
from billing_agent.connectors.checks import require_open_books
from billing_agent.connectors.claims import ONCE, record_result
from billing_agent.connectors.dunning import UNTRIED, left_to_people, tell_people
from billing_agent.connectors.effect import Effect, Snapshot
from billing_agent.connectors.origins import BY_SCHEDULE
from billing_agent.connectors.renewing_rules import due_retry, plan_due, standing
from billing_agent.connectors.rules import plan
from billing_agent.connectors.snapshots import Named, of_customer

_LIVE = (models.Subscription.Status.ACTIVE, models.Subscription.Status.PAST_DUE)
_PAGE = 500
Found = tuple[str, str, str]  # the customer's id, the record's id, and the key of what is due


def run_due(tenant_id: UUID, now: datetime, limit: int) -> Run:
    """Carry out at most ``limit`` of the things that are due at ``now``, what has waited longest first.

    What is refused stays due and is told of in every run; it keeps nothing else waiting. Raises the database's errors;
    what was done until then stays done.
    """
    run = Run()
    steps = (
        (_due_subscriptions, _go_on),
        (_due_invoices, _collect),
        (_misstated, _restate),
        (left_to_people, tell_people),
    )
    for due, step in steps:
        for found in due(tenant_id, now):
            if len(run.done) >= limit:
                return run
            try:
                words = step(tenant_id, now, *found)
            except ToolFailure as failure:
                run.refused.append(f"{found[1]}: {failure.message}")
            else:
                run.done += [words] if words else []
    return run


def _due_subscriptions(tenant_id: UUID, now: datetime) -> Iterator[Found]:
    """Yield what is due; a subscription comes again as long as the last step left something due."""
    ended = Q(status__in=_LIVE) & (Q(period_end__lte=now) | Q(cancel_at__lte=now))
    rested = Q(status=models.Subscription.Status.PAUSED, resumes_at__lte=now)
    rows = models.Subscription.objects.filter(ended | rested, tenant_id=tenant_id).select_related("customer")
    for row in rows.order_by("period_end", "id").iterator(_PAGE):
        seen = ""
        while (key := _due_key(row, now)) not in ("", seen):
            seen = key
            yield row.customer.ref, row.ref, key
            row.refresh_from_db(fields=["status", "period_end", "cancel_at", "resumes_at"])


def _due_key(row: models.Subscription, now: datetime) -> str:
    """Return the key of what is due for a subscription, empty when nothing is."""
    if row.status == models.Subscription.Status.PAUSED:
        moment, what = row.resumes_at, "resume"
    elif row.status in _LIVE:
        moment, what = min(row.period_end, row.cancel_at or row.period_end), "period"
    else:
        return ""
    return f"{BY_SCHEDULE}{what}:{row.ref}:{moment.isoformat()}" if moment is not None and moment <= now else ""


def _go_on(tenant_id: UUID, now: datetime, customer_ref: str, ref: str, key: str) -> str:
    def next_effect(snapshot: Snapshot, rows: Rows) -> Effect | None:
        if rows.subscription is None or _due_key(rows.subscription, now) != key:
            return None
        effect = plan_due(snapshot)
        if effect is not None and effect.entries:
            require_open_books(snapshot.closed_through, now.date())
        return effect

    named = Named(subscription=ref, bills=True)
    return _carry_out(Call(tenant_id, key, now), customer_ref, named, next_effect)


def _due_invoices(tenant_id: UUID, now: datetime) -> Iterator[Found]:
    rows = models.Invoice.objects.filter(
        tenant_id=tenant_id, status=models.Invoice.Status.OPEN, next_attempt_at__lte=now
    )
    for row in rows.select_related("customer").order_by("next_attempt_at", "id").iterator(_PAGE):
        yield row.customer.ref, row.ref, f"{BY_SCHEDULE}charge:{row.ref}:{row.attempts + 1}"


def _collect(tenant_id: UUID, now: datetime, customer_ref: str, ref: str, key: str) -> str:
    def next_effect(snapshot: Snapshot, rows: Rows) -> Effect | None:
        invoice, customer = snapshot.invoice, snapshot.customer
        if invoice is None or customer is None or key != f"{BY_SCHEDULE}charge:{invoice.ref}:{invoice.attempts + 1}":
            return None
        write = due_retry(invoice, customer, now)
        return None if write is None else plan(snapshot, write)

    named = Named(invoice=ref)
    try:
        words = _carry_out(Call(tenant_id, key, now), customer_ref, named, next_effect)
    except ToolFailure:
        _leave_to_people(tenant_id, now, customer_ref, ref)
        raise
    return words or _leave_to_people(tenant_id, now, customer_ref, ref)


def _leave_to_people(tenant_id: UUID, now: datetime, customer_ref: str, ref: str) -> str:
    """Take the moment of the next attempt off an invoice for which none is made by itself, and tell people of it."""
    is_open = models.Invoice.Status.OPEN
    due = models.Invoice.objects.filter(tenant_id=tenant_id, ref=ref, status=is_open, next_attempt_at__lte=now)
    with transaction.atomic():
        reading.customer_row(tenant_id, customer_ref, lock=True)
        untried = due.filter(attempts=0).exists()
        if not due.update(next_attempt_at=None, version=F("version") + 1):
            return ""
        if untried:
            tell_people(tenant_id, now, customer_ref, ref, UNTRIED)
    return f"Leave the charge of {ref} to people"


def _carry_out(
    call: Call, customer_ref: str, named: Named, next_effect: Callable[[Snapshot, Rows], Effect | None]
) -> str:
    """Claim the key, lock and read what is named, and carry out what is due; return its sentence, empty for nothing."""
    with transaction.atomic():
        if not ONCE.claim(call, "RunDue", digest({"key": call.key})):
            return ""
        customer = reading.customer_row(call.tenant_id, customer_ref, lock=True)
        effect = None
        if customer is not None:
            snapshot, rows = of_customer(call, customer, named, lock=True)
            effect = next_effect(snapshot, rows)
            if effect is not None:
                apply(call, rows, effect)
                record_result(call, effect.result)
        if effect is None:
            transaction.set_rollback(True)
            return ""
    return effect.preview.effect


def _misstated(tenant_id: UUID, now: datetime) -> Iterator[Found]:
    """Yield the subscriptions that are past due by their invoices and not by their status, or the other way round."""
    late = models.Invoice.objects.filter(subscription=OuterRef("pk"), status=models.Invoice.Status.OPEN).filter(
        Q(attempts__gt=0) | Q(due_at__lte=now)
    )
    rows = models.Subscription.objects.filter(tenant_id=tenant_id).filter(
        Q(status=models.Subscription.Status.ACTIVE) & Exists(late)
        | Q(status=models.Subscription.Status.PAST_DUE) & ~Exists(late)
    )
    for row in rows.select_related("customer").order_by("id").iterator(_PAGE):
        yield row.customer.ref, row.ref, ""


def _restate(tenant_id: UUID, now: datetime, customer_ref: str, ref: str, key: str) -> str:
    """Set the status that a subscription has by its invoices. It follows from them alone, so it needs no key."""
    with transaction.atomic():
        customer = reading.customer_row(tenant_id, customer_ref, lock=True)
        row = None if customer is None else reading.subscription_row(customer, ref, lock=True)
        if customer is None or row is None:
            return ""
        subscription = reading.subscription_record(row, customer.ref)
        invoices = reading.invoice_rows(customer).filter(subscription=row, status=models.Invoice.Status.OPEN)
        status = standing(subscription, [reading.invoice_record(each, customer.ref) for each in invoices], now)
        if status is subscription.status:
            return ""
        models.Subscription.objects.filter(pk=row.pk).update(status=status, version=F("version") + 1)
    return f"{subscription.words} of {customer.name} is {status.value.replace('_', ' ')}"
