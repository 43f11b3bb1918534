"""Whose a record at Stripe is, from what the house keeps.

It is asked where no key is at hand. Whose an id is never changes at Stripe, so that what was told once stays true;
every call asks Stripe again all the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from billing_agent.models import StripeRecord

KINDS = frozenset({"invoice", "charge", "subscription", "credit", "method"})


@dataclass(frozen=True)
class Owners:
    """Remembers which records are one customer's."""

    tenant_id: UUID
    customer_ref: str

    def saw(self, kind: str, refs: Iterable[str]) -> None:
        """Keep that the records of these ids, empty ones left out, are the customer's."""
        rows = [
            StripeRecord(tenant_id=self.tenant_id, kind=kind, ref=ref, customer_ref=self.customer_ref)
            for ref in sorted(set(refs))
            if ref
        ]
        if rows:
            StripeRecord.objects.bulk_create(rows, ignore_conflicts=True)


def owner_of(tenant_id: UUID, kind: str, record_id: str) -> str | None:
    """Return the customer of a record that was looked up, None for any other."""
    found = StripeRecord.objects.filter(tenant_id=tenant_id, kind=kind, ref=record_id)
    return found.values_list("customer_ref", flat=True).first()
