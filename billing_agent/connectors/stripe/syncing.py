"""Brings the house's rows of customers up to date with Stripe, and tells of disputes about what our calls charged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import F

from agentops.registry.secret import Secret
from billing_agent.connectors.stripe.customers import currency_of
from billing_agent.connectors.stripe.disputes import changed_by, charged_by, keep, not_kept
from billing_agent.connectors.stripe.door import Account, opened
from billing_agent.connectors.stripe.objects import Obj, known_moment, path_of, ref_of, seconds_of
from billing_agent.models import Customer

DISPUTES_SINCE = timedelta(days=120)
_PREFIX = "cus_"
_CHUNK = 500


@dataclass(frozen=True)
class Bounds:
    """How much a run looks at, the newest first, and how much it changes; the next run goes on with the rest."""

    customers: int = 200_000
    disputes: int = 5_000
    changes: int | None = None


WHOLE = Bounds()
OFTEN = Bounds(customers=5_000, disputes=100)
"""What a run by the calendar looks at, in far less time than its lease."""


@dataclass
class Synced:
    """What a run came to: rows of customers, and disputes. ``left_out`` were never billed, so they have no currency.

    ``words`` has a sentence for each thing that was done.
    """

    made: int = 0
    changed: int = 0
    deleted: int = 0
    left_out: int = 0
    disputes: int = 0
    words: list[str] = field(default_factory=list)

    def left(self, bounds: Bounds) -> int | None:
        """Return how much more may be changed, None for anything."""
        return None if bounds.changes is None else max(bounds.changes - len(self.words), 0)


def sync(tenant_id: UUID, secret: Secret, now: datetime, bounds: Bounds = WHOLE) -> Synced:
    """Bring the tenant's customers and disputes up to date; repeating it changes nothing. Raises ToolFailure.

    Each row is committed by itself, so that a run that stops has done what it did. Nobody is taken to be deleted when
    Stripe has more customers than the run looks at.
    """
    account, done = opened(secret), Synced()
    listed = account.listed(path_of("customers"), bounds.customers)
    for chunk in _chunks(listed):
        _keep(tenant_id, chunk, done, bounds)
    if len(listed) < bounds.customers:
        _delete(tenant_id, [each["id"] for each in listed], now, done, bounds)
    _tell_disputes(tenant_id, account, now, done, bounds)
    return done


def _chunks(listed: Sequence[Obj]) -> Iterator[list[Obj]]:
    left = iter(listed)
    while chunk := list(islice(left, _CHUNK)):
        yield chunk


def _delete(tenant_id: UUID, there: Sequence[str], now: datetime, done: Synced, bounds: Bounds) -> None:
    present = Customer.objects.filter(tenant_id=tenant_id, ref__startswith=_PREFIX, deleted_at=None)
    gone = list(present.exclude(ref__in=there).order_by("id").values_list("id", "ref")[: done.left(bounds)])
    for pk, ref in gone:
        if present.filter(pk=pk).update(deleted_at=now, version=F("version") + 1):
            done.deleted += 1
            done.words.append(f"{ref} was deleted at Stripe.")


def _keep(tenant_id: UUID, listed: Sequence[Obj], done: Synced, bounds: Bounds) -> None:
    rows = {
        row.ref: row for row in Customer.objects.filter(tenant_id=tenant_id, ref__in=[each["id"] for each in listed])
    }
    for each in listed:
        if done.left(bounds) == 0:
            return
        fields, row = _fields(each), rows.get(each["id"])
        if not fields["currency"]:
            done.left_out += 1
        elif row is None:
            new = {**fields, "created_at": known_moment(each["created"])}
            # A webhook may have told of them meanwhile.
            _, is_new = Customer.objects.get_or_create(tenant_id=tenant_id, ref=each["id"], defaults=new)
            if is_new:
                done.made += 1
                done.words.append(f"{each['id']} is a customer.")
        elif any(getattr(row, name) != value for name, value in fields.items()):
            Customer.objects.filter(pk=row.pk).update(**fields, version=F("version") + 1)
            done.changed += 1
            done.words.append(f"{each['id']} was changed at Stripe.")


def _fields(obj: Obj) -> Mapping[str, Any]:
    return {
        "name": (obj.get("name") or obj.get("email") or obj["id"])[:200],
        "email": (obj.get("email") or "")[:254],
        "currency": currency_of(obj),
        "country": ((obj.get("address") or {}).get("country") or "")[:2],
        "tax_exempt": obj.get("tax_exempt") in ("exempt", "reverse"),
        "deleted_at": None,
    }


def _tell_disputes(tenant_id: UUID, account: Account, now: datetime, done: Synced, bounds: Bounds) -> None:
    """Keep the disputes about charges that calls of ours made. Others concern nobody's autonomy."""
    since = {"created": {"gte": seconds_of(now - DISPUTES_SINCE)}}
    listed = account.listed(path_of("disputes"), bounds.disputes, **since)
    for each in not_kept(tenant_id, listed):
        if done.left(bounds) == 0:
            return
        key = charged_by(tenant_id, each) or _changed_by(tenant_id, account, ref_of(each.get("payment_intent")))
        if key and keep(tenant_id, each, key):
            done.disputes += 1
            done.words.append(f"Dispute {each['id']} is about a charge that a call made.")


def _changed_by(tenant_id: UUID, account: Account, intent: str) -> str:
    """Return the key of the call that changed a plan, by the invoice that the intent paid, empty for none."""
    if not intent:
        return ""
    paid = account.listed(path_of("invoice_payments"), 1, payment={"type": "payment_intent", "payment_intent": intent})
    return changed_by(tenant_id, ref_of(paid[0]["invoice"])) if paid else ""
