"""A write does what its preview said, once for each key, to records that are as they were seen."""

from collections.abc import Callable
from dataclasses import replace
from threading import Thread

import pytest
from django.db import connections

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from billing_agent.connectors.port import (
    ApplyCredit,
    ChangePlan,
    GenerateInvoice,
    Item,
    PauseSubscription,
    RefundCharge,
    RetryCharge,
    Write,
)
from tests.billing_agent.contract.cast import MOVES, SAID, WRITES, Cast, usd
from tests.factories.support import make_tenant


def refusal(call: Callable[[], object]) -> ToolFailure:
    with pytest.raises(ToolFailure) as failure:
        call()
    return failure.value


@pytest.mark.parametrize("name", WRITES)
def test_a_preview_changes_nothing(cast: Cast, name: str) -> None:
    write = WRITES[name](cast)
    before = cast.system.everything()
    shown = cast.system.show(cast.dana, write)
    assert shown.effect
    assert shown.versions
    assert cast.system.everything() == before


@pytest.mark.parametrize("name", [name for name in WRITES if name != "plan changed"])
def test_a_write_moves_what_its_preview_said_and_nothing_else(cast: Cast, name: str) -> None:
    write = WRITES[name](cast)
    shown, before, of_erin = (
        cast.system.show(cast.dana, write),
        cast.system.books(cast.dana),
        cast.system.books(cast.erin),
    )
    cast.act(write)
    moved = cast.system.books(cast.dana).since(before)
    assert moved == MOVES.get(name, {})
    assert cast.system.books(cast.erin) == of_erin
    assert shown.money == (usd(SAID[name]) if name in SAID else None)


@pytest.mark.parametrize("quantity", [1, 2, 5])
def test_a_dearer_plan_is_billed_as_previewed(cast: Cast, quantity: int) -> None:
    write = ChangePlan(cast.subscription, cast.business, quantity, now=True)
    shown, before = cast.system.show(cast.dana, write), cast.system.books(cast.dana)
    result = cast.act(write)
    after = cast.system.books(cast.dana)
    moved = after.since(before)
    assert shown.money is not None
    assert moved.get("owed", 0) + moved.get("charged", 0) == shown.money.minor == result["invoiced_minor"]
    assert moved["invoices"] == 1
    assert after.plans == ((cast.business, quantity, "active"),)


def test_a_cheaper_plan_gives_the_credit_that_was_previewed(cast: Cast) -> None:
    cheap = cast.system.plan("Solo", 500)
    write = ChangePlan(cast.subscription, cheap, 1, now=True)
    shown, before = cast.system.show(cast.dana, write), cast.system.books(cast.dana)
    result = cast.act(write)
    moved = cast.system.books(cast.dana).since(before)
    assert shown.money is not None
    assert moved.pop("credit") == shown.money.minor == result["credited_minor"]
    assert set(moved) <= {"invoices"}


@pytest.mark.parametrize("name", WRITES)
def test_a_key_has_its_effect_once_and_its_outcome_is_told(cast: Cast, name: str) -> None:
    write, billing = WRITES[name](cast), cast.system.billing
    context = cast.system.context(cast.dana, "k")
    assert billing.outcome(context) is None
    result = cast.act(write, "k")
    books = cast.system.books(cast.dana)
    assert billing.write(context, write) == result
    assert billing.outcome(context) == result
    assert cast.system.books(cast.dana) == books
    assert billing.outcome(replace(context, tenant_id=make_tenant("south").id)) is None


OTHERWISE: dict[str, tuple[Callable[[Cast], Write], Callable[[Cast], Write]]] = {
    "credit": (lambda cast: ApplyCredit(usd(500), "Late"), lambda cast: ApplyCredit(usd(501), "Late")),
    "refund": (
        lambda cast: RefundCharge(cast.charge, usd(5), "No"),
        lambda cast: RefundCharge(cast.charge, usd(6), "No"),
    ),
    "another write": (lambda cast: RefundCharge(cast.charge, usd(5), "No"), lambda cast: ApplyCredit(usd(5), "No")),
    "charge": (
        lambda cast: RetryCharge(cast.open, cast.broke, usd(2200)),
        lambda cast: RetryCharge(cast.open, cast.card, usd(2200)),
    ),
    "invoice": (
        lambda cast: GenerateInvoice((Item("Extra", 1, 333),), "USD", "", 14),
        lambda cast: GenerateInvoice((Item("Extra", 1, 334),), "USD", "", 14),
    ),
    "plan": (
        lambda cast: ChangePlan(cast.subscription, cast.business, 1, now=True),
        lambda cast: ChangePlan(cast.subscription, cast.business, 2, now=True),
    ),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_the_same_key_with_another_amount_is_a_conflict(cast: Cast, name: str) -> None:
    first, other = (make(cast) for make in OTHERWISE[name])
    cast.act(first, "k")
    books = cast.system.books(cast.dana)
    told = refusal(lambda: cast.system.billing.write(cast.system.context(cast.dana, "k"), other))
    assert told.kind is FailureKind.CONFLICT
    assert cast.system.books(cast.dana) == books


@pytest.mark.parametrize("name", ["credit", "charge", "refund"])
def test_equal_requests_at_once_have_one_effect_and_one_answer(cast: Cast, name: str) -> None:
    write, context, before = WRITES[name](cast), cast.system.context(cast.dana, "k"), cast.system.books(cast.dana)
    answers: list[object] = []

    def call() -> None:
        try:
            answers.append(cast.system.billing.write(context, write))
        finally:
            connections.close_all()

    threads = [Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 6
    assert all(answer == answers[0] for answer in answers)
    assert cast.system.books(cast.dana).since(before) == MOVES[name]


def test_the_same_refund_with_two_keys_is_two_refunds(cast: Cast) -> None:
    before = cast.system.books(cast.dana)
    for key in ("one", "two"):
        cast.act(RefundCharge(cast.charge, usd(100), "Half was not held"), key)
    assert cast.system.books(cast.dana).since(before) == {"refunds": 2, "refunded": 200}


def test_a_write_without_a_key_is_refused(cast: Cast) -> None:
    before = cast.system.everything()
    call = cast.system.context(cast.dana)
    assert refusal(lambda: cast.system.billing.write(call, ApplyCredit(usd(1), "No"))).kind is FailureKind.VALIDATION
    assert cast.system.everything() == before


def test_a_refused_write_leaves_its_key_free(cast: Cast) -> None:
    wrong = RetryCharge(cast.open, cast.card, usd(1))
    context = cast.system.context(cast.dana, "k")
    assert refusal(lambda: cast.system.billing.write(context, wrong)).kind is FailureKind.CONFLICT
    assert cast.system.billing.outcome(context) is None
    cast.act(RetryCharge(cast.open, cast.card, usd(2200)), "k")
    assert cast.system.left_of(cast.dana, cast.open) == usd(0)


TOUCHED: dict[str, tuple[str, Callable[[Cast], str]]] = {
    "credit": ("customer", lambda cast: cast.dana),
    "credit on an invoice": ("invoice", lambda cast: cast.open),
    "charge": ("invoice", lambda cast: cast.open),
    "refund": ("charge", lambda cast: cast.charge),
    "invoice": ("customer", lambda cast: cast.dana),
    "void": ("invoice", lambda cast: cast.open),
    "paused": ("subscription", lambda cast: cast.subscription),
    "cancelled": ("subscription", lambda cast: cast.subscription),
    "plan changed": ("plan", lambda cast: cast.business),
    "plan changed later": ("subscription", lambda cast: cast.subscription),
}


@pytest.mark.parametrize("name", TOUCHED)
def test_a_record_that_moved_since_the_preview_is_not_written(cast: Cast, name: str) -> None:
    write, (kind, of) = WRITES[name](cast), TOUCHED[name]
    context = replace(
        cast.system.context(cast.dana, "k"), expected_versions=cast.system.show(cast.dana, write).versions
    )
    cast.system.touch(kind, of(cast))
    books = cast.system.books(cast.dana)
    assert refusal(lambda: cast.system.billing.write(context, write)).kind is FailureKind.CONFLICT
    assert cast.system.books(cast.dana) == books
    assert cast.system.billing.outcome(context) is None


LOST: dict[str, Callable[[Cast], Write]] = {
    name: WRITES[name]
    for name in ("credit", "credit on an invoice", "charge", "declined charge", "refund", "void", "plan changed")
} | {"paused": lambda cast: PauseSubscription(cast.subscription, None)}


@pytest.mark.parametrize("name", LOST)
def test_a_write_whose_answer_was_lost_is_found_by_its_key(cast: Cast, name: str) -> None:
    write, context, before = LOST[name](cast), cast.system.context(cast.dana, "k"), cast.system.books(cast.dana)
    with cast.system.losing_answer(), pytest.raises(OutcomeUnknown):
        cast.system.billing.write(context, write)
    told = cast.system.billing.outcome(context)
    assert told is not None
    books = cast.system.books(cast.dana)
    if name in MOVES:
        assert books.since(before) == MOVES[name]
    assert cast.system.billing.write(context, write) == told
    assert cast.system.books(cast.dana) == books


@pytest.mark.parametrize("name", LOST)
def test_a_write_that_did_not_arrive_took_no_effect_and_can_be_made_again(cast: Cast, name: str) -> None:
    write, context, before = LOST[name](cast), cast.system.context(cast.dana, "k"), cast.system.books(cast.dana)
    with cast.system.losing_request(), pytest.raises(OutcomeUnknown):
        cast.system.billing.write(context, write)
    assert cast.system.books(cast.dana) == before
    assert cast.system.billing.outcome(context) is None
    cast.system.billing.write(context, write)
    if name in MOVES:
        assert cast.system.books(cast.dana).since(before) == MOVES[name]
