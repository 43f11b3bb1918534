"""Disputes: what a bank takes back of a charge, gives back, or keeps. Pure.

A processor tells of a dispute as it stands, at least once and in any order. So each message is the whole dispute, and
what it comes to follows from the message and the record alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentops.kernel.money import Money
from billing_agent.connectors.checks import require_amount
from billing_agent.connectors.effect import Posted, conflict, invalid
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.connectors.records import OPEN_DISPUTES, Charge, ChargeStatus, Dispute, DisputeStatus

MOST_REASON = 60
MOST_REF = 64


@dataclass(frozen=True)
class Told:
    """A dispute as somebody outside tells of it at ``told_at``.

    ``ref`` is its id there, ``charge_ref`` the charge's id here, ``amount`` what the bank took back. ``respond_by`` is
    the last moment for an answer, None when none is expected. Moments are aware.
    """

    ref: str
    charge_ref: str
    amount: Money
    reason: str
    status: DisputeStatus
    opened_at: datetime
    told_at: datetime
    respond_by: datetime | None = None


@dataclass(frozen=True)
class Step:
    """What a message comes to: ``fields`` to set on the dispute, whether that is a new one, and entries of the books.

    Nothing to set: it told nothing new.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    is_new: bool = False
    entries: tuple[Posted, ...] = ()


def plan_told(charge: Charge, known: Dispute | None, told: Told) -> Step:
    """Return what ``told`` comes to. ``known`` is the dispute of that id, None when it is the first one hears of it.

    A dispute that is first told of when it is decided is opened and decided at once. What is decided stays: an older
    message tells nothing. Raises ToolFailure VALIDATION for a text or amount that cannot be kept, CONFLICT for a charge
    that took nothing, more than is left of it, another charge or amount than before, and another outcome than before.
    """
    _require_readable(charge, told)
    if known is None:
        _require_room(charge, told)
        return Step(_fields(told), is_new=True, entries=_opened(told) + _decided(told))
    if (known.charge_ref, known.amount) != (told.charge_ref, told.amount):
        raise conflict(f"Dispute {told.ref} was about {known.amount} of charge {known.charge_ref} until now.")
    if known.status not in OPEN_DISPUTES:
        if told.status not in OPEN_DISPUTES and told.status is not known.status:
            raise conflict(f"Dispute {told.ref} is {known.status} already, so it cannot be {told.status}.")
        return Step()
    if told.status in OPEN_DISPUTES and known.told_at is not None and told.told_at <= known.told_at:
        return Step()
    return Step(_fields(told), entries=_decided(told))


def _require_readable(charge: Charge, told: Told) -> None:
    for value, most, name in ((told.ref, MOST_REF, "id"), (told.reason, MOST_REASON, "reason")):
        if not value.strip() or len(value) > most or not value.isprintable():
            raise invalid(f"The {name} of a dispute is one line of 1 to {most} characters.")
    for moment in (told.opened_at, told.told_at, told.respond_by):
        if moment is not None and moment.tzinfo is None:
            raise invalid("A moment of a dispute names its time zone.")
    require_amount(told.amount, charge.amount.currency, f"Charge {charge.ref}")


def _require_room(charge: Charge, told: Told) -> None:
    if charge.status is not ChargeStatus.SUCCEEDED:
        raise conflict(f"Charge {charge.ref} took nothing, so there is nothing to dispute.")
    if told.amount.minor > charge.kept.minor:
        raise conflict(f"Of charge {charge.ref} only {charge.kept} are left, less than the {told.amount} in dispute.")


def _fields(told: Told) -> dict[str, Any]:
    return {
        "reason": told.reason,
        "status": told.status.value,
        "opened_at": told.opened_at,
        "told_at": told.told_at,
        "respond_by": told.respond_by,
        "closed_at": None if told.status in OPEN_DISPUTES else told.told_at,
    }


def _opened(told: Told) -> tuple[Posted, ...]:
    lines = {Account.DISPUTED: told.amount.minor, Account.CASH: -told.amount.minor}
    return posted(EntryKind.DISPUTE, told.amount.currency, told.ref, lines, memo=_memo(told))


def _decided(told: Told) -> tuple[Posted, ...]:
    """Return the entry of a dispute that is decided; none while it is open."""
    if told.status in OPEN_DISPUTES:
        return ()
    won = told.status is DisputeStatus.WON
    lines = {Account.CASH if won else Account.WRITTEN_OFF: told.amount.minor, Account.DISPUTED: -told.amount.minor}
    kind = EntryKind.DISPUTE_WON if won else EntryKind.DISPUTE_LOST
    return posted(kind, told.amount.currency, told.ref, lines, memo=_memo(told))


def _memo(told: Told) -> str:
    return f"Of charge {told.charge_ref}: {told.reason}"
