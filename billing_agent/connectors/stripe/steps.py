"""The requests that carry a write out at Stripe. Pure.

Each has parameters that are known before the first one is sent, apart from ids of what earlier ones make, so that a
write that stopped goes on with the same ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from agentops.kernel.money import Money
from billing_agent.connectors.checks import known_customer, known_invoice
from billing_agent.connectors.effect import Effect, Snapshot, conflict, missing
from billing_agent.connectors.periods import Period
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    DropPlanChange,
    GenerateInvoice,
    KeepSubscription,
    MoneyWrite,
    PauseSubscription,
    RefundCharge,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    SubscriptionWrite,
    VoidInvoice,
    WriteOffInvoice,
)
from billing_agent.connectors.records import Subscription
from billing_agent.connectors.stripe.amounts import to_stripe
from billing_agent.connectors.stripe.charges import REASON
from billing_agent.connectors.stripe.credits import GIVEN, REVERSES
from billing_agent.connectors.stripe.objects import KEY, path_of, seconds_of
from billing_agent.connectors.stripe.step import CREATED_SKEW, Find, Step, stamped
from billing_agent.connectors.stripe.subscriptions import PAUSED_AT
from billing_agent.connectors.subscription_rules import known_subscription

LINES = "agentops_lines"
LONGEST_DESCRIPTION = 350


@dataclass(frozen=True)
class Facts:
    """What a write needs of Stripe beside the records: ids, and what credit notes took of an invoice.

    ``stamp`` is the key of the call that wrote the intent or subscription last, ``method`` the one that the
    subscription charges, empty for the customer's default. ``noted`` is in the invoice's currency;
    ``tax_rates`` are those added to what the desk bills.
    """

    intent: str = ""
    stamp: str = ""
    item: str = ""
    items: int = 1
    schedule: str = ""
    method: str = ""
    noted: Money | None = None
    tax_rates: tuple[str, ...] = ()


def steps_of(
    snapshot: Snapshot, write: MoneyWrite | SubscriptionWrite, effect: Effect, facts: Facts
) -> tuple[Step, ...]:
    """Return the requests of a write that the rules allow. Raises ToolFailure for what Stripe cannot hold."""
    match write:
        case ApplyCredit():
            return _credit(snapshot, write, effect)
        case ReverseCredit():
            return _reversal(snapshot, write)
        case RetryCharge():
            return _retry(snapshot, write, facts)
        case RefundCharge():
            return _refund(snapshot, write)
        case GenerateInvoice():
            return _invoice(snapshot, write, facts)
        case VoidInvoice():
            return _void(snapshot, write, facts)
        case WriteOffInvoice():
            return _write_off(snapshot)
        case _:
            return subscription_steps(snapshot, write, facts)


def _entry(snapshot: Snapshot, name: str, amount: int, currency: str, reason: str, **more: str) -> Step:
    """Return the request for an entry of the customer's balance; credit is below zero."""
    path = path_of("customers", known_customer(snapshot).ref, "balance_transactions")
    params = {
        "amount": amount,
        "currency": currency.lower(),
        "description": reason[:LONGEST_DESCRIPTION],
        "metadata": stamped(snapshot.key, name, **{REASON: reason[:500]}, **more),
    }
    return Step(name, path, params, Find(path, listed=True))


def _credit(snapshot: Snapshot, write: ApplyCredit, effect: Effect) -> tuple[Step, ...]:
    amount, kept = write.amount, Money(effect.result["left_minor"], write.amount.currency)
    used = Money(amount.minor - kept.minor, amount.currency)
    steps: list[Step] = []
    if used.minor and snapshot.invoice is not None:
        params = {
            "invoice": snapshot.invoice.ref,
            "amount": to_stripe(used),
            "memo": write.reason,
            "metadata": stamped(snapshot.key, "note", **{REASON: write.reason}),
        }
        find = Find(path_of("credit_notes"), {"invoice": snapshot.invoice.ref}, listed=True)
        steps.append(Step("note", path_of("credit_notes"), params, find))
    if kept.minor:
        given = {GIVEN: str(amount.minor)}
        steps.append(_entry(snapshot, "credit", -to_stripe(kept), kept.currency, write.reason, **given))
    return tuple(steps)


def _reversal(snapshot: Snapshot, write: ReverseCredit) -> tuple[Step, ...]:
    credit = snapshot.credit
    if credit is None:
        raise missing("credit", "credit_id")
    left = Money(credit.left_minor, credit.amount.currency)
    return (_entry(snapshot, "reversal", to_stripe(left), left.currency, write.reason, **{REVERSES: credit.ref}),)


def _retry(snapshot: Snapshot, write: RetryCharge, facts: Facts) -> tuple[Step, ...]:
    """Tag the payment intent, so that the charge which comes of it has the call's key, and pay the invoice."""
    invoice = known_invoice(snapshot)
    ref = invoice.ref
    if not facts.intent:
        raise conflict(f"Stripe has no way to charge invoice {invoice.words}.", "invoice_id")
    intent = path_of("payment_intents", facts.intent)
    tag = {"metadata": stamped(snapshot.key, "pay")}
    paid = Find(path_of("charges"), {"payment_intent": facts.intent}, listed=True)
    pay = {"payment_method": write.method_ref, "off_session": True}
    return (
        Step("tag", intent, tag, Find(intent, former=facts.stamp), decides=False),
        Step("pay", path_of("invoices", ref, "pay"), pay, paid, may_decline=True),
    )


def _refund(snapshot: Snapshot, write: RefundCharge) -> tuple[Step, ...]:
    params = {
        "charge": write.charge_ref,
        "amount": to_stripe(write.amount),
        "metadata": stamped(snapshot.key, "refund", **{REASON: write.reason}),
    }
    find = Find(path_of("refunds"), {"charge": write.charge_ref}, listed=True)
    return (Step("refund", path_of("refunds"), params, find),)


def _invoice(snapshot: Snapshot, write: GenerateInvoice, facts: Facts) -> tuple[Step, ...]:
    """Make a draft, put the lines on it, and issue it. Nothing was billed before the last one."""
    customer = known_customer(snapshot).ref
    draft = {
        "customer": customer,
        "currency": write.currency.lower(),
        "collection_method": "send_invoice",
        "days_until_due": write.due_days,
        "auto_advance": False,
        "pending_invoice_items_behavior": "exclude",
        "metadata": stamped(snapshot.key, "draft"),
        **({"description": write.memo} if write.memo else {}),
        **({"default_tax_rates": list(facts.tax_rates)} if facts.tax_rates else {}),
    }
    since = {"customer": customer, "created": {"gte": seconds_of(snapshot.now) - CREATED_SKEW}}
    lines = [
        {
            "description": item.description,
            "quantity": item.quantity,
            "price_data": {
                "currency": write.currency.lower(),
                "unit_amount": to_stripe(Money(item.unit_minor, write.currency)),
                "product_data": {"name": item.description[:250]},
            },
        }
        for item in write.items
    ]
    drafted, issue = "/v1/invoices/{draft}", "/v1/invoices/{draft}/finalize"
    added = {"lines": lines, "invoice_metadata": {LINES: snapshot.key}}
    issued = Find(drafted, told_in="status", values=("open", "paid"))
    return (
        Step("draft", path_of("invoices"), draft, Find(path_of("invoices"), since, listed=True), decides=False),
        Step("lines", f"{drafted}/add_lines", added, Find(drafted, stamp=LINES), decides=False),
        Step("issue", issue, {"auto_advance": False}, issued),
    )


def _void(snapshot: Snapshot, write: VoidInvoice, facts: Facts) -> tuple[Step, ...]:
    """Void it. Stripe gives the balance back that was used on it, and we what credit notes took."""
    invoice = known_invoice(snapshot)
    ref = invoice.ref
    voided = Find(path_of("invoices", ref), told_in="status", values=("void",))
    steps = [Step("void", path_of("invoices", ref, "void"), {}, voided)]
    if facts.noted is not None and facts.noted.minor:
        reason = f"Used on invoice {invoice.words}, which was voided"
        steps.append(_entry(snapshot, "credit", -to_stripe(facts.noted), facts.noted.currency, reason))
    return tuple(steps)


def _write_off(snapshot: Snapshot) -> tuple[Step, ...]:
    """Expect nothing more of it. Stripe tries it no more, and it can still be paid."""
    ref = known_invoice(snapshot).ref
    gone = Find(path_of("invoices", ref), told_in="status", values=("uncollectible",))
    return (Step("write_off", path_of("invoices", ref, "mark_uncollectible"), {}, gone),)


# -- Subscriptions --


def subscription_steps(snapshot: Snapshot, write: SubscriptionWrite, facts: Facts) -> tuple[Step, ...]:
    """Return the requests for a subscription; each leaves the call's key on it."""
    subscription = known_subscription(snapshot)
    if facts.items != 1:
        raise conflict(f"Subscription {subscription.ref} sells several things at once; a person changes it.")
    release = _release(facts) if facts.schedule else ()
    match write:
        case ChangePlan(now=True):
            return (*release, _update(snapshot, facts, "change", _changed_now(snapshot, subscription, write, facts)))
        case ChangePlan():
            return _changed_later(snapshot, subscription, write, facts)
        case DropPlanChange():
            return (*release, _update(snapshot, facts, "drop", {}))
        case PauseSubscription():
            until = (
                {} if write.until is None else {"resumes_at": seconds_of(datetime.combine(write.until, time(), UTC))}
            )
            pausing = {"pause_collection": {"behavior": "void", **until}}
            return (_update(snapshot, facts, "pause", pausing, metadata={PAUSED_AT: str(seconds_of(snapshot.now))}),)
        case ResumeSubscription():
            return (_update(snapshot, facts, "resume", {"pause_collection": ""}, metadata={PAUSED_AT: ""}),)
        case CancelSubscription():
            return (*release, *_cancelled(snapshot, facts, write))
        case KeepSubscription():
            return (_update(snapshot, facts, "keep", {"cancel_at_period_end": False}),)


def _update(
    snapshot: Snapshot,
    facts: Facts,
    name: str,
    params: Mapping[str, Any],
    *,
    metadata: Mapping[str, str] | None = None,
) -> Step:
    """Return an update of the subscription, which leaves the call's key on it."""
    path = path_of("subscriptions", known_subscription(snapshot).ref)
    told = {**params, "metadata": {KEY: snapshot.key, **(metadata or {})}}
    return Step(name, path, told, Find(path, former=facts.stamp))


def _release(facts: Facts) -> tuple[Step, ...]:
    """Take the schedule off: what it was to bring does not come. Its subscription goes on."""
    path = path_of("subscription_schedules", facts.schedule)
    return (Step("release", f"{path}/release", {}, Find(path, told_in="status", values=("released",))),)


def _changed_now(snapshot: Snapshot, subscription: Subscription, write: ChangePlan, facts: Facts) -> Mapping[str, Any]:
    return {
        "items": [{"id": facts.item, "price": write.plan_ref, "quantity": write.quantity}],
        "proration_behavior": "always_invoice",
        "proration_date": proration_date(snapshot, subscription),
    }


def proration_date(snapshot: Snapshot, subscription: Subscription) -> int:
    """Return the moment from which a change now counts: the same all day, as in the embedded system."""
    period = Period(subscription.period_start, subscription.period_end)
    return seconds_of(period.counted_from(snapshot.now))


def _changed_later(snapshot: Snapshot, subscription: Subscription, write: ChangePlan, facts: Facts) -> tuple[Step, ...]:
    """Put the subscription under a schedule with one more phase, after which it goes on by itself."""
    now = [{"price": subscription.plan.ref, "quantity": subscription.quantity}]
    then = [{"price": write.plan_ref, "quantity": write.quantity}]
    end = seconds_of(subscription.period_end)
    phases = [
        {"items": now, "start_date": seconds_of(subscription.period_start), "end_date": end},
        {"items": then, "start_date": end, "duration": {"interval": "month", "interval_count": 1}},
    ]
    told = {"end_behavior": "release", "phases": phases, "metadata": {KEY: snapshot.key}}
    if facts.schedule:
        path = path_of("subscription_schedules", facts.schedule)
        return (Step("phases", path, told, Find(path)),)
    own = path_of("subscriptions", subscription.ref)
    path = "/v1/subscription_schedules/{schedule}"
    made = Find(own, told_in="schedule", take="schedule")
    return (
        Step(
            "schedule", path_of("subscription_schedules"), {"from_subscription": subscription.ref}, made, decides=False
        ),
        Step("phases", path, told, Find(path)),
    )


def _cancelled(snapshot: Snapshot, facts: Facts, write: CancelSubscription) -> tuple[Step, ...]:
    said = {"cancellation_details": {"comment": write.reason.strip()}}
    if not write.now:
        return (_update(snapshot, facts, "cancel", {"cancel_at_period_end": True, **said}),)
    path = path_of("subscriptions", known_subscription(snapshot).ref)
    over = Find(path, told_in="status", values=("canceled",))
    ending = {"invoice_now": False, "prorate": False, **said}
    return (Step("end", path, ending, over, method="delete"),)
