"""The data keys that payloads are sealed with: made when first needed, kept for a while, never after their end.

A key is looked up no earlier than the position of the stream that it is used at. Where the caller knows the epoch under
which that position was read (a worker between two steps), a key that was looked up under the same epoch still stands:
whoever destroys keys raises the epoch in the same transaction and moves every open stream of the subject on, so that a
worker of before finds its position gone. Everybody else looks the key up, by one indexed query.

Whoever begins a stream, or appends to one that erasing does not move on, holds a shared lock of the subject until the
end of the transaction: erasing waits for it, and finds what it wrote.
"""

import os
import time
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import connection, transaction

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import new_id
from agentops.ledger.sealing import (
    KEY_BYTES,
    NONCE_BYTES,
    BadMasterKey,
    DataKey,
    KeyName,
    MasterKey,
    master_keys,
    unwrap,
    wrap,
)
from agentops.ledger.sql import fetch_all, fetch_one
from agentops.registry.subjects import LONGEST_SUBJECT

KEPT_SECONDS = 60.0
MOST_KEPT = 4_096


class VaultClosed(AgentOpsError):
    """A master key is missing, so that nothing can be sealed or opened."""

    code = "VAULT_CLOSED"
    next_step = "Set VAULT_KEY or VAULT_KEY_FILE to all master keys in use: docs/retention.md."


@dataclass(frozen=True)
class Purpose:
    """What a key is to seal: a tenant's payloads about one subject, of one retention class, in one quarter."""

    tenant_id: UUID
    subject: str
    retention: str
    period: str


@dataclass(frozen=True)
class _Kept:
    key: DataKey
    epoch: int
    until: float  # of the monotonic clock


def masters() -> dict[str, MasterKey]:
    """Return the master keys by id, the one that wraps first. Raises VaultClosed."""
    return _masters(settings.VAULT_KEY)


def master_of(master_id: str) -> MasterKey:
    """Return the master key of that id. Raises VaultClosed when this installation does not have it."""
    master = masters().get(master_id)
    if master is None:
        raise VaultClosed(f"The master key {master_id} is missing.")
    return master


@lru_cache(maxsize=4)
def _masters(text: str) -> dict[str, MasterKey]:
    try:
        found = {key.id: key for key in master_keys(text)}
    except BadMasterKey as error:
        raise VaultClosed(error.message) from None
    if not found:
        raise VaultClosed("There is no master key.")
    return found


def period_of(at: datetime) -> str:
    """Return the quarter, in UTC, such as ``2026Q4``."""
    return f"{at.year}Q{(at.month + 2) // 3}"


_FIND = """
SELECT id, wrapped, wrapped_by FROM ledger_key
WHERE tenant_id = %(tenant)s AND subject = %(subject)s AND class = %(retention)s AND period = %(period)s
  AND destroyed_at IS NULL
ORDER BY created_at, id LIMIT 1"""

_MAKE = """
INSERT INTO ledger_key (id, tenant_id, subject, class, period, wrapped, wrapped_by, created_at, destroyed_by)
VALUES (%(id)s, %(tenant)s, %(subject)s, %(retention)s, %(period)s, %(wrapped)s, %(wrapped_by)s, %(at)s, '')
RETURNING id"""

_LOCK = "hashtextextended(concat_ws('/', 'subject', %(tenant)s::text, %(subject)s::text), 0)"
_SHARE = f"SELECT pg_advisory_xact_lock_shared({_LOCK})::text"
_EXCLUDE = f"SELECT pg_advisory_xact_lock({_LOCK})::text"


class KeyRing:
    """The keys that this process seals with. Not for opening: that asks whether the key is still there."""

    def __init__(self) -> None:
        self._kept: dict[Purpose, _Kept] = {}
        # Keys of transactions that are not committed yet: nobody else may rely on them.
        self._unsure: set[UUID] = set()

    def key_for(self, purpose: Purpose, *, epoch: int | None) -> DataKey:
        """Return the key to seal with, made when there is none. Raises VaultClosed.

        ``epoch``: that under which the caller read the position that it appends at; None looks the key up.
        """
        kept = self._kept.get(purpose)
        if kept is not None and kept.epoch == epoch and time.monotonic() < kept.until:
            return kept.key
        key = self._find(purpose) or self._make(purpose)
        if epoch is not None and key.id not in self._unsure:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[purpose] = _Kept(key, epoch, time.monotonic() + KEPT_SECONDS)
        return key

    def clear(self) -> None:
        """Forget every key."""
        self._kept.clear()
        self._unsure.clear()

    def _find(self, purpose: Purpose) -> DataKey | None:
        row = fetch_one(_FIND, _params(purpose))
        return None if row is None else data_key(_name(row[0], purpose), row[1], row[2])

    def _make(self, purpose: Purpose) -> DataKey:
        if len(purpose.subject) > LONGEST_SUBJECT:
            raise ValueError("the name of a data subject is too long")
        master = next(iter(masters().values()))
        name, secret = _name(new_id(), purpose), os.urandom(KEY_BYTES)
        wrapped = wrap(master, name, secret, nonce=os.urandom(NONCE_BYTES))
        if connection.in_atomic_block:
            self._unsure.add(name.id)
            transaction.on_commit(lambda: self._unsure.discard(name.id))
        fetch_one(
            _MAKE,
            {**_params(purpose), "id": name.id, "wrapped": wrapped, "wrapped_by": master.id, "at": utcnow()},
        )
        return DataKey(name.id, AESGCM(secret))


ring = KeyRing()


def _params(purpose: Purpose) -> dict[str, object]:
    return {
        "tenant": purpose.tenant_id,
        "subject": purpose.subject,
        "retention": purpose.retention,
        "period": purpose.period,
    }


def _name(key_id: UUID, purpose: Purpose) -> KeyName:
    return KeyName(key_id, purpose.tenant_id, purpose.subject, purpose.retention, purpose.period)


def data_key(name: KeyName, wrapped: bytes, wrapped_by: str) -> DataKey:
    """Return a data key from what its row holds. Raises VaultClosed without its master key, and BadSeal."""
    return DataKey(name.id, AESGCM(unwrap(master_of(wrapped_by), name, wrapped)))


def share_subject(tenant_id: UUID, subject: str) -> None:
    """Let nobody erase the subject until the end of the transaction, and wait for whoever is doing so."""
    fetch_one(_SHARE, {"tenant": tenant_id, "subject": subject})


def lock_subject(tenant_id: UUID, subject: str) -> None:
    """Let nobody begin anything about the subject until the end of the transaction, and wait for whoever does."""
    fetch_one(_EXCLUDE, {"tenant": tenant_id, "subject": subject})


_ROWS = """
SELECT id, tenant_id, subject, class, period, wrapped, wrapped_by, destroyed_at FROM ledger_key
WHERE id = ANY(%(ids)s::uuid[])"""


def keys_by_id(ids: set[UUID]) -> dict[UUID, DataKey | datetime]:
    """Return the keys that open bodies, or when they were destroyed; always as the database has it now.

    Raises VaultClosed and BadSeal.
    """
    found: dict[UUID, DataKey | datetime] = {}
    for key_id, tenant, subject, retention, period, wrapped, wrapped_by, destroyed_at in fetch_all(
        _ROWS, {"ids": list(ids)}
    ):
        name = KeyName(key_id, tenant, subject, retention, period)
        found[key_id] = destroyed_at if wrapped is None else data_key(name, wrapped, wrapped_by)
    return found
