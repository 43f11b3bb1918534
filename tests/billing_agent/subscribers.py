"""Dana, who is billed, with her plans, as values; and how a refusal is read."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agentops.kernel.money import Money
from billing_agent.connectors.effect import Effect, Snapshot
from billing_agent.connectors.issuing import taxed_line
from billing_agent.connectors.port import ChangePlan
from billing_agent.connectors.records import (
    Credit,
    Customer,
    Invoice,
    Method,
    Plan,
    Subscription,
    SubscriptionStatus,
)
from tests.billing_agent.examples import ADA, make_credit, make_invoice, refused


def at(text: str) -> datetime:
    """Return a moment in UTC, of ``2026-11-16`` or ``2026-11-16T09:30``."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NOW = at("2026-11-16T09:30")
KEY = "operation-1"
CARD = Method("pm_card", "card", "Visa", "4242", (2028, 4), "", is_default=True, version=1)


def plan(ref: str = "basic", minor: int = 3_000, **fields: Any) -> Plan:
    given = {
        "name": f"{ref.capitalize()}",
        "interval": "month",
        "active": True,
        "version": 1,
        "currency": "EUR",
    } | fields
    return Plan(
        ref, given["name"], given["interval"], Money(minor, given["currency"]), given["active"], given["version"]
    )


BASIC = plan("basic", 3_000)
TEAM = plan("team", 9_000)
FREE = plan("free", 0)
BASIC_YEARLY = plan("basic_yearly", 36_500, name="Basic yearly", interval="year")


def customer(**fields: Any) -> Customer:
    """Return Dana, who pays 20 % tax."""
    values = {
        "ref": "cu_dana",
        "name": "Dana Ash",
        "email": "dana@example.com",
        "currency": "EUR",
        "country": "AT",
        "tax_bp": 2_000,
        "methods": (CARD,),
        "version": 4,
    }
    return replace(ADA, **(values | fields))


DANA = customer()
DELETED = customer(deleted_at=at("2026-11-01"))


def subscription(**fields: Any) -> Subscription:
    """Return Dana's monthly subscription from the 1st to the 1st, unless ``fields`` say otherwise."""
    return Subscription(
        **{
            "ref": "sub_1",
            "customer_ref": "cu_dana",
            "plan": BASIC,
            "next_plan": None,
            "quantity": 1,
            "status": SubscriptionStatus.ACTIVE,
            "anchor_day": 1,
            "period_start": at("2026-11-01"),
            "period_end": at("2026-12-01"),
            "cancel_at": None,
            "paused_at": None,
            "resumes_at": None,
            "version": 7,
        }
        | fields
    )


def yearly(**fields: Any) -> Subscription:
    """Return Dana's yearly subscription of 2026."""
    return subscription(
        **{"plan": BASIC_YEARLY, "period_start": at("2026-01-01"), "period_end": at("2027-01-01")} | fields
    )


def to(ref: str, quantity: int = 1, *, now: bool = True) -> ChangePlan:
    """Return the change of that subscription to a plan."""
    return ChangePlan("sub_1", ref, quantity, now)


def paused(since: str, **fields: Any) -> Subscription:
    return subscription(**{"status": SubscriptionStatus.PAUSED, "paused_at": at(since)} | fields)


def credit(ref: str, left: int) -> Credit:
    return make_credit(ref, left, currency="EUR")


def invoice(**fields: Any) -> Invoice:
    """Return Dana's open invoice over 36.00 EUR."""
    values = {"customer_ref": "cu_dana", "subscription_ref": "sub_1", "currency": "EUR", "due_at": at("2026-11-30")}
    return make_invoice(taxed_line("Basic", 1, 3_000, 2_000), **(values | fields))


def snapshot(**fields: Any) -> Snapshot:
    return Snapshot(**{"now": NOW, "key": KEY, "customer": DANA, "subscription": subscription()} | fields)


def refusal(attempt: Callable[[], Effect | None]) -> tuple[str, str, str | None]:
    """Return kind, sentence and field of the refusal that ``attempt`` ends in."""
    kind, words, field = refused(attempt)
    return kind.value, words, field


def postings(effect: Effect) -> list[tuple[str, dict[str, int]]]:
    """Return the entries of an effect, by kind; each sums to zero and has no empty line."""
    for entry in effect.entries:
        assert sum(entry.postings.values()) == 0
        assert 0 not in entry.postings.values()
    return [(entry.kind, dict(entry.postings)) for entry in effect.entries]


def rows(effect: Effect) -> list[tuple[str, str, str]]:
    return [(change.label, change.before, change.after) for change in effect.preview.changes]


def minutes(count: int) -> timedelta:
    return timedelta(minutes=count)
