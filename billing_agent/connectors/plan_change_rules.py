"""Another plan or another number of it, now or when the period ends. Pure.

Now: the unused time of the old price is given back and the rest of the period at the new one is billed, line by line. A
plan with another interval begins a period of its own. What remains is either an invoice or credit, never both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from agentops.kernel.canonical import MAX_INTEGER
from agentops.kernel.clock import isoformat
from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount, Fields, Part
from agentops.registry.tool import Change, Preview
from billing_agent.connectors.checks import MOST_QUANTITY, known_customer, present_customer, target_of
from billing_agent.connectors.effect import Effect, NewCredit, Posted, Snapshot, conflict, invalid, missing
from billing_agent.connectors.issuing import Issued, issued, taxed_line
from billing_agent.connectors.periods import Period, Split, period_from, split
from billing_agent.connectors.port import ChangePlan, DropPlanChange
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.connectors.records import Customer, Line, Plan, Subscription, SubscriptionStatus
from billing_agent.connectors.subscription_rules import (
    FIELD,
    known_subscription,
    require_running,
    require_staying,
    result_of,
    shown,
)

PAYMENT_TERM = timedelta(days=14)


@dataclass(frozen=True)
class Proration:
    """What a change now comes to. ``old`` splits the old price, ``new`` the new one, over their own periods.

    ``period`` is that of the subscription afterwards; ``lines`` are billed, in minor units of ``currency``.
    """

    old: Split
    new: Split
    period: Period
    lines: tuple[Line, ...]
    currency: str

    @property
    def subtotal(self) -> Money:
        """What is billed before tax, negative when it is given back."""
        return self.money(sum(line.amount_minor for line in self.lines))

    @property
    def tax(self) -> Money:
        """The tax of it."""
        return self.money(sum(line.tax_minor for line in self.lines))

    @property
    def total(self) -> Money:
        """What is billed with tax, negative when it is given back."""
        return self.money(self.subtotal.minor + self.tax.minor)

    def money(self, minor: int) -> Money:
        """Return an amount in the currency of the subscription."""
        return Money(minor, self.currency)


def plan_change(snapshot: Snapshot, write: ChangePlan) -> Effect:
    """Plan another plan or quantity. Raises ToolFailure for a plan that is not sold, or in another currency."""
    customer, subscription = present_customer(snapshot), known_subscription(snapshot)
    if subscription.status in (SubscriptionStatus.CANCELLED, SubscriptionStatus.PAUSED):
        raise conflict(f"Subscription {subscription.ref} is {subscription.status.value}.", FIELD)
    require_running(snapshot, subscription)
    require_staying(subscription)
    plan = _sold(snapshot, customer, subscription)
    if not 1 <= write.quantity <= MOST_QUANTITY:
        raise invalid(f"The quantity is at least 1 and at most {MOST_QUANTITY}.", "quantity")
    if 2 * plan.price.minor * write.quantity > MAX_INTEGER:  # With the highest tax, that much is billed.
        raise invalid("That comes to more than any amount that is booked here.", "quantity")
    if (plan.ref, write.quantity) == (subscription.plan.ref, subscription.quantity):
        raise conflict(f"It is {subscription.words} already; there is nothing to change.", "plan_id")
    if subscription.next_plan is not None:
        words = f"{subscription.next_plan.name} comes with the next period already; take that back first."
        raise conflict(words, FIELD)
    if write.now:
        return _now(snapshot, customer, subscription, plan, write.quantity)
    if write.quantity != subscription.quantity:
        raise invalid("Another quantity is possible now, not when the period ends.", "quantity")
    return _at_period_end(snapshot, customer, subscription, plan)


def plan_drop_change(snapshot: Snapshot, write: DropPlanChange) -> Effect:
    """Plan that a change does not come which was to come with the next period."""
    customer, subscription = known_customer(snapshot), known_subscription(snapshot)
    upcoming = subscription.next_plan
    if subscription.status is SubscriptionStatus.CANCELLED or upcoming is None:
        raise conflict(f"No other plan comes with the next period of subscription {subscription.ref}.", FIELD)
    return Effect(
        preview=Preview(
            effect=f"Keep {subscription.words} of {customer.name}; {upcoming.name} does not come with the next period",
            target=target_of(customer),
            changes=(Change("Plan after this period", upcoming.name, ""),),
            versions=snapshot.versions(),
        ),
        result=result_of(subscription, subscription.status)
        | {
            "plan_id": subscription.plan.ref,
            "quantity": subscription.quantity,
            "former_next_plan_id": upcoming.ref,
        },
        subscription={"next_plan": None},
    )


def prorated(snapshot: Snapshot, customer: Customer, subscription: Subscription, plan: Plan, units: int) -> Proration:
    """Return what a change to ``units`` of ``plan`` comes to now."""
    current = Period(subscription.period_start, subscription.period_end)
    at = current.counted_from(snapshot.now)
    old = split(subscription.plan.price.minor * subscription.quantity, current, at)
    same = plan.interval == subscription.plan.interval
    period = current if same else period_from(at, plan.interval, at.day)
    new = split(plan.price.minor * units, period, at)
    given_back = taxed_line(
        f"Unused time of {subscription.words}",
        1,
        -old.unused_minor,
        customer.rate_bp,
        proration=True,
        period=(at, current.end),
    )
    if same:
        sold = taxed_line(
            f"Rest of the period of {_words(plan, units)}",
            1,
            new.unused_minor,
            customer.rate_bp,
            proration=True,
            period=(at, period.end),
        )
    else:
        sold = taxed_line(plan.name, units, plan.price.minor, customer.rate_bp, period=(period.start, period.end))
    lines = tuple(line for line in (given_back, sold) if line.amount_minor)
    return Proration(old, new, period, lines, plan.price.currency)


def _now(snapshot: Snapshot, customer: Customer, subscription: Subscription, plan: Plan, units: int) -> Effect:
    due = prorated(snapshot, customer, subscription, plan, units)
    if due.total.minor < 0 and subscription.status is SubscriptionStatus.PAST_DUE:
        raise conflict(f"{subscription.words} is not paid, so no unused time of it is given back now.", FIELD)
    bill = _bill(snapshot, subscription, plan, due)
    credit = _credit(snapshot, subscription, due)
    if due.total.minor > 0:
        settled = f"invoice {due.total}"
    elif due.total.minor < 0:
        settled = f"give {due.money(-due.total.minor)} of credit for unused time"
    else:
        settled = "no money moves"
    fields = {"plan": plan.ref, "quantity": units, "next_plan": None}
    if due.period != Period(subscription.period_start, subscription.period_end):
        fields |= {
            "period_start": due.period.start,
            "period_end": due.period.end,
            "anchor_day": due.period.start.day,
        }
    return Effect(
        preview=Preview(
            effect=f"Change {subscription.words} of {customer.name} to {_words(plan, units)} now; {settled}",
            target=target_of(customer),
            changes=(*_rows(subscription, plan, units, due), *_settled_rows(snapshot, bill)),
            versions=snapshot.versions(),
            money=due.money(abs(due.total.minor)) if due.total.minor else None,
            parts=_parts(snapshot, subscription, plan, due),
        ),
        result=result_of(subscription, subscription.status)
        | {
            "plan_id": plan.ref,
            "quantity": units,
            "former_plan_id": subscription.plan.ref,
            "former_quantity": subscription.quantity,
            "period_end": isoformat(due.period.end),
            "invoice_id": bill.new_invoice.ref if bill else "",
            "invoiced_minor": bill.total.minor if bill else 0,
            "left_minor": bill.left.minor if bill else 0,
            "credit_id": credit.ref if credit else "",
            "credited_minor": credit.amount_minor if credit else 0,
            "currency": due.currency,
        },
        subscription=fields,
        credits=bill.credits if bill else {},
        new_invoice=bill.new_invoice if bill else None,
        new_credit=credit,
        entries=(*(bill.entries if bill else ()), *_credit_entry(credit, due)),
    )


def _at_period_end(snapshot: Snapshot, customer: Customer, subscription: Subscription, plan: Plan) -> Effect:
    end = subscription.period_end
    sold = _words(plan, subscription.quantity)
    return Effect(
        preview=Preview(
            effect=(
                f"Change {subscription.words} of {customer.name} to {sold} when the period ends, on {end.date()};"
                " no money moves now"
            ),
            target=target_of(customer),
            changes=_moved(
                Change("Plan after this period", "", plan.name),
                Change("Price of a period", *_prices(subscription, plan, subscription.quantity)),
                Change("Billed every", subscription.plan.interval, plan.interval),
            ),
            versions=snapshot.versions(),
        ),
        result=result_of(subscription, subscription.status)
        | {"plan_id": subscription.plan.ref, "next_plan_id": plan.ref, "changes_at": isoformat(end)},
        subscription={"next_plan": plan.ref},
    )


def _sold(snapshot: Snapshot, customer: Customer, subscription: Subscription) -> Plan:
    plan = snapshot.plan
    if plan is None:
        raise missing("plan", "plan_id")
    if not plan.active:
        raise conflict(f"{plan.name} is not sold any more.", "plan_id")
    for whose, currency in (
        (subscription.plan.name, subscription.plan.price.currency),
        (customer.name, customer.currency),
    ):
        if currency != plan.price.currency:
            raise invalid(f"{plan.name} is sold in {plan.price.currency}; {whose} is billed in {currency}.", "plan_id")
    return plan


def _bill(snapshot: Snapshot, subscription: Subscription, plan: Plan, due: Proration) -> Issued | None:
    if due.total.minor <= 0:
        return None
    return issued(
        snapshot,
        snapshot.new_ref("in", "invoice"),
        due.lines,
        subscription_ref=subscription.ref,
        memo=f"Change to {plan.name}",
        due_at=snapshot.now + PAYMENT_TERM,
    )


def _credit(snapshot: Snapshot, subscription: Subscription, due: Proration) -> NewCredit | None:
    amount = -due.total.minor
    if amount <= 0:
        return None
    reason = f"Unused time of {subscription.words}"
    return NewCredit(snapshot.new_ref("cr", "credit"), amount, amount, due.currency, reason)


def _credit_entry(credit: NewCredit | None, due: Proration) -> tuple[Posted, ...]:
    if credit is None:
        return ()
    return posted(
        EntryKind.CREDIT,
        due.currency,
        credit.ref,
        {
            Account.REVENUE: -due.subtotal.minor,
            Account.TAX: -due.tax.minor,
            Account.CUSTOMER_CREDIT: due.total.minor,
        },
        memo=credit.reason,
    )


def _rows(subscription: Subscription, plan: Plan, units: int, due: Proration) -> tuple[Change, ...]:
    return _moved(
        Change("Plan", subscription.plan.name, plan.name),
        Change("Quantity", str(subscription.quantity), str(units)),
        Change("Price of a period", *_prices(subscription, plan, units)),
        Change("Billed every", subscription.plan.interval, plan.interval),
        Change("Period begins", shown(subscription.period_start), shown(due.period.start)),
        Change("Period ends", shown(subscription.period_end), shown(due.period.end)),
    )


def _moved(*rows: Change) -> tuple[Change, ...]:
    return tuple(row for row in rows if row.before != row.after)


def _settled_rows(snapshot: Snapshot, bill: Issued | None) -> tuple[Change, ...]:
    if bill is None:
        return ()
    due = (snapshot.now + PAYMENT_TERM).date()
    return (*bill.changes, Change("Left to pay", "", str(bill.left)), Change("To be paid by", "", str(due)))


def _parts(snapshot: Snapshot, subscription: Subscription, plan: Plan, due: Proration) -> tuple[Part, ...]:
    current = Period(subscription.period_start, subscription.period_end)
    at = current.counted_from(snapshot.now)
    old_price, new_price = (due.money(each.used_minor + each.unused_minor) for each in (due.old, due.new))
    counted = Fields(
        f"How it is counted, from {shown(at)} on",
        (
            ("Price of a period", str(old_price), str(new_price)),
            ("Seconds of the period", f"{current.seconds:,}", f"{due.period.seconds:,}"),
            ("Seconds left", f"{current.seconds_left(at):,}", f"{due.period.seconds_left(at):,}"),
            ("Price of the time before", str(due.money(due.old.used_minor)), ""),
            ("Price of the time left", str(due.money(due.old.unused_minor)), str(due.money(due.new.unused_minor))),
        ),
    )
    billed = Fields("What it comes to", (*_lines(due), ("Sum", "", str(due.total))))
    if not due.total.minor:
        return counted, billed
    has = sum(credit.left_minor for credit in snapshot.credits if credit.amount.currency == due.currency)
    change = -due.total.minor if due.total.minor < 0 else -min(has, due.total.minor)
    title = "To be invoiced" if due.total.minor > 0 else "Given as credit"
    sums = (("Credit of the customer", due.money(has), due.money(has + change)),)
    return counted, billed, Amount.of(title, due.money(abs(due.total.minor)), sums)


def _lines(due: Proration) -> Iterator[tuple[str, str, str]]:
    for line in due.lines:
        yield line.description, "", str(due.money(line.amount_minor))
        if line.tax_minor:
            yield f"Tax: {line.description}", "", str(due.money(line.tax_minor))


def _prices(subscription: Subscription, plan: Plan, units: int) -> tuple[str, str]:
    before, after = subscription.plan.price, plan.price
    return (
        str(Money(before.minor * subscription.quantity, before.currency)),
        str(Money(after.minor * units, after.currency)),
    )


def _words(plan: Plan, units: int) -> str:
    return f"{units} × {plan.name}" if units > 1 else plan.name
