"""What a system of record says took effect, to be compared with the ledger and the books. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from agentops.kernel.money import Money


@dataclass(frozen=True)
class Move:
    """An amount that an effect moved. ``kind`` is the entry of the books that says the same, ``amount`` is positive."""

    kind: str
    amount: Money


@dataclass(frozen=True)
class TookEffect:
    """What happened under one idempotency key.

    ``moves`` are charges, refunds, credits, and invoices that were issued, taken back or written off.
    ``declined``: it was carried out, and the issuer refused. ``for_call``: a call asked for it, not the schedule.
    ``in_books``: its moves belong into the books of this house; a vendor that keeps the books itself says no.
    """

    key: str
    at: datetime
    action: str
    moves: tuple[Move, ...] = ()
    declined: bool = False
    for_call: bool = True
    in_books: bool = True


class EffectLog(Protocol):
    """The log of a system of record.

    A vendor that keeps the idempotency key with each object (as metadata, say) can be asked by listing what was made in
    the period, and by searching for the keys that the list does not hold.
    """

    def took_effect(
        self, tenant_id: UUID, since: datetime, until: datetime, keys: Collection[str]
    ) -> Sequence[TookEffect]:
        """Return what took effect from ``since`` up to, not including, ``until``, and what did under ``keys`` ever.

        Each key once. Raises ToolFailure when the system does not answer: an answer in part would read as effects that
        are missing.
        """
