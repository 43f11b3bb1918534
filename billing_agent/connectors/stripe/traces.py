"""What objects at Stripe say that a call did: each has the call's key in its metadata. Pure."""

from collections.abc import Iterable
from datetime import datetime

from agentops.kernel.money import Money
from billing_agent.connectors.effects import Move, TookEffect
from billing_agent.connectors.stripe.amounts import from_stripe
from billing_agent.connectors.stripe.objects import KEY, Obj, known_moment, metadata_of

VOIDS = "VoidInvoice"
WRITES_OFF = "WriteOffInvoice"
_BY_CHANGE = "subscription_update"
_WENT_BACK = frozenset({"failed", "canceled"})


def key_of(obj: Obj) -> str:
    """Return the key of the call that made an object, empty when none did.

    An invoice that Stripe made of a change of plans has it in the metadata that the subscription had then. Later
    invoices of the subscription have the same ones, and no call made them.
    """
    own = metadata_of(obj).get(KEY, "")
    if own or not by_change(obj):
        return own
    details = (obj.get("parent") or {}).get("subscription_details") or {}
    return metadata_of(details).get(KEY, "")


def by_change(obj: Obj) -> bool:
    """Return whether an object is an invoice that Stripe made because a subscription was changed."""
    return obj.get("object") == "invoice" and obj.get("billing_reason") == _BY_CHANGE


def is_draft(obj: Obj) -> bool:
    """Return whether an object is an invoice that was only prepared."""
    return obj.get("object") == "invoice" and obj.get("status") == "draft"


def traced(key: str, action: str, objects: Iterable[Obj], at: datetime | None = None) -> TookEffect | None:
    """Return what the objects with a key say of its call, None when they show nothing that took effect.

    ``action`` is what the house noted that it began, empty when it noted nothing; ``at`` is when.
    """
    found = sorted((obj for obj in objects if not is_draft(obj)), key=lambda obj: obj["created"])
    # Stripe may try an invoice again by itself, with the metadata that the call left there: the oldest charge is ours.
    charges = [obj for obj in found if obj["object"] == "charge"]
    found = [obj for obj in found if obj["object"] != "charge" or obj is charges[0]]
    if not found:
        return None
    return TookEffect(
        key=key,
        at=at or known_moment(found[0]["created"]),
        action=action or found[0]["object"].replace("_", " "),
        moves=_summed(move for obj in found if (move := _move(obj, action)) is not None),
        declined=bool(charges) and charges[0]["status"] == "failed",
        in_books=False,
    )


def _move(obj: Obj, action: str) -> Move | None:
    """Return what an object moved, None for nothing."""
    kind, amount = _MOVES.get(obj["object"], _nothing)(obj, action)
    return Move(kind, from_stripe(amount, obj["currency"])) if amount > 0 else None


def _nothing(obj: Obj, action: str) -> tuple[str, int]:
    return "", 0


def _charge(obj: Obj, action: str) -> tuple[str, int]:
    return "charge", 0 if obj["status"] == "failed" else obj["amount"]


def _refund(obj: Obj, action: str) -> tuple[str, int]:
    return "refund", 0 if obj["status"] in _WENT_BACK else obj["amount"]


def _note(obj: Obj, action: str) -> tuple[str, int]:
    return "credit", 0 if obj["status"] == "void" else obj["amount"]


def _entry(obj: Obj, action: str) -> tuple[str, int]:
    """Credit is below zero. What a void invoice gives back is part of the void."""
    return "credit", 0 if action == VOIDS else -obj["amount"]


def _invoice(obj: Obj, action: str) -> tuple[str, int]:
    """An invoice of a change that comes to less than nothing is credit."""
    if action == VOIDS:
        return "void", obj["total"]
    if action == WRITES_OFF:
        # It can still be paid; then nothing remains, and what was due is what had been given up.
        return "write_off", obj["amount_remaining"] or obj["amount_due"]
    return ("invoice", obj["total"]) if obj["total"] > 0 else ("credit", -obj["total"])


_MOVES = {
    "charge": _charge,
    "refund": _refund,
    "credit_note": _note,
    "customer_balance_transaction": _entry,
    "invoice": _invoice,
}


def _summed(moves: Iterable[Move]) -> tuple[Move, ...]:
    """Return one move for each kind and currency: a credit may be a note and an entry of the balance."""
    sums: dict[tuple[str, str], int] = {}
    for move in moves:
        where = (move.kind, move.amount.currency)
        sums[where] = sums.get(where, 0) + move.amount.minor
    return tuple(Move(kind, Money(minor, currency)) for (kind, currency), minor in sums.items())


def by_key(objects: Iterable[Obj]) -> dict[str, list[Obj]]:
    """Return the objects that calls made, by the key of the call."""
    found: dict[str, list[Obj]] = {}
    for obj in objects:
        if key := key_of(obj):
            found.setdefault(key, []).append(obj)
    return found
