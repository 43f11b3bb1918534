"""Credit that is given and taken back. Pure."""

from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change, Preview
from billing_agent.connectors.checks import (
    known_customer,
    known_invoice,
    present_customer,
    require_amount,
    target_of,
)
from billing_agent.connectors.effect import Effect, NewCredit, Snapshot, conflict, missing
from billing_agent.connectors.issuing import credit_used, settlement
from billing_agent.connectors.port import ApplyCredit, ReverseCredit
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.connectors.records import Customer, Invoice, InvoiceStatus


def plan_credit(snapshot: Snapshot, write: ApplyCredit) -> Effect:
    """Give credit. What the named invoice does not take stays with the customer, all of it when that one is closed.

    Raises ToolFailure for no such invoice, an amount of nothing, another currency and a deleted customer.
    """
    customer, amount = present_customer(snapshot), write.amount
    require_amount(amount, customer.currency, customer.name)
    invoice = known_invoice(snapshot) if write.invoice_ref else None
    if invoice is not None:
        require_amount(amount, invoice.currency, f"Invoice {invoice.words}")
    used = _taken_by(invoice, amount)
    kept = Money(amount.minor - used.minor, amount.currency)
    fields = settlement(invoice, snapshot.now, credited_minor=used.minor) if invoice is not None and used.minor else {}
    ref = snapshot.new_ref("cr")
    told = {} if invoice is None else {"invoice_id": invoice.ref, "invoice_status": _status(invoice, used)}
    given = {Account.GOODWILL: amount.minor, Account.CUSTOMER_CREDIT: -amount.minor}
    return Effect(
        preview=_credit_preview(snapshot, customer, write, invoice, used),
        result={
            "credit_id": ref,
            "amount_minor": amount.minor,
            "used_minor": used.minor,
            "left_minor": kept.minor,
            "currency": amount.currency,
            **told,
        },
        invoice=fields,
        new_credit=NewCredit(ref, amount.minor, kept.minor, amount.currency, write.reason),
        entries=(
            *posted(EntryKind.CREDIT, amount.currency, ref, given, memo=write.reason),
            *credit_used(ref, invoice.ref if invoice is not None else "", used),
        ),
    )


def _taken_by(invoice: Invoice | None, amount: Money) -> Money:
    """Return what the invoice takes of a credit: at most what is left of it, and nothing when it is not open."""
    if invoice is None or invoice.status is not InvoiceStatus.OPEN:
        return Money(0, amount.currency)
    return Money(min(amount.minor, invoice.left.minor), amount.currency)


def _status(invoice: Invoice, used: Money) -> str:
    return (InvoiceStatus.PAID if used.minor and used == invoice.left else invoice.status).value


def _credit_preview(
    snapshot: Snapshot, customer: Customer, write: ApplyCredit, invoice: Invoice | None, used: Money
) -> Preview:
    amount, nothing = write.amount, Money(0, write.amount.currency)
    kept = Money(amount.minor - used.minor, amount.currency)
    sums = [("Credit that is kept", nothing, kept)]
    changes = [Change("Credit that is kept", "", str(kept)), Change("Reason", "", write.reason)]
    if invoice is not None and used.minor:
        label, left = f"Left to pay on invoice {invoice.words}", Money(invoice.left.minor - used.minor, amount.currency)
        sums.insert(0, (label, invoice.left, left))
        changes.insert(0, Change(label, str(invoice.left), str(left)))
        if left == nothing:
            changes.insert(1, Change(f"Invoice {invoice.words}", invoice.status.value, _status(invoice, used)))
    return Preview(
        effect=_sentence(customer, amount, invoice, used),
        target=target_of(customer),
        changes=tuple(changes),
        versions=snapshot.versions(),
        money=amount,
        parts=(Amount.of("Credit", amount, sums),),
    )


def _sentence(customer: Customer, amount: Money, invoice: Invoice | None, used: Money) -> str:
    given = f"Give {customer.name} {amount} of credit"
    if invoice is None:
        return f"{given} for what is billed next"
    if not used.minor:
        return f"{given} for what is billed next, because invoice {invoice.words} is {invoice.status}"
    paid = ", which is then paid" if used == invoice.left else ""
    return f"{given} and use {used} of it on invoice {invoice.words}{paid}"


def plan_reversal(snapshot: Snapshot, write: ReverseCredit) -> Effect:
    """Take back what is left of a credit; what was used stays used.

    Raises ToolFailure for no such credit, and for one that is used up or was taken back before.
    """
    customer, credit = known_customer(snapshot), snapshot.credit
    if credit is None:
        raise missing("credit", "credit_id")
    if credit.reversed_at is not None:
        raise conflict(f"Credit {credit.ref} was taken back before.", "credit_id")
    if credit.left_minor < 1:
        raise conflict(f"Credit {credit.ref} is used up; there is nothing left to take back.", "credit_id")
    currency = credit.amount.currency
    left, nothing = Money(credit.left_minor, currency), Money(0, currency)
    return Effect(
        preview=Preview(
            effect=f"Take back {left}, which is left of credit {credit.ref} over {credit.amount}, from {customer.name}",
            target=target_of(customer),
            changes=(
                Change(f"Left of credit {credit.ref}", str(left), str(nothing)),
                Change("Reason", "", write.reason),
            ),
            versions=snapshot.versions(),
            parts=(Amount.of("Credit taken back", left, ((f"Left of credit {credit.ref}", left, nothing),)),),
        ),
        result={
            "credit_id": credit.ref,
            "amount_minor": left.minor,
            "used_minor": credit.amount.minor - left.minor,
            "currency": currency,
            "status": "reversed",
        },
        reverses_credit=True,
        entries=posted(
            EntryKind.CREDIT_REVERSED,
            currency,
            credit.ref,
            {Account.CUSTOMER_CREDIT: left.minor, Account.GOODWILL: -left.minor},
            memo=write.reason,
        ),
    )
