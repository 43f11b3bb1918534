"""The embedded billing system's own log: its operations, with the charges, refunds, credits and invoices they made."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from agentops.kernel.money import Money
from billing_agent import models
from billing_agent.connectors.claims import ONCE
from billing_agent.connectors.effects import Move, TookEffect
from billing_agent.connectors.renewing import BY_SCHEDULE

AT_ONCE = 2_000
"""Keys that one query asks about."""

_VOIDS = "VoidInvoice"
_BILLED = frozenset({"subtotal_minor", "invoiced_minor"})
"""What the recorded result of an operation has that made the invoice it names."""


class EmbeddedLog:
    """Implements ``EffectLog``. Holds no state."""

    @ONCE.answering()
    def took_effect(
        self, tenant_id: UUID, since: datetime, until: datetime, keys: Collection[str]
    ) -> Sequence[TookEffect]:
        """Return what took effect in the period, and under ``keys`` at any time. Raises ToolFailure."""
        rows = models.Operation.objects.filter(tenant_id=tenant_id)
        found = {row.key: row for row in rows.filter(at__gte=since, at__lt=until)}
        for some in _parts(set(keys) - set(found)):
            found |= {row.key: row for row in rows.filter(key__in=some)}
        moves, declined = _moves(tenant_id, found)
        return [
            TookEffect(
                key=key,
                at=row.at,
                action=row.action,
                moves=tuple(moves.get(key, ())),
                declined=key in declined,
                by_schedule=key.startswith(BY_SCHEDULE),
            )
            for key, row in sorted(found.items())
        ]


def _parts(keys: Iterable[str]) -> Iterator[list[str]]:
    ordered = sorted(keys)
    for first in range(0, len(ordered), AT_ONCE):
        yield ordered[first : first + AT_ONCE]


def _moves(tenant_id: UUID, found: Mapping[str, models.Operation]) -> tuple[dict[str, list[Move]], set[str]]:
    """Return what each operation moved, from the records that it made, and the keys of declined charges."""
    moves: dict[str, list[Move]] = {}
    declined: set[str] = set()
    for some in _parts(found):
        made = Q(tenant_id=tenant_id, operation_key__in=some)
        for charge in models.Charge.objects.filter(made):
            if charge.status == models.Charge.Status.SUCCEEDED:
                _add(moves, charge.operation_key, "charge", charge.amount_minor, charge.currency)
            else:
                declined.add(charge.operation_key)
        for refund in models.Refund.objects.filter(made):
            _add(moves, refund.operation_key, "refund", refund.amount_minor, refund.currency)
        for credit in models.Credit.objects.filter(made):
            # Credit that a void invoice gives back is part of the void.
            if found[credit.operation_key].action != _VOIDS:
                _add(moves, credit.operation_key, "credit", credit.amount_minor, credit.currency)
        _add_invoices(tenant_id, [found[key] for key in some], moves)
    return moves, declined


def _add_invoices(tenant_id: UUID, rows: Sequence[models.Operation], moves: dict[str, list[Move]]) -> None:
    """Add what was billed and taken back, from the invoices as they are, which results name."""
    named = [(row, row.result.get("invoice_id", "")) for row in rows if _is_about_bill(row)]
    found = models.Invoice.objects.filter(tenant_id=tenant_id, ref__in={ref for _, ref in named} - {""})
    invoices = {invoice.ref: invoice for invoice in found}
    for row, ref in named:
        if ref in invoices:
            kind = "void" if row.action == _VOIDS else "invoice"
            _add(moves, row.key, kind, invoices[ref].total_minor, invoices[ref].currency)


def _is_about_bill(row: models.Operation) -> bool:
    return row.action == _VOIDS or bool(_BILLED & set(row.result))


def _add(moves: dict[str, list[Move]], key: str, kind: str, minor: int, currency: str) -> None:
    if minor:
        moves.setdefault(key, []).append(Move(kind, Money(minor, currency)))
