"""Reading a case: what is wished for, about which invoices, which plan, day and way to pay."""

from datetime import UTC, date, datetime

import pytest

from agentops.kernel.money import Money
from agentops.registry.offline.looking import Unclear
from agentops.registry.offline.text import make_readable
from billing_agent.playbook.choosing import base_of, day_in, method_for, one_subscription, target_plan
from billing_agent.playbook.facts import Account, Method, Sold, Subscribed
from billing_agent.playbook.wishes import Wish, WishKind, invoices_in, read_wishes

TODAY = date(2026, 11, 30)


def wishes(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(wish.kind.value, wish.invoices) for wish in read_wishes(make_readable(text).text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Please refund $5.00 of INV-000042, it was broken.", [("refund", ("INV-000042",))]),
        ("I was charged twice for INV-000042 and INV-000043.", [("refund", ("INV-000042", "INV-000043"))]),
        ("You already refunded two boxes.", []),
        ("You refunded $5. Please refund $6 more.", [("refund", ())]),
        ("Please do not refund anything.", []),
        ("Why did you charge my card again?", [("why", ())]),
        ("You charge my card again and again.", []),
        ("Please don't charge my card again.", []),
        ("Why did you cancel my plan?", []),
        ("What happens when I cancel my plan?", []),
        ("When will you refund it?", []),
        ("Will you refund the broken one?", [("refund", ())]),
        ("Why was I charged twice?", [("refund", ())]),
        ("When the year is over, please switch us to monthly.", [("change", ())]),
        ("You said that you will upgrade us.", []),
        ("Please cancel invoice INV-000042.", [("void", ("INV-000042",))]),
        ("Please cancel our subscription.", [("cancel", ())]),
        ("Please don't cancel our plan.", []),
        ("Our invoice lists delivery twice. Please correct the invoice.", [("correction", ())]),
        ("Could you try the card again?", [("retry", ())]),
        ("My payment failed, please charge it again.", [("retry", ())]),
        ("Why did my payment fail? I mean: the payment was declined.", [("declined", ())]),
        ("Why do I get a payment reminder?", [("declined", ())]),
        ("Please downgrade us to Trade. We expect a credit for the rest.", [("change", ())]),
        ("Raise our plan from 2 to 3 buyers.", [("change", ())]),
        ("Please pause the subscription until 5 May.", [("pause", ())]),
        ("Please resume our plan.", [("resume", ())]),
        ("We want to keep our subscription after all.", [("keep", ())]),
        ("When is inv 000042 due?", [("due", ("INV-000042",))]),
        ("Send me a copy of in_31d0c2 please.", [("copy", ("in_31d0c2",))]),
        ("Why is my invoice so high?", [("why", ())]),
        ("There is no sales tax on INV-000042.", [("tax", ("INV-000042",))]),
        ("We are tax exempt, please take the tax off.", [("tax off", ())]),
        ("What do I owe, and do I have any credit?", [("balance", ())]),
        ("Please bill us in dollars.", [("other currency", ())]),
        ("Please note our new address.", [("other details", ())]),
        ("A goodwill credit of $5 would be nice.", [("credit", ())]),
        ("Please take it from my credit card.", []),
        ("Cancel my plan. Please send me the last invoice.", [("cancel", ()), ("copy", ())]),
        ("Thank you for everything.", []),
    ],
)
def test_wishes_of_a_text(text: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    assert wishes(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("INV-000042, inv 000042 and INV000042", ("INV-000042",)),
        ("LG-2026001", ("LG-2026001",)),
        ("We live in Astoria, OR 97103, since January 2027.", ()),
        ("in_31d0c2ff", ("in_31d0c2ff",)),
    ],
)
def test_numbers_of_invoices(text: str, found: tuple[str, ...]) -> None:
    assert invoices_in(text) == found


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("until 2027-01-15", date(2027, 1, 15)),
        ("until 31 January 2027", date(2027, 1, 31)),
        ("until January 31, 2027", date(2027, 1, 31)),
        ("until the 1st of March", date(2027, 3, 1)),
        ("until 24 December", date(2026, 12, 24)),
        ("until we are back", None),
    ],
)
def test_day_of_a_text(text: str, day: date | None) -> None:
    assert day_in(text, TODAY) == day


def test_day_that_does_not_exist_is_unclear() -> None:
    with pytest.raises(Unclear):
        day_in("until 30 February", TODAY)


PLANS = tuple(
    Sold(ref, name, interval, Money(minor, "USD"))
    for ref, name, interval, minor in (
        ("tm", "Trade monthly", "month", 2900),
        ("ty", "Trade yearly", "year", 29000),
        ("pm", "Trade Plus monthly", "month", 7900),
        ("py", "Trade Plus yearly", "year", 79000),
    )
)


def held(plan_id: str, plan: str, status: str = "active") -> Subscribed:
    end = datetime(2026, 12, 20, tzinfo=UTC)
    return Subscribed(f"sub-{plan_id}", plan_id, plan, "", 1, status, end, None)


def wish(text: str) -> Wish:
    return Wish(WishKind.CHANGE, text, "", ())


@pytest.mark.parametrize(
    ("plan", "text", "wanted"),
    [
        (("pm", "Trade Plus monthly"), "downgrade us to Trade", "tm"),
        (("pm", "Trade Plus monthly"), "downgrade us to Trade monthly. Trade Plus was too much.", "tm"),
        (("tm", "Trade monthly"), "upgrade to trade plus", "pm"),
        (("ty", "Trade yearly"), "switch us to monthly payment when the year is over", "tm"),
        (("tm", "Trade monthly"), "change to Trade Plus, paid yearly", "py"),
    ],
)
def test_plan_that_is_wanted(plan: tuple[str, str], text: str, wanted: str) -> None:
    assert target_plan(wish(text), held(*plan), PLANS).id == wanted


@pytest.mark.parametrize("text", ["downgrade us", "switch to something cheaper", "move us to Gold"])
def test_plan_that_is_not_named_is_unclear(text: str) -> None:
    with pytest.raises(Unclear):
        target_plan(wish(text), held("pm", "Trade Plus monthly"), PLANS)


def account(*subscriptions: Subscribed, methods: tuple[Method, ...] = ()) -> Account:
    nothing = Money(0, "USD")
    return Account("Dana", "USD", 0, False, False, methods, subscriptions, (), False, nothing, nothing)


def test_subscription_that_is_meant() -> None:
    club, trade, gone = held("c", "Club monthly"), held("t", "Trade monthly"), held("g", "Old", "cancelled")
    assert one_subscription(wish("end it"), account(club, gone)) == club
    assert one_subscription(wish("end the Trade plan"), account(club, trade)) == trade
    for text, found in (("end it", account(club, trade)), ("end it", account(gone))):
        with pytest.raises(Unclear):
            one_subscription(wish(text), found)


def test_way_to_pay_that_is_meant() -> None:
    first = Method("a", "Visa ending 4242", (2026, 10), is_default=True)
    second = Method("b", "Visa ending 1111", None, is_default=False)
    both = account(methods=(first, second))
    assert method_for(wish("charge it again"), both) == first
    assert method_for(wish("charge the one ending 1111"), both) == second
    assert (first.is_expired(TODAY), second.is_expired(TODAY)) == (True, False)
    with pytest.raises(Unclear):
        method_for(wish("charge it again"), account(methods=(second,)))


def test_name_of_a_plan_without_its_interval() -> None:
    assert [base_of(name) for name in ("Trade monthly", "Trade Plus yearly", "Solo")] == ["Trade", "Trade Plus", "Solo"]
