from collections import Counter
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from billing_agent.connectors.periods import period_from
from billing_agent.connectors.plan_change_rules import plan_change, prorated
from billing_agent.connectors.taxes import line_tax
from tests.billing_agent.subscribers import (
    at,
    credit,
    customer,
    plan,
    postings,
    snapshot,
    subscription,
    to,
)

prices = st.integers(0, 10**9)
quantities = st.integers(1, 50)
days = st.integers(0, 27)
rates = st.integers(0, 10_000)
intervals = st.sampled_from(["month", "year"])


@settings(max_examples=100)
@given(prices, quantities, days, rates, intervals)
def test_the_same_price_in_mid_cycle_moves_no_money(price: int, units: int, day: int, rate: int, interval: str) -> None:
    period = period_from(at("2026-11-01"), interval, 1)
    found = subscription(
        plan=plan("one", price * units, interval=interval), period_start=period.start, period_end=period.end
    )
    given = snapshot(
        now=at("2026-11-01T15:00") + timedelta(days=day),
        customer=customer(tax_bp=rate),
        subscription=found,
        plan=plan("other", price, interval=interval),
    )
    effect = plan_change(given, to("other", units))
    assert (effect.entries, effect.new_invoice, effect.new_credit, effect.preview.money) == ((), None, None, None)
    assert effect.preview.effect.endswith("; no money moves")


@settings(max_examples=150)
@given(
    old=st.tuples(prices, quantities, intervals),
    new=st.tuples(prices, quantities, intervals),
    day=days,
    rate=rates,
    has=st.integers(0, 10**9),
)
def test_a_change_comes_to_an_invoice_or_to_credit_and_the_books_follow(
    *, old: tuple[int, int, str], new: tuple[int, int, str], day: int, rate: int, has: int
) -> None:
    (old_price, had, was), (new_price, wanted, becomes) = old, new
    period = period_from(at("2026-11-01"), was, 1)
    given = snapshot(
        now=at("2026-11-01T15:00") + timedelta(days=day),
        customer=customer(tax_bp=rate),
        subscription=subscription(
            plan=plan("one", old_price, interval=was), quantity=had, period_start=period.start, period_end=period.end
        ),
        plan=plan("other", new_price, interval=becomes),
        credits=(credit("cr_1", has),),
    )
    effect = plan_change(given, to("other", wanted))
    due = prorated(given, given.customer, given.subscription, given.plan, wanted)
    moved: Counter[str] = Counter()
    for _, lines in postings(effect):
        moved.update(lines)
    assert effect.new_invoice is None or effect.new_credit is None
    assert (moved["revenue"], moved["tax"]) == (-due.subtotal.minor, -due.tax.minor)
    assert moved["receivable"] == effect.result["left_minor"] >= 0
    assert effect.result["invoiced_minor"] - effect.result["credited_minor"] == due.total.minor
    # Never more comes back than was paid for the whole period.
    assert effect.result["credited_minor"] <= old_price * had + line_tax(old_price * had, rate)
    # Credit of the customer moves by what is given or used, and by nothing else.
    assert -moved["customer_credit"] == effect.result["credited_minor"] - (has - effect.credits.get("cr_1", has))
