"""Brings the house's rows of customers up to date with Stripe, and tells of disputes about what our calls charged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import F

from agentops.registry.secret import Secret
from billing_agent.connectors.stripe.customers import currency_of
from billing_agent.connectors.stripe.door import Account, opened
from billing_agent.connectors.stripe.objects import Obj, known_moment, path_of, ref_of, seconds_of
from billing_agent.models import Customer, Operation, StripeDispute

MOST_CUSTOMERS = 200_000
MOST_DISPUTES = 5_000
DISPUTES_SINCE = timedelta(days=120)
_PREFIX = "cus_"
_CHUNK = 500


@dataclass
class Synced:
    """What a run came to: rows of customers, and disputes. ``left_out`` were never billed, so they have no currency."""

    made: int = 0
    changed: int = 0
    deleted: int = 0
    left_out: int = 0
    disputes: int = 0


def sync(tenant_id: UUID, secret: Secret, now: datetime) -> Synced:
    """Bring the tenant's customers and disputes up to date; repeating it changes nothing. Raises ToolFailure.

    Each row is committed by itself, so that a run that stops has done what it did.
    """
    account, done = opened(secret), Synced()
    listed = account.listed(path_of("customers"), MOST_CUSTOMERS)
    for chunk in _chunks(listed):
        _keep(tenant_id, chunk, done)
    if len(listed) < MOST_CUSTOMERS:
        gone = Customer.objects.filter(tenant_id=tenant_id, ref__startswith=_PREFIX, deleted_at=None)
        gone = gone.exclude(ref__in=[each["id"] for each in listed])
        done.deleted = gone.update(deleted_at=now, version=F("version") + 1)
    _tell_disputes(tenant_id, account, now, done)
    return done


def _chunks(listed: Sequence[Obj]) -> Iterator[list[Obj]]:
    left = iter(listed)
    while chunk := list(islice(left, _CHUNK)):
        yield chunk


def _keep(tenant_id: UUID, listed: Sequence[Obj], done: Synced) -> None:
    rows = {
        row.ref: row for row in Customer.objects.filter(tenant_id=tenant_id, ref__in=[each["id"] for each in listed])
    }
    for each in listed:
        fields, row = _fields(each), rows.get(each["id"])
        if not fields["currency"]:
            done.left_out += 1
        elif row is None:
            Customer.objects.create(
                tenant_id=tenant_id, ref=each["id"], created_at=known_moment(each["created"]), **fields
            )
            done.made += 1
        elif any(getattr(row, name) != value for name, value in fields.items()):
            Customer.objects.filter(pk=row.pk).update(**fields, version=F("version") + 1)
            done.changed += 1


def _fields(obj: Obj) -> Mapping[str, Any]:
    return {
        "name": (obj.get("name") or obj.get("email") or obj["id"])[:200],
        "email": (obj.get("email") or "")[:254],
        "currency": currency_of(obj),
        "country": ((obj.get("address") or {}).get("country") or "")[:2],
        "tax_exempt": obj.get("tax_exempt") in ("exempt", "reverse"),
        "deleted_at": None,
    }


def _tell_disputes(tenant_id: UUID, account: Account, now: datetime, done: Synced) -> None:
    """Keep the disputes about charges that calls of ours made. Others concern nobody's autonomy."""
    since = {"created": {"gte": seconds_of(now - DISPUTES_SINCE)}}
    for each in account.listed(path_of("disputes"), MOST_DISPUTES, **since):
        charge = ref_of(each["charge"])
        key = _charged_by(tenant_id, account, charge, ref_of(each.get("payment_intent")))
        if not key:
            continue
        told = {
            "charge_ref": charge,
            "operation_key": key,
            "reason": each["reason"][:60],
            "opened_at": known_moment(each["created"]),
        }
        _, made = StripeDispute.objects.get_or_create(tenant_id=tenant_id, ref=each["id"], defaults=told)
        done.disputes += made


def _charged_by(tenant_id: UUID, account: Account, charge: str, intent: str) -> str:
    """Return the key of the call that made a charge: by the charge, or by the invoice of a change of plans."""
    operations = Operation.objects.filter(tenant_id=tenant_id).values_list("key", flat=True)
    found = operations.filter(action="RetryCharge", result__charge_id=charge).first()
    if found or not intent:
        return found or ""
    paid = account.listed(path_of("invoice_payments"), 1, payment={"type": "payment_intent", "payment_intent": intent})
    invoice = ref_of(paid[0]["invoice"]) if paid else ""
    return (operations.filter(action="ChangePlan", result__invoice_id=invoice).first() or "") if invoice else ""
