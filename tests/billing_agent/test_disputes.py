"""Disputes: told of once or twice and in any order, they have their entries once, and nothing goes back meanwhile."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import ToolFailure
from billing_agent import models
from billing_agent.books import balances, imbalances
from billing_agent.connectors import disputed
from billing_agent.connectors.dispute_rules import Told
from billing_agent.connectors.disputing import close_dispute, open_dispute, told_of
from billing_agent.connectors.port import RefundCharge
from billing_agent.connectors.records import DisputeStatus
from billing_agent.models import Account
from tests.factories.billing import NOW, Desk, make_desk, told, usd
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=3)


@pytest.fixture
def desk() -> Desk:
    return make_desk()


def _books(desk: Desk) -> tuple[int, int, int]:
    """Return what stands on cash, disputed and written off."""
    found = balances(desk.tenant.id, currency="USD")
    return found[Account.CASH], found[Account.DISPUTED], found[Account.WRITTEN_OFF]


def _entries() -> list[str]:
    return list(models.Entry.objects.filter(kind__startswith="dispute").values_list("kind", flat=True))


def _decided(desk: Desk, status: DisputeStatus, minor: int = 5500, **fields: Any) -> Told:
    return told(desk.charge(), minor, **({"status": status, "told_at": LATER} | fields))


def _refusal(desk: Desk, message: Told) -> tuple[FailureKind, str]:
    before = models.Entry.objects.count(), models.Dispute.objects.count()
    act = open_dispute if message.status is DisputeStatus.NEEDS_RESPONSE else close_dispute
    with pytest.raises(ToolFailure) as caught:
        act(desk.tenant.id, message, NOW)
    assert (models.Entry.objects.count(), models.Dispute.objects.count()) == before
    return caught.value.kind, caught.value.message


@pytest.mark.parametrize(
    ("status", "books", "refundable"),
    [(DisputeStatus.WON, (5500, 0, 0), 5500), (DisputeStatus.LOST, (3500, 0, 2000), 3500)],
)
def test_a_dispute_from_its_beginning_to_its_end(
    desk: Desk, status: DisputeStatus, books: tuple[int, int, int], refundable: int
) -> None:
    version = desk.charge().version
    opened = open_dispute(desk.tenant.id, told(desk.charge(), 2000), NOW)
    assert (opened.changed, opened.dispute.amount, _books(desk)) == (True, usd(2000), (3500, 2000, 0))
    assert desk.charge().version == version + 1
    with pytest.raises(ToolFailure, match="is disputed; nothing is refunded until that is settled"):
        desk.act(RefundCharge(desk.charge().ref, usd(1), "Late"))
    closed = close_dispute(desk.tenant.id, _decided(desk, status, 2000), LATER)
    assert (closed.changed, closed.dispute.status, _books(desk)) == (True, status, books)
    assert desk.charge().version == version + 2
    assert models.Dispute.objects.get().closed_at == LATER
    with pytest.raises(ToolFailure):
        desk.act(RefundCharge(desk.charge().ref, usd(refundable + 1), "Late"))
    desk.act(RefundCharge(desk.charge().ref, usd(refundable), "Late"))
    assert imbalances(desk.tenant.id) == []


def test_what_is_told_again_changes_nothing(desk: Desk) -> None:
    message = told(desk.charge(), 5500)
    assert open_dispute(desk.tenant.id, message, NOW).changed
    assert not open_dispute(desk.tenant.id, message, LATER).changed
    close_dispute(desk.tenant.id, _decided(desk, DisputeStatus.LOST), LATER)
    assert not close_dispute(desk.tenant.id, _decided(desk, DisputeStatus.LOST), LATER).changed
    assert _entries() == ["dispute", "dispute_lost"]


def test_what_is_told_out_of_order_comes_to_the_same(desk: Desk) -> None:
    close_dispute(desk.tenant.id, _decided(desk, DisputeStatus.LOST), LATER)
    assert _entries() == ["dispute", "dispute_lost"]
    late = open_dispute(desk.tenant.id, told(desk.charge(), 5500), LATER)
    assert (late.changed, late.dispute.status) == (False, DisputeStatus.LOST)
    assert _books(desk) == (0, 0, 5500)


def test_an_older_message_about_an_open_dispute_tells_nothing(desk: Desk) -> None:
    review = DisputeStatus.UNDER_REVIEW
    newer = told(desk.charge(), 5500, status=review, told_at=LATER, respond_by=LATER + timedelta(days=7))
    open_dispute(desk.tenant.id, newer, LATER)
    assert not open_dispute(desk.tenant.id, told(desk.charge(), 5500), LATER).changed
    row = models.Dispute.objects.get()
    assert (row.status, row.respond_by) == (review, newer.respond_by)
    assert open_dispute(desk.tenant.id, replace(newer, told_at=LATER + timedelta(1), respond_by=None), LATER).changed
    row.refresh_from_db()
    assert (row.respond_by, row.version, _entries()) == (None, 2, ["dispute"])


def test_a_decision_is_final(desk: Desk) -> None:
    close_dispute(desk.tenant.id, _decided(desk, DisputeStatus.WON), LATER)
    expected = FailureKind.CONFLICT, "Dispute dp-1 is won already, so it cannot be lost."
    assert _refusal(desk, _decided(desk, DisputeStatus.LOST)) == expected


REFUSED: dict[str, tuple[dict[str, Any], FailureKind, str]] = {
    "an unknown charge": ({"charge_ref": "ch-0"}, FailureKind.NOT_FOUND, "There is no such charge of this customer."),
    "another currency": ({"amount": Money(5, "EUR")}, FailureKind.VALIDATION, "is in USD, not EUR."),
    "nothing": ({"amount": usd(0)}, FailureKind.VALIDATION, "The amount must be more than nothing."),
    "less than nothing": ({"amount": usd(-5)}, FailureKind.VALIDATION, "The amount must be more than nothing."),
    "more than the charge": ({"amount": usd(5501)}, FailureKind.CONFLICT, "only $55.00 are left, less than the $55.01"),
    "more than any number": ({"amount": usd(2**63)}, FailureKind.VALIDATION, "larger than any that is booked here."),
    "no id": ({"ref": " "}, FailureKind.VALIDATION, "The id of a dispute is one line of 1 to 64 characters."),
    "a long id": ({"ref": "d" * 65}, FailureKind.VALIDATION, "The id of a dispute is one line of 1 to 64 characters."),
    "a reason with a zero": ({"reason": "\0"}, FailureKind.VALIDATION, "The reason of a dispute is one line"),
    "a moment without a zone": (
        {"told_at": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is what is refused
        FailureKind.VALIDATION,
        "A moment of a dispute names its time zone.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_dispute_that_cannot_be_is_refused(desk: Desk, name: str) -> None:
    fields, kind, words = REFUSED[name]
    found = _refusal(desk, replace(told(desk.charge(), 100), **fields))
    assert found[0] is kind
    assert words in found[1]


def test_a_dispute_of_a_charge_that_failed_is_refused(desk: Desk) -> None:
    charge = models.Charge.objects.create(
        tenant=desk.tenant,
        customer=desk.dana,
        ref="ch-f",
        method_ref="card-2",
        amount_minor=100,
        currency="USD",
        status="failed",
        decline_code="do_not_honor",
        at=NOW,
    )
    assert _refusal(desk, told(charge, 100)) == (
        FailureKind.CONFLICT,
        "Charge ch-f took nothing, so there is nothing to dispute.",
    )


def test_the_same_id_about_something_else_is_a_conflict(desk: Desk) -> None:
    open_dispute(desk.tenant.id, told(desk.charge(), 2000), NOW)
    kind, words = _refusal(desk, told(desk.charge(), 2001))
    assert (kind, words) == (
        FailureKind.CONFLICT,
        f"Dispute dp-1 was about $20.00 of charge {desk.charge().ref} until now.",
    )


def test_several_disputes_hold_no_more_than_the_charge(desk: Desk) -> None:
    desk.act(RefundCharge(desk.charge().ref, usd(500), "Late"))
    open_dispute(desk.tenant.id, told(desk.charge(), 3000), NOW)
    assert _refusal(desk, told(desk.charge(), 2001, "dp-2"))[0] is FailureKind.CONFLICT
    open_dispute(desk.tenant.id, told(desk.charge(), 2000, "dp-2"), NOW)
    assert (_books(desk), imbalances(desk.tenant.id)) == ((0, 5000, 0), [])


def test_a_charge_of_another_tenant_does_not_exist(desk: Desk) -> None:
    south = replace(desk, tenant=make_tenant("south"))
    message = told(desk.charge(), 100)
    with pytest.raises(ToolFailure, match="There is no such charge"):
        open_dispute(south.tenant.id, message, NOW)


def test_opening_takes_no_decision_and_closing_no_open_status(desk: Desk) -> None:
    with pytest.raises(ToolFailure, match="close it instead"):
        open_dispute(desk.tenant.id, _decided(desk, DisputeStatus.WON), NOW)
    with pytest.raises(ToolFailure, match="as won or lost"):
        close_dispute(desk.tenant.id, told(desk.charge(), 100), NOW)


def test_who_made_the_charge_hears_of_its_dispute(desk: Desk) -> None:
    open_dispute(desk.tenant.id, told(desk.charge(), 5500), NOW)
    [found] = disputed(NOW - timedelta(days=1), 10)
    assert (found.key, found.at, found.words) == (desk.charge().operation_key, NOW, "fraudulent")


def test_a_known_dispute_is_told_of_as_it_stands(desk: Desk) -> None:
    open_dispute(desk.tenant.id, told(desk.charge(), 5500), NOW)
    row = models.Dispute.objects.select_related("charge").get()
    assert told_of(row, DisputeStatus.LOST, LATER) == _decided(desk, DisputeStatus.LOST)


DURING: dict[str, tuple[str, str]] = {
    "a refund": (
        (
            "WITH more AS (UPDATE billing_agent_charge SET refunded_minor = 1) INSERT INTO billing_agent_refund"
            " (tenant_id, charge_id, ref, version, amount_minor, currency, reason, at, operation_key)"
            " SELECT tenant_id, id, 're-1', 1, 1, 'USD', '?', now(), '' FROM billing_agent_charge"
        ),
        "nothing is refunded of a charge while a dispute about it is open",
    ),
    "another amount": ("UPDATE billing_agent_dispute SET amount_minor = 1", "a dispute stays about what it was"),
    "a dispute less": ("DELETE FROM billing_agent_dispute", "a dispute stays about what it was"),
}


@pytest.mark.parametrize("name", DURING)
def test_the_database_refuses_while_a_dispute_is_open(desk: Desk, name: str) -> None:
    open_dispute(desk.tenant.id, told(desk.charge(), 100), NOW)
    statement, words = DURING[name]
    with pytest.raises(DatabaseError, match=words), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_database_refuses_another_end_of_a_dispute(desk: Desk) -> None:
    close_dispute(desk.tenant.id, _decided(desk, DisputeStatus.LOST), LATER)
    with pytest.raises(DatabaseError, match="a dispute that is decided never changes"), transaction.atomic():
        models.Dispute.objects.update(status="won", closed_at=datetime(2027, 1, 1, tzinfo=UTC))


def test_nothing_is_booked_in_closed_books(desk: Desk) -> None:
    models.ClosedPeriod.objects.create(tenant=desk.tenant, through=NOW.date(), closed_by="alice", closed_at=NOW)
    with pytest.raises(ToolFailure, match="The books are closed through 2026-11-11, so nothing is booked on"):
        open_dispute(desk.tenant.id, told(desk.charge(), 100), NOW)
    with pytest.raises(DatabaseError, match="nothing is booked in closed books"), transaction.atomic():
        models.Entry.objects.create(tenant=desk.tenant, kind="opening", currency="USD", customer_ref="dana", at=NOW)
    open_dispute(desk.tenant.id, told(desk.charge(), 100), NOW + timedelta(days=1))
    with pytest.raises(DatabaseError, match="Cannot update or delete"), transaction.atomic():
        models.ClosedPeriod.objects.all().delete()
