"""Sequences of calls, disputes, runs and write-offs on the embedded system: whatever happens, the books hold."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from agentops.registry.tool import ToolFailure
from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.connectors.disputing import close_dispute, open_dispute, told_of
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    PauseSubscription,
    RefundCharge,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteOffInvoice,
)
from billing_agent.connectors.records import DisputeStatus
from billing_agent.connectors.renewing import run_due
from tests.factories.billing import NOW, Desk, bill, make_desk, told, usd

pytestmark = pytest.mark.django_db


def _credit(desk: Desk) -> str:
    return desk.dana.credits.order_by("-left_minor").values_list("ref", flat=True).first() or "none"


def _pass_time(desk: Desk) -> None:
    """Let every open invoice be one that should have been paid."""
    models.Invoice.objects.filter(tenant=desk.tenant, status="open").update(due_at=NOW - timedelta(days=1))


def _renew(desk: Desk, days: int) -> None:
    """Let the run come that many days later, and dunning and renewals with it."""
    run_due(desk.tenant.id, NOW + timedelta(days=days), 20)


def _dispute(desk: Desk, minor: int, which: int) -> None:
    """Let the bank take money of one of the charges back, of a declined one as well."""
    charges = list(models.Charge.objects.filter(tenant=desk.tenant).order_by("id"))
    open_dispute(desk.tenant.id, told(charges[which % len(charges)], minor, f"dp-{which}"), NOW)


def _decide(desk: Desk, which: int, status: DisputeStatus) -> None:
    """Let the bank decide one of the disputes, or tell of its decision before it told of the dispute."""
    known = models.Dispute.objects.filter(tenant=desk.tenant, ref=f"dp-{which}").select_related("charge").first()
    message = told(desk.charge(), 7, f"dp-{which}", status=status) if known is None else told_of(known, status, NOW)
    close_dispute(desk.tenant.id, message, NOW)


AMOUNTS = st.integers(1, 4000)
NUMBERS = st.integers(1, 6).map(lambda number: f"INV-{number:06}")
# Each step is a write that may be refused: what is refused changes nothing, and what is done keeps the books.
STEPS: st.SearchStrategy[Callable[[Desk], Write | None]] = st.one_of(
    AMOUNTS.map(lambda minor: lambda desk: bill(minor, "More")),
    st.builds(lambda minor, number: lambda desk: ApplyCredit(usd(minor), "Late", number), AMOUNTS, NUMBERS),
    AMOUNTS.map(lambda minor: lambda desk: ApplyCredit(usd(minor), "Late")),
    AMOUNTS.map(lambda minor: lambda desk: RefundCharge(desk.charge().ref, usd(minor), "Late")),
    st.just(lambda desk: ReverseCredit(_credit(desk), "Twice")),
    NUMBERS.map(lambda number: lambda desk: VoidInvoice(number, "Twice")),
    st.builds(
        lambda number, card: lambda desk: RetryCharge(number, card, _left(desk, number)),
        NUMBERS,
        st.sampled_from(["card-1", "card-2"]),
    ),
    st.builds(
        lambda plan, quantity, now: lambda desk: ChangePlan("sub-1", plan, quantity, now=now),
        st.sampled_from(["team", "business", "old"]),
        st.integers(1, 3),
        st.booleans(),
    ),
    st.just(lambda desk: PauseSubscription("sub-1", None)),
    st.just(lambda desk: ResumeSubscription("sub-1")),
    st.just(lambda desk: CancelSubscription("sub-1", now=False, reason="Too dear")),
    NUMBERS.map(lambda number: lambda desk: WriteOffInvoice(number, "Gone")),
    st.just(_pass_time),
    st.integers(0, 80).map(lambda days: lambda desk: _renew(desk, days)),
    st.builds(lambda minor, which: lambda desk: _dispute(desk, minor, which), AMOUNTS, st.integers(0, 3)),
    st.builds(
        lambda which, status: lambda desk: _decide(desk, which, status),
        st.integers(0, 3),
        st.sampled_from([DisputeStatus.WON, DisputeStatus.LOST]),
    ),
)


def _closed() -> dict[str, Any]:
    rows = models.Invoice.objects.filter(status__in=["paid", "void", "uncollectible"]).values()
    return {row["ref"]: row for row in rows}


def _left(desk: Desk, number: str) -> Any:
    invoice = models.Invoice.objects.filter(tenant=desk.tenant, number=number).first()
    return usd(1 if invoice is None else invoice.total_minor - invoice.paid_minor - invoice.credited_minor)


@given(steps=st.lists(STEPS, min_size=4, max_size=14))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_whatever_happens_in_whatever_order_keeps_the_books(steps: list[Callable[[Desk], Write | None]]) -> None:
    """No sequence unbalances the books, gives more back than was paid, or changes a closed invoice."""
    with transaction.atomic():
        desk = make_desk()
        for number, step in enumerate(steps):
            before, closed = models.Entry.objects.count(), _closed()
            try:
                write = step(desk)
                if write is not None:
                    desk.act(write, f"step-{number}")
            except ToolFailure:
                assert models.Entry.objects.count() == before
            assert imbalances(desk.tenant.id) == []
            after = _closed()
            assert {ref: after.get(ref) for ref in closed} == closed
            _require_no_more_back_than_paid()
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        issued = models.Invoice.objects.values_list("number", flat=True)
        assert sorted(issued) == [f"INV-{number:06}" for number in range(1, len(issued) + 1)]
        transaction.set_rollback(True)


def _require_no_more_back_than_paid() -> None:
    for charge in models.Charge.objects.prefetch_related("refunds", "disputes"):
        took = charge.amount_minor if charge.status == "succeeded" else 0
        refunded = sum(each.amount_minor for each in charge.refunds.all())
        held = sum(each.amount_minor for each in charge.disputes.all() if each.status != "won")
        assert charge.refunded_minor == refunded
        assert refunded + held <= took
