"""What a write would do, where Stripe does otherwise than the embedded system, or computes the amounts itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount, Fields, Part
from agentops.registry.tool import Change, Preview, ToolFailure
from billing_agent.connectors.checks import known_customer, target_of
from billing_agent.connectors.effect import Effect, Snapshot, conflict
from billing_agent.connectors.invoice_rules import plan_invoice
from billing_agent.connectors.port import (
    ChangePlan,
    GenerateInvoice,
    PauseSubscription,
    ResumeSubscription,
)
from billing_agent.connectors.records import Invoice, InvoiceStatus, Line, Method, Subscription, SubscriptionStatus
from billing_agent.connectors.rules import plan
from billing_agent.connectors.stripe.amounts import to_stripe
from billing_agent.connectors.stripe.invoices import invoice_of, line_of
from billing_agent.connectors.stripe.objects import Obj, metadata_of, path_of
from billing_agent.connectors.stripe.reading import Reader
from billing_agent.connectors.stripe.snapshots import Read, StripeWrites
from billing_agent.connectors.stripe.steps import Facts, proration_date
from billing_agent.connectors.subscription_rules import known_subscription, shown

LINE = "agentops_line"
_SAME = frozenset({"Plan", "Quantity", "Price of a period", "Billed every"})
"""The rows of a change that do not depend on who computes the amounts."""


def planned(reader: Reader, read: Read, write: StripeWrites) -> Effect:
    """Return what the write comes to: by the rules, with Stripe's amounts where Stripe computes them.

    Raises ToolFailure when the rules refuse it, or Stripe does not answer.
    """
    snapshot = read.snapshot
    match write:
        case GenerateInvoice():
            plan(snapshot, write)
            return plan_invoice(snapshot, write, _billed_lines(reader, snapshot, write, read.facts))
        case ChangePlan(now=True):
            return _changed_now(reader, snapshot, write, read.facts, plan(snapshot, write))
        case PauseSubscription() | ResumeSubscription():
            return _without_moving(snapshot, plan(snapshot, write))
        case _:
            return plan(snapshot, write)


def _billed_lines(reader: Reader, snapshot: Snapshot, write: GenerateInvoice, facts: Facts) -> Sequence[Line]:
    """Return the lines of the invoice with the tax that Stripe computes."""
    items = [
        {
            "description": item.description,
            "currency": write.currency.lower(),
            "amount": to_stripe(Money(item.unit_minor * item.quantity, write.currency)),
            "metadata": {LINE: str(number)},
            **({"tax_rates": list(facts.tax_rates)} if facts.tax_rates else {}),
        }
        for number, item in enumerate(write.items)
    ]
    made = _previewed(reader, {"currency": write.currency.lower(), "invoice_items": items})
    # Items that wait for the next invoice are shown too, and are not put on this one.
    taxes = {metadata_of(line).get(LINE): line_of(line).tax_minor for line in made["lines"]["data"]}
    if any(str(number) not in taxes for number in range(len(write.items))):
        raise ToolFailure(FailureKind.UNKNOWN, "Stripe's preview lacks a line that was asked for.")
    return tuple(
        Line(item.description, item.quantity, item.unit_minor, item.quantity * item.unit_minor, taxes[str(number)])
        for number, item in enumerate(write.items)
    )


def _previewed(reader: Reader, asked: dict[str, object]) -> Obj:
    """Return the invoice that Stripe would make, of which nothing is kept."""
    return reader.account.preview(path_of("invoices", "create_preview"), {"customer": reader.row.ref, **asked})


def _changed_now(reader: Reader, snapshot: Snapshot, write: ChangePlan, facts: Facts, allowed: Effect) -> Effect:
    """Return the change with Stripe's amounts, which it invoices, and charges at once."""
    customer, subscription = known_customer(snapshot), known_subscription(snapshot)
    details = {
        "items": [{"id": facts.item, "price": write.plan_ref, "quantity": write.quantity}],
        "proration_behavior": "always_invoice",
        "proration_date": proration_date(snapshot, subscription),
    }
    told = _previewed(reader, {"subscription": subscription.ref, "subscription_details": details})
    made = invoice_of({"id": "", **told, "status": InvoiceStatus.OPEN.value}, told["lines"]["data"])
    if not any(line.proration for line in made.lines):
        # Nothing is billed now: what Stripe shows is the invoice of the next period.
        made = replace(made, lines=(), subtotal_minor=0, tax_minor=0, total_minor=0, credited_minor=0)
    if made.total_minor < 0 and subscription.status is SubscriptionStatus.PAST_DUE:
        raise conflict(
            f"{subscription.words} is not paid, so no unused time of it is given back now.", "subscription_id"
        )
    total = Money(made.total_minor, made.currency)
    charged = customer.method(facts.method) or customer.default_method
    if told.get("collection_method") == "send_invoice" or not made.left.minor:
        charged = None
    sold = allowed.preview.effect.partition(" now; ")[0]
    preview = Preview(
        effect=f"{sold} now; {_settled(total, made.left, charged)}",
        target=target_of(customer),
        changes=tuple(_rows(subscription, made, allowed.preview.changes)),
        versions=snapshot.versions(),
        money=Money(abs(total.minor), total.currency) if total.minor else None,
        parts=_parts(made, total, subscription),
    )
    return replace(allowed, preview=preview)


def _settled(total: Money, left: Money, charged: Method | None) -> str:
    if total.minor < 0:
        return f"give {Money(-total.minor, total.currency)} of credit for unused time"
    if not total.minor:
        return "no money moves"
    return f"invoice {total}" + (f" and charge {left} to {charged.words} at once" if charged else "")


def _rows(subscription: Subscription, made: Invoice, allowed: Sequence[Change]) -> Iterator[Change]:
    yield from (change for change in allowed if change.label in _SAME)
    ends = [line.period[1] for line in made.lines if line.period and not line.proration]
    if ends:
        yield Change("Period ends", shown(subscription.period_end), shown(max(ends)))
    if made.credited_minor:
        yield Change("Credit that is used", "", str(Money(made.credited_minor, made.currency)))
    if made.total_minor > 0:
        yield Change("Left to pay", "", str(made.left))


def _parts(made: Invoice, total: Money, subscription: Subscription) -> tuple[Part, ...]:
    rows = [(line.description, "", str(Money(line.amount_minor, made.currency))) for line in made.lines]
    tax = [("Tax", "", str(Money(made.tax_minor, made.currency)))] if made.tax_minor else []
    billed = Fields("What Stripe bills", (*rows, *tax, ("Sum", "", str(total))))
    if not total.minor:
        return (billed,)
    title = "To be invoiced" if total.minor > 0 else "Given as credit"
    nothing, amount = Money(0, total.currency), Money(abs(total.minor), total.currency)
    return billed, Amount.of(title, amount, ((f"For {subscription.words}"[:60], nothing, amount),))


def _without_moving(snapshot: Snapshot, allowed: Effect) -> Effect:
    """Return a pause or its end as Stripe does it: the periods keep their dates, and bills in between are void."""
    subscription = known_subscription(snapshot)
    end = Change("Period ends", shown(subscription.period_end), shown(subscription.period_end))
    changes = [change for change in allowed.preview.changes if change.label != end.label]
    told = Change("Invoices until then", "", "void") if subscription.status is SubscriptionStatus.ACTIVE else None
    effect = allowed.preview.effect.partition("; it is billed again from ")[0]
    again = subscription.status is SubscriptionStatus.PAUSED
    words = f"{effect}; it is billed again with its next period" if again else effect
    preview = replace(allowed.preview, effect=words, changes=(*changes, *((told,) if told else ())))
    return replace(allowed, preview=preview)
