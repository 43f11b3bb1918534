"""What objects at Stripe say of the call whose key they have."""

from typing import Any

import pytest

from agentops.kernel.money import Money
from billing_agent.connectors.effects import Move
from billing_agent.connectors.stripe.traces import by_key, key_of, traced


def made(kind: str, **fields: Any) -> dict[str, Any]:
    given = {"id": f"{kind}_1", "object": kind, "created": 1_800_000_000, "currency": "usd", "amount": 500}
    return {**given, "status": "succeeded", "metadata": {"agentops_key": "k"}, **fields}


def moves(action: str, *objects: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    effect = traced("k", action, objects)
    assert effect is not None
    return tuple((move.kind, str(move.amount)) for move in effect.moves)


@pytest.mark.parametrize(
    "obj",
    [
        made("refund", status="failed"),
        made("refund", status="canceled"),
        made("credit_note", status="void"),
        made("customer_balance_transaction", amount=500),
        made("charge", status="failed"),
        made("subscription"),
    ],
)
def test_what_went_back_or_never_moved_is_no_move(obj: dict[str, Any]) -> None:
    assert moves("", obj) == ()


def test_stripes_own_later_attempt_is_not_the_calls() -> None:
    declined = made("charge", id="ch_1", status="failed")
    later = made("charge", id="ch_2", created=1_800_000_500)
    effect = traced("k", "RetryCharge", [later, declined])
    assert effect is not None
    assert (effect.declined, effect.moves) == (True, ())


def test_credit_in_two_parts_is_one_move() -> None:
    note, entry = made("credit_note", status="issued"), made("customer_balance_transaction", amount=-300)
    effect = traced("k", "ApplyCredit", [note, entry])
    assert effect is not None
    assert effect.moves == (Move("credit", Money(800, "USD")),)
    assert not effect.in_books


def test_credit_that_a_void_invoice_gives_back_is_part_of_it() -> None:
    void = made("invoice", status="void", total=2200)
    assert moves("VoidInvoice", void, made("customer_balance_transaction", amount=-300)) == (("void", "$22.00"),)


def test_invoice_of_a_change_below_nothing_is_credit() -> None:
    assert moves("ChangePlan", made("invoice", status="paid", total=-1500)) == (("credit", "$15.00"),)


def test_draft_is_no_effect() -> None:
    assert traced("k", "GenerateInvoice", [made("invoice", status="draft", total=2200)]) is None
    assert traced("k", "GenerateInvoice", []) is None


@pytest.mark.parametrize(("reason", "key"), [("subscription_update", "k"), ("subscription_cycle", ""), ("manual", "")])
def test_only_the_invoice_of_the_change_has_the_subscriptions_key(reason: str, key: str) -> None:
    parent = {"subscription_details": {"metadata": {"agentops_key": "k"}}}
    invoice = made("invoice", metadata={}, billing_reason=reason, parent=parent)
    assert key_of(invoice) == key
    assert list(by_key([invoice])) == ([key] if key else [])
