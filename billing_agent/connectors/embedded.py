"""The embedded billing system: the port on this program's own PostgreSQL tables.

Rows are locked in one order (operation key, customer, payment methods by id, credits by age, subscription, invoice,
charge, mail, case, invoice series), so two writes wait for each other and never deadlock.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date

from django.db import DataError, InterfaceError, OperationalError, transaction

from agentops.kernel.canonical import JSON, NotCanonical, digest
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, OutcomeUnknown, Preview, Result, ToolFailure
from billing_agent import models
from billing_agent.connectors import reading
from billing_agent.connectors.applying import apply
from billing_agent.connectors.claims import Call, claim, operation_of, record_result
from billing_agent.connectors.effect import Snapshot, conflict, invalid, missing, nobody
from billing_agent.connectors.port import ApplyCredit, RefundCharge, ReverseCredit, VoidInvoice, Write
from billing_agent.connectors.records import Account360, Charge, Invoice, Plan, Template
from billing_agent.connectors.rules import plan
from billing_agent.connectors.snapshots import read


@contextmanager
def _answering() -> Iterator[None]:
    """Say that the database did not answer, in a form that is tried again later."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise ToolFailure(FailureKind.UNAVAILABLE, "The billing database did not answer.") from error


class EmbeddedBilling:
    """Implements ``Billing``. Holds no state."""

    @_answering()
    def account(self, context: CallContext) -> Account360:
        """Return the session's customer with all that is open. Raises ToolFailure NOT_FOUND."""
        return reading.account(_customer(context))

    @_answering()
    def invoices(self, context: CallContext, *, limit: int) -> Sequence[Invoice]:
        """Return the customer's latest invoices, the newest first. Raises ToolFailure NOT_FOUND."""
        return reading.latest_invoices(_customer(context), limit)

    @_answering()
    def invoice(self, context: CallContext, ref: str) -> tuple[Invoice, Sequence[Charge]]:
        """Return one invoice, by id or number, and the attempts to charge it. Raises ToolFailure NOT_FOUND."""
        customer = _customer(context)
        row = reading.invoice_row(customer, ref)
        if row is None:
            raise missing("invoice", "invoice_id")
        return reading.invoice_record(row, customer.ref), reading.charges_of(customer, row)

    @_answering()
    def plans(self, context: CallContext) -> Sequence[Plan]:
        """Return the plans that are sold in the customer's currency, the cheapest first. Raises ToolFailure."""
        return reading.plans(context.tenant_id, _customer(context).currency)

    @_answering()
    def templates(self, context: CallContext) -> Sequence[Template]:
        """Return the reviewed templates, by name."""
        return reading.templates(context.tenant_id)

    @_answering()
    def preview(self, context: CallContext, write: Write) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        snapshot, _ = read(context, write, lock=False)
        return plan(snapshot, write).preview

    def write(self, context: CallContext, write: Write) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result; with others it is a CONFLICT.
        """
        if not context.idempotency_key:
            raise invalid("A write needs an idempotency key.")
        fingerprint = _fingerprint(context, write)
        committing = False
        try:
            with transaction.atomic():
                result = _carry_out(context, write, fingerprint)
                committing = True
        except (OperationalError, InterfaceError) as error:
            if committing:
                raise OutcomeUnknown("The billing database did not confirm the write.") from error
            raise ToolFailure(FailureKind.UNAVAILABLE, "The billing database did not answer.") from error
        except DataError as error:
            raise invalid("A text is too long for the records, or a number too large.") from error
        return result

    @_answering()
    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the key, None when it took no effect.

        Waits for a write of the same key that is still under way: claiming the key does, and the claim
        is rolled back.
        """
        with transaction.atomic():
            call = _call_of(context)
            if claim(call, "", b""):
                transaction.set_rollback(True)
                return None
            return _result_of(operation_of(call))


def _customer(context: CallContext) -> models.Customer:
    row = reading.customer_row(context.tenant_id, context.customer_id)
    if row is None:
        raise nobody()
    return row


def _carry_out(context: CallContext, write: Write, fingerprint: bytes) -> Result:
    call = _call_of(context)
    if not claim(call, type(write).__name__, fingerprint):
        operation = operation_of(call)
        if bytes(operation.arguments_digest) != fingerprint:
            raise conflict("This idempotency key was used for another call.")
        return _result_of(operation)
    snapshot, rows = read(context, write, lock=True)
    _require_versions(context, snapshot)
    effect = plan(snapshot, write)
    apply(call, rows, effect)
    record_result(call, effect.result)
    return effect.result


def _call_of(context: CallContext) -> Call:
    return Call(context.tenant_id, context.idempotency_key, context.now, context.subject_id)


def _fingerprint(context: CallContext, write: Write) -> bytes:
    arguments = {name: _plain(value) for name, value in asdict(write).items()}
    if isinstance(write, ApplyCredit | ReverseCredit | RefundCharge | VoidInvoice):
        # Saying the reason in other words does not make it another payment.
        del arguments["reason"]
    try:
        return digest(
            {
                "action": type(write).__name__,
                "arguments": arguments,
                "customer": context.customer_id,
                "subject": context.subject_id,
            }
        )
    except NotCanonical as error:
        raise invalid(f"The arguments cannot be recorded: {error.message}.") from error


def _plain(value: JSON | date) -> JSON:
    return value.isoformat() if isinstance(value, date) else value


def _result_of(operation: models.Operation) -> Result:
    return dict(operation.result)


def _require_versions(context: CallContext, snapshot: Snapshot) -> None:
    now = snapshot.versions()
    for record, version in context.expected_versions.items():
        if now.get(record) != version:
            raise conflict(f"The record {record} has changed since this was decided.")
