"""What a write came to: what the rules said of it, with what Stripe made of it."""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.kernel.clock import isoformat
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import Result, ToolFailure
from billing_agent.connectors.records import ChargeStatus, Invoice, Subscription
from billing_agent.connectors.stripe.amounts import minor
from billing_agent.connectors.stripe.carrying import DECLINED
from billing_agent.connectors.stripe.objects import path_of, ref_of
from billing_agent.connectors.stripe.reading import MOST_ENTRIES, Reader
from billing_agent.models import StripeWrite

FORMER_INVOICE = "former_invoice_id"
"""What is told of a change now, and not returned: the latest invoice of the subscription before it."""
Told = dict[str, Any]
Made = Mapping[str, Mapping[str, Any]]


def result_of(reader: Reader, row: StripeWrite) -> Result:
    """Return the result of a write whose steps are all made. Raises ToolFailure when Stripe does not answer."""
    more = _READERS.get(row.action)
    came = {**row.told, **(more(reader, row.told, row.made) if more else {})}
    return {name: value for name, value in came.items() if name != FORMER_INVOICE}


def _credit(reader: Reader, told: Told, made: Made) -> Told:
    kind = made.get("credit") or made["note"]
    reader.owners.saw("credit", [kind["id"]])
    status = {"invoice_status": _invoice(reader, told["invoice_id"]).status.value} if told.get("invoice_id") else {}
    return {"credit_id": kind["id"], **status}


def _retry(reader: Reader, told: Told, made: Made) -> Told:
    invoice, paid = _invoice(reader, told["invoice_id"]), made["pay"]
    declined = paid.get(DECLINED, "")
    charge = paid["id"] if str(paid["id"]).startswith(("ch_", "py_")) else ""
    if not charge:
        attempts = reader.attempts(invoice.ref)
        wanted = ChargeStatus.FAILED if declined else ChargeStatus.SUCCEEDED
        charge = next((each.ref for each in reversed(attempts) if each.status is wanted), str(paid["id"]))
    return {
        "charge_id": charge,
        "status": (ChargeStatus.FAILED if declined else ChargeStatus.SUCCEEDED).value,
        "decline_code": declined,
        "invoice_status": invoice.status.value,
        "attempts": max(invoice.attempts, 1),
        "next_attempt_at": "" if invoice.next_attempt_at is None else isoformat(invoice.next_attempt_at),
    }


def _refund(reader: Reader, told: Told, made: Made) -> Told:
    return {"refund_id": made["refund"]["id"]}


def _bill(reader: Reader, told: Told, made: Made) -> Told:
    invoice = _invoice(reader, made["issue"]["id"])
    return {
        "invoice_id": invoice.ref,
        "status": invoice.status.value,
        "subtotal_minor": invoice.subtotal_minor,
        "tax_minor": invoice.tax_minor,
        "total_minor": invoice.total_minor,
        "credited_minor": invoice.credited_minor,
        "left_minor": invoice.left.minor,
        **({} if invoice.due_at is None else {"due_at": isoformat(invoice.due_at)}),
    }


def _void(reader: Reader, told: Told, made: Made) -> Told:
    """Credit comes back in one or two entries: what Stripe unapplied of the balance, and what credit notes took."""
    entries = reader.account.listed(path_of("customers", reader.row.ref, "balance_transactions"), MOST_ENTRIES)
    ours = made.get("credit", {}).get("id", "")
    back = [
        entry
        for entry in entries
        if entry["id"] == ours
        or (entry["type"] == "unapplied_from_invoice" and ref_of(entry.get("invoice")) == told["invoice_id"])
    ]
    reader.owners.saw("credit", [entry["id"] for entry in back])
    return {
        "credit_id": ours or (back[0]["id"] if back else ""),
        "credited_minor": sum(minor(-entry["amount"], entry["currency"]) for entry in back),
    }


def _change(reader: Reader, told: Told, made: Made) -> Told:
    """Say what Stripe billed for a change now. One that comes with the next period billed nothing."""
    if "change" not in made:
        return {}
    subscription = _subscription(reader, told["subscription_id"])
    return {
        "status": subscription.status.value,
        "period_end": isoformat(subscription.period_end),
        **_billed(reader, told),
    }


def _billed(reader: Reader, told: Told) -> Told:
    latest = reader.raw_subscription(told["subscription_id"])
    ref = "" if latest is None else ref_of(latest.get("latest_invoice"))
    none = {"invoice_id": "", "invoiced_minor": 0, "left_minor": 0, "credit_id": "", "credited_minor": 0}
    if not ref or ref == told[FORMER_INVOICE]:
        return none
    invoice = _invoice(reader, ref)
    if invoice.total_minor >= 0:
        return {**none, "invoice_id": ref, "invoiced_minor": invoice.total_minor, "left_minor": invoice.left.minor}
    entries = reader.account.listed(path_of("customers", reader.row.ref, "balance_transactions"), MOST_ENTRIES)
    given = next((each for each in entries if ref_of(each.get("invoice")) == ref and each["amount"] < 0), None)
    credit = "" if given is None else given["id"]
    reader.owners.saw("credit", [credit])
    return {**none, "credit_id": credit, "credited_minor": -invoice.total_minor}


def _resume(reader: Reader, told: Told, made: Made) -> Told:
    subscription = _subscription(reader, told["subscription_id"])
    return {"status": subscription.status.value, "period_end": isoformat(subscription.period_end)}


_READERS: Mapping[str, Callable[[Reader, Told, Made], Told]] = {
    "ApplyCredit": _credit,
    "RetryCharge": _retry,
    "RefundCharge": _refund,
    "GenerateInvoice": _bill,
    "VoidInvoice": _void,
    "ChangePlan": _change,
    "ResumeSubscription": _resume,
}


def _invoice(reader: Reader, ref: str) -> Invoice:
    found = reader.invoice(ref)
    if found is None:
        raise ToolFailure(FailureKind.UNAVAILABLE, f"Stripe does not show invoice {ref} any more.")
    return found


def _subscription(reader: Reader, ref: str) -> Subscription:
    found = reader.subscription(ref)
    if found is None:
        raise ToolFailure(FailureKind.UNAVAILABLE, f"Stripe does not show subscription {ref} any more.")
    return found
