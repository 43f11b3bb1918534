"""Reads what a write is about: as a snapshot for the rules, and as the facts that its requests need."""

from dataclasses import dataclass

from agentops.registry.tool import CallContext
from billing_agent.connectors import reading as house
from billing_agent.connectors.effect import Snapshot
from billing_agent.connectors.port import GenerateInvoice, MoneyWrite, RetryCharge, SubscriptionWrite, VoidInvoice
from billing_agent.connectors.snapshots import named_by
from billing_agent.connectors.stripe.amounts import from_stripe
from billing_agent.connectors.stripe.customers import TAX_RATE
from billing_agent.connectors.stripe.objects import KEY, metadata_of, ref_of
from billing_agent.connectors.stripe.reading import Reader
from billing_agent.connectors.stripe.steps import Facts
from billing_agent.connectors.stripe.subscriptions import items_of

StripeWrites = MoneyWrite | SubscriptionWrite


@dataclass(frozen=True)
class Read:
    """What was read for a write. ``latest_invoice`` is that of its subscription before the write."""

    snapshot: Snapshot
    facts: Facts
    latest_invoice: str = ""


def read(context: CallContext, reader: Reader, write: StripeWrites) -> Read:
    """Return the customer's records that ``write`` names. Raises ToolFailure."""
    named = named_by(write)
    charge = reader.charge(named.charge) if named.charge else None
    invoice_ref = (charge.invoice_ref if charge is not None else "") or named.invoice
    raw_invoice = reader.raw_invoice(invoice_ref) if invoice_ref else None
    invoice = None if raw_invoice is None else reader.invoice_of(raw_invoice)
    raw_subscription = reader.raw_subscription(named.subscription) if named.subscription else None
    retries = isinstance(write, RetryCharge) and invoice is not None
    facts = Facts()
    if invoice is not None and raw_invoice is not None:
        if isinstance(write, RetryCharge):
            facts = Facts(intent=(reader.intents(invoice.ref) or [""])[-1])
        elif isinstance(write, VoidInvoice):
            noted = raw_invoice.get("pre_payment_credit_notes_amount") or 0
            facts = Facts(noted=from_stripe(noted, raw_invoice["currency"]))
    if raw_subscription is not None:
        items = items_of(raw_subscription)
        facts = Facts(
            item=items[0]["id"],
            items=len(items),
            schedule=ref_of(raw_subscription.get("schedule")),
            method=ref_of(raw_subscription.get("default_payment_method")),
            stamp=metadata_of(raw_subscription).get(KEY, ""),
        )
    if isinstance(write, GenerateInvoice):
        rate = metadata_of(reader.raw_customer).get(TAX_RATE, "")
        exempt = reader.customer.tax_exempt
        facts = Facts(tax_rates=(rate,) if rate and not exempt else ())
    snapshot = Snapshot(
        now=context.now,
        key=context.idempotency_key,
        customer=reader.customer,
        invoice=invoice,
        charge=charge,
        attempts=tuple(reader.attempts(invoice.ref)) if retries and invoice is not None else (),
        subscription=None if raw_subscription is None else reader.subscription_of(raw_subscription),
        plan=reader.plan(named.plan) if named.plan else None,
        credit=reader.credit(named.credit) if named.credit else None,
        credits=reader.balance.left if named.bills else (),
        closed_through=house.closed_through(context.tenant_id),
    )
    latest = "" if raw_subscription is None else ref_of(raw_subscription.get("latest_invoice"))
    return Read(snapshot, facts, latest)
