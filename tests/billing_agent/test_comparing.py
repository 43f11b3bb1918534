"""Each kind of difference between ledger, billing system and books, one at a time (pure)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from agentops.kernel.money import Money
from agentops.registry.made import MadeCall, Stand
from agentops.registry.reconcile import Gap
from billing_agent.comparing import Accounts, booked_move, compare
from billing_agent.connectors.effects import Move, TookEffect
from billing_agent.connectors.posting import EntryKind
from billing_agent.pages.history import sentence

NOW = datetime(2026, 11, 11, tzinfo=UTC)


def usd(minor: int) -> Money:
    return Money(minor, "USD")


def call(minor: int | None = 500, stand: Stand = Stand.DONE, key: str = "k") -> dict[str, MadeCall]:
    money = None if minor is None else usd(minor)
    return {key: MadeCall(key, "apply_credit", stand, money, NOW, UUID(int=1), 7)}


def effect(*minor: int, key: str = "k", declined: bool = False, for_call: bool = True) -> dict[str, TookEffect]:
    moves = tuple(Move("credit", usd(each)) for each in minor)
    return {key: TookEffect(key, NOW, "ApplyCredit", moves, declined, for_call)}


def books(*minor: int, key: str = "k") -> dict[str, Sequence[Move]]:
    return {key: [Move("credit", usd(each)) for each in minor]}


UNKNOWN = "Nobody knows yet whether apply_credit of $5.00 took effect."
CASES = {
    "all agree": (Accounts(call(), effect(500), books(500), {}), []),
    "a call that moves no money": (Accounts(call(None), effect(), {}, {}), []),
    "a decline": (Accounts(call(), effect(declined=True), {}, {}), []),
    "what is due by the calendar": (Accounts({}, effect(500, for_call=False), books(500), {}), []),
    "under way, not seen yet": (Accounts(call(stand=Stand.UNDER_WAY), {}, {}, {}), []),
    "under way, seen already": (Accounts(call(stand=Stand.UNDER_WAY), effect(500), books(500), {}), []),
    "unknown and nothing there": (
        Accounts(call(stand=Stand.UNKNOWN), {}, {}, {}),
        [
            (
                Gap.UNKNOWN_OUTCOME,
                f"{UNKNOWN} The billing system has nothing under its key.",
            )
        ],
    ),
    "unknown and it is there": (
        Accounts(call(stand=Stand.UNKNOWN), effect(500), books(500), {}),
        [
            (
                Gap.UNKNOWN_OUTCOME,
                f"{UNKNOWN} The billing system has this: ApplyCredit, credit $5.00.",
            )
        ],
    ),
    "call without effect": (
        Accounts(call(), {}, {}, {}),
        [
            (
                Gap.CALL_WITHOUT_EFFECT,
                "apply_credit of $5.00 is done by the ledger, and the billing system has nothing under its key.",
            )
        ],
    ),
    "effect without call": (
        Accounts({}, effect(500), books(500), {}),
        [
            (
                Gap.EFFECT_WITHOUT_CALL,
                "The billing system did this, and the ledger has no call for it: ApplyCredit, credit $5.00.",
            )
        ],
    ),
    "the system moved more than was allowed": (
        Accounts(call(), effect(700), books(700), {}),
        [(Gap.AMOUNTS_DIFFER, "The ledger says apply_credit of $5.00; the billing system moved credit $7.00.")],
    ),
    "the system moved nothing": (
        Accounts(call(), effect(), {}, {}),
        [(Gap.AMOUNTS_DIFFER, "The ledger says apply_credit of $5.00; the billing system moved nothing.")],
    ),
    "the books say less": (
        Accounts(call(), effect(500), books(400), {}),
        [(Gap.AMOUNTS_DIFFER, "The billing system moved credit $5.00; the books say credit $4.00.")],
    ),
    "booked twice": (
        Accounts(call(), effect(500), books(500, 500), {}),
        [(Gap.AMOUNTS_DIFFER, "The billing system moved credit $5.00; the books say credit $5.00, credit $5.00.")],
    ),
    "not in the books": (
        Accounts(call(), effect(500), {}, {}),
        [(Gap.EFFECT_WITHOUT_ENTRY, "The billing system moved credit $5.00, and the books have no entry for it.")],
    ),
    "a vendor that keeps the books itself": (
        Accounts(call(), {"k": replace(effect(500)["k"], in_books=False)}, {}, {}),
        [],
    ),
    "in the books alone": (
        Accounts({}, {}, books(500), {}),
        [
            (
                Gap.ENTRY_WITHOUT_OPERATION,
                "The books have credit $5.00 under a key of which the billing system has no operation.",
            )
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_difference_is_named(name: str) -> None:
    accounts, expected = CASES[name]
    assert [(each.gap, each.words) for each in compare(accounts)] == expected


def test_differences_stand_by_key_with_their_page() -> None:
    accounts = Accounts(call(key="b"), {}, books(500, key="a"), {"a": "/billing/customers/dana/"})
    assert [(each.key, each.url) for each in compare(accounts)] == [("a", "/billing/customers/dana/"), ("b", "")]


@pytest.mark.parametrize(
    ("kind", "moved", "minor"),
    [
        ("charge", {"cash": 700, "receivable": -700}, 700),
        ("refund", {"cash": -700, "refunds": 650, "tax": 50}, 700),
        ("credit", {"goodwill": 300, "customer_credit": -300}, 300),
        ("credit", {"revenue": 270, "tax": 30, "customer_credit": -300}, 300),
        ("invoice", {"receivable": 1100, "revenue": -1000, "tax": -100}, 1100),
        ("void", {"receivable": -600, "revenue": 1000, "tax": 100, "customer_credit": -500}, 1100),
    ],
)
def test_an_entry_says_what_the_systems_log_says(kind: str, moved: dict[str, int], minor: int) -> None:
    assert booked_move(kind, "USD", moved) == Move(kind, usd(minor))


def test_every_kind_of_entry_has_its_sentence() -> None:
    about = {kind.value: sentence(kind.value, "USD", {"cash": 100, "receivable": -100}, "INV-1") for kind in EntryKind}
    assert about["charge"] == "Paid $1.00 for invoice INV-1"
    assert all(about.values())


def test_what_follows_from_another_entry_is_not_compared() -> None:
    assert booked_move("credit_used", "USD", {"customer_credit": 5, "receivable": -5}) is None
