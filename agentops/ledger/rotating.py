"""Changing the master key: data keys are wrapped anew, payloads stay as they are."""

import os
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count

from agentops.ledger.keys import master_of, masters
from agentops.ledger.sealing import NONCE_BYTES, KeyName, unwrap, wrap
from agentops.ledger.vault_models import LedgerKey

_BATCH = 500


@dataclass(frozen=True)
class Wrapped:
    """How many keys one master key wraps. ``known``: this installation has it. ``wraps``: new keys go under it."""

    master: str
    keys: int
    known: bool
    wraps: bool


def rotate() -> int:
    """Wrap every key that another master key wraps with the first one, and return how many.

    Safe beside workers and beside another run; begun again, it goes on where it stopped. Raises VaultClosed, BadSeal.
    """
    first = next(iter(masters()))
    done = 0
    while True:
        with transaction.atomic():
            old = LedgerKey.objects.select_for_update(skip_locked=True).filter(destroyed_at=None)
            rows = list(old.exclude(wrapped_by=first).order_by("pk")[:_BATCH])
            for row in rows:
                _wrap_anew(row, first)
        done += len(rows)
        if not rows:
            return done


def _wrap_anew(row: LedgerKey, first: str) -> None:
    name = KeyName(row.pk, row.tenant_id, row.subject, row.retention, row.period)
    secret = unwrap(master_of(row.wrapped_by), name, row.wrapped or b"")
    row.wrapped, row.wrapped_by = wrap(master_of(first), name, secret, nonce=os.urandom(NONCE_BYTES)), first
    row.save(update_fields=["wrapped", "wrapped_by"])


def standing() -> list[Wrapped]:
    """Return how many keys each master key wraps, those without any among them."""
    known = masters()
    rows = LedgerKey.objects.filter(destroyed_at=None).values_list("wrapped_by").annotate(count=Count("pk"))
    counts = dict(rows.order_by("wrapped_by"))
    first = next(iter(known))
    return [
        Wrapped(master, counts.get(master, 0), known=master in known, wraps=master == first)
        for master in dict.fromkeys([*known, *counts])
    ]
