"""The port on a tenant's account at Stripe. What stays in the house is the embedded system's: cases and mails."""

from collections.abc import Sequence

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.registry.once import fingerprint_of, require_versions
from agentops.registry.tool import CallContext, OutcomeUnknown, Preview, Result, ToolFailure
from billing_agent.connectors import reading as house
from billing_agent.connectors.claims import ONCE
from billing_agent.connectors.effect import missing, nobody
from billing_agent.connectors.embedded import EmbeddedBilling, unsaid
from billing_agent.connectors.port import CaseWrite, MailWrite, Write
from billing_agent.connectors.records import Account360, Charge, Invoice, InvoiceStatus, Plan, Template
from billing_agent.connectors.stripe.carrying import Carrier, begun, held
from billing_agent.connectors.stripe.door import opened
from billing_agent.connectors.stripe.previews import planned
from billing_agent.connectors.stripe.reading import Reader
from billing_agent.connectors.stripe.results import FORMER_INVOICE, result_of
from billing_agent.connectors.stripe.snapshots import StripeWrites, read
from billing_agent.connectors.stripe.steps import steps_of
from billing_agent.models import StripeWrite

MOST_SUBSCRIPTIONS = 100
MOST_OPEN = 200


class StripeBilling:
    """Implements ``Billing``. Holds no state, and no key longer than a call takes."""

    def __init__(self) -> None:
        self._house = EmbeddedBilling()

    def account(self, context: CallContext) -> Account360:
        """Return the session's customer with all that is open. Raises ToolFailure NOT_FOUND.

        ``paid_minor`` counts the customer's latest thousand charges.
        """
        reader = _reader(context)
        customer = reader.customer
        invoices = sorted(
            reader.invoices(MOST_OPEN, status=InvoiceStatus.OPEN.value),
            key=lambda each: (each.issued_at or each.created_at, each.ref),
        )
        left = reader.balance.left
        paid, disputes = reader.taken()
        return Account360(
            customer=customer,
            subscriptions=tuple(reader.subscriptions(MOST_SUBSCRIPTIONS)),
            open_invoices=tuple(invoices),
            disputes=tuple(disputes),
            credits=left,
            owed_minor=sum(each.left.minor for each in invoices if each.currency == customer.currency),
            credit_minor=sum(each.left_minor for each in left),
            paid_minor=paid,
        )

    def invoices(self, context: CallContext, *, limit: int) -> Sequence[Invoice]:
        """Return the customer's latest invoices, the newest first. Raises ToolFailure NOT_FOUND."""
        return _reader(context).invoices(limit)

    def invoice(self, context: CallContext, ref: str) -> tuple[Invoice, Sequence[Charge]]:
        """Return one invoice, by id or number, and the attempts to charge it. Raises ToolFailure NOT_FOUND."""
        reader = _reader(context)
        found = reader.invoice(ref)
        if found is None:
            raise missing("invoice", "invoice_id")
        return found, reader.attempts(found.ref)

    def plans(self, context: CallContext) -> Sequence[Plan]:
        """Return the plans that are sold in the customer's currency, the cheapest first. Raises ToolFailure."""
        reader = _reader(context)
        return reader.plans(reader.customer.currency)

    def templates(self, context: CallContext) -> Sequence[Template]:
        """Return the reviewed templates, by name: they are the house's."""
        return self._house.templates(context)

    def preview(self, context: CallContext, write: Write) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        if isinstance(write, MailWrite | CaseWrite):
            return self._house.preview(context, write)
        reader = _reader(context)
        found = read(context, reader, write)
        effect = planned(reader, found, write)
        steps_of(found.snapshot, write, effect, found.facts)
        return effect.preview

    def write(self, context: CallContext, write: Write) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result, or goes on where it stopped; with others it
        is a CONFLICT.
        """
        if isinstance(write, MailWrite | CaseWrite):
            return self._house.write(context, write)
        fingerprint = fingerprint_of(context, write, unsaid=unsaid(write))
        known = ONCE.known(context, fingerprint)
        if known is not None:
            return known
        reader = _reader(context)
        row, _ = StripeWrite.objects.get_or_create(
            tenant_id=context.tenant_id,
            key=context.idempotency_key,
            defaults={
                "action": type(write).__name__,
                "arguments_digest": fingerprint,
                "customer_ref": reader.row.ref,
                "begun_at": utcnow(),
            },
        )
        with held(row.tenant_id, row.key):
            known = ONCE.known(context, fingerprint)
            if known is not None:
                return known
            row = self._row(context) or row
            if bytes(row.arguments_digest) != fingerprint:
                raise ToolFailure(FailureKind.CONFLICT, "This idempotency key was used for another call.")
            if not row.steps or _asked(Carrier(reader.account, row)):
                self._begin(context, reader, write, row)
            return _finished(context, reader, row)

    def outcome(self, context: CallContext) -> Result | None:
        """Return what became of the context's key, None when it took no effect. Waits for one that is under way.

        What was done in part is carried to its end. Raises ToolFailure while Stripe does not say.
        """
        recorded = ONCE.outcome(context)
        row = self._row(context)
        if recorded is not None or row is None:
            return recorded
        reader = _reader(context)
        with held(row.tenant_id, row.key):
            recorded = ONCE.outcome(context)
            row = self._row(context)
            if recorded is not None or row is None or not row.steps:
                return recorded
            return None if Carrier(reader.account, row).is_free() else _finished(context, reader, row)

    def _row(self, context: CallContext) -> StripeWrite | None:
        return StripeWrite.objects.filter(tenant_id=context.tenant_id, key=context.idempotency_key).first()

    def _begin(self, context: CallContext, reader: Reader, write: StripeWrites, row: StripeWrite) -> None:
        """Freeze what is to be done, unless it was and is prepared. Raises ToolFailure when it is refused.

        The key of a first call that is refused is as if it never was used.
        """
        try:
            found = read(context, reader, write)
            require_versions(context, found.snapshot.versions())
            effect = planned(reader, found, write)
            steps = steps_of(found.snapshot, write, effect, found.facts)
        except ToolFailure:
            if not row.attempt:
                row.delete()
            raise
        if not Carrier(reader.account, row).is_prepared:
            begun(row, steps, {**effect.result, FORMER_INVOICE: found.latest_invoice}, utcnow())


def _asked(carrier: Carrier) -> bool:
    """Return whether a write that was begun had no effect. Raises OutcomeUnknown while Stripe does not say."""
    try:
        return carrier.is_free()
    except ToolFailure as failure:
        raise OutcomeUnknown(f"It was begun before, and nobody knows what became of it: {failure.message}") from failure


def _finished(context: CallContext, reader: Reader, row: StripeWrite) -> Result:
    """Make the steps that are left, and record what they came to. Raises ToolFailure or OutcomeUnknown."""
    Carrier(reader.account, row).go_on()
    try:
        # What was read before the steps is not what is now.
        result = result_of(Reader(reader.account, reader.row, context.now), row)
    except ToolFailure as failure:
        raise OutcomeUnknown(f"It was done; what it came to could not be read: {failure.message}") from failure
    return ONCE.keep(context, bytes(row.arguments_digest), row.action, result)


def _reader(context: CallContext) -> Reader:
    """Return the session's customer at Stripe. Raises ToolFailure NOT_FOUND, AUTH without a key that fits."""
    row = house.customer_row(context.tenant_id, context.customer_id)
    if row is None:
        raise nobody()
    return Reader(opened(context.secret), row, context.now)
