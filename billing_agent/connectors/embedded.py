"""The embedded billing system: the port on this program's own PostgreSQL tables.

Rows are locked in one order (operation key, customer, payment methods by id, credits by age, subscription, invoice,
charge, mail, case, invoice series), so two writes wait for each other and never deadlock.
"""

from collections.abc import Sequence

from agentops.registry.once import call_of, fingerprint_of, require_versions
from agentops.registry.tool import CallContext, Preview, Result
from billing_agent import models
from billing_agent.connectors import reading
from billing_agent.connectors.applying import apply
from billing_agent.connectors.claims import ONCE, record_result
from billing_agent.connectors.effect import missing, nobody
from billing_agent.connectors.port import ApplyCredit, RefundCharge, ReverseCredit, VoidInvoice, Write, WriteOffInvoice
from billing_agent.connectors.records import Account360, Charge, Invoice, Plan, Template
from billing_agent.connectors.rules import plan
from billing_agent.connectors.snapshots import read


class EmbeddedBilling:
    """Implements ``Billing``. Holds no state."""

    @ONCE.answering()
    def account(self, context: CallContext) -> Account360:
        """Return the session's customer with all that is open. Raises ToolFailure NOT_FOUND."""
        return reading.account(_customer(context))

    @ONCE.answering()
    def invoices(self, context: CallContext, *, limit: int) -> Sequence[Invoice]:
        """Return the customer's latest invoices, the newest first. Raises ToolFailure NOT_FOUND."""
        return reading.latest_invoices(_customer(context), limit)

    @ONCE.answering()
    def invoice(self, context: CallContext, ref: str) -> tuple[Invoice, Sequence[Charge]]:
        """Return one invoice, by id or number, and the attempts to charge it. Raises ToolFailure NOT_FOUND."""
        customer = _customer(context)
        row = reading.invoice_row(customer, ref)
        if row is None:
            raise missing("invoice", "invoice_id")
        return reading.invoice_record(row, customer.ref), reading.charges_of(customer, row)

    @ONCE.answering()
    def plans(self, context: CallContext) -> Sequence[Plan]:
        """Return the plans that are sold in the customer's currency, the cheapest first. Raises ToolFailure."""
        return reading.plans(context.tenant_id, _customer(context).currency)

    @ONCE.answering()
    def templates(self, context: CallContext) -> Sequence[Template]:
        """Return the reviewed templates, by name."""
        return reading.templates(context.tenant_id)

    @ONCE.answering()
    def preview(self, context: CallContext, write: Write) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        snapshot, _ = read(context, write, lock=False)
        return plan(snapshot, write).preview

    def write(self, context: CallContext, write: Write) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result; with others it is a CONFLICT.
        """

        def act() -> Result:
            snapshot, rows = read(context, write, lock=True)
            require_versions(context, snapshot.versions())
            effect = plan(snapshot, write)
            apply(call_of(context), rows, effect)
            record_result(call_of(context), effect.result)
            return effect.result

        fingerprint = fingerprint_of(context, write, unsaid=unsaid(write))
        return ONCE.write(context, fingerprint, type(write).__name__, act)

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the key, None when it took no effect. Waits for a write that is under way."""
        return ONCE.outcome(context)


_PAYS = ApplyCredit | ReverseCredit | RefundCharge | VoidInvoice | WriteOffInvoice


def unsaid(write: Write) -> tuple[str, ...]:
    """Return what does not tell writes apart: saying the reason in other words does not make it another payment."""
    return ("reason",) if isinstance(write, _PAYS) else ()


def _customer(context: CallContext) -> models.Customer:
    row = reading.customer_row(context.tenant_id, context.customer_id)
    if row is None:
        raise nobody()
    return row
