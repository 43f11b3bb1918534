"""The embedded billing system's own log: its operations, with the charges, refunds, credits and invoices they made."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from agentops.kernel.money import Money
from billing_agent import models
from billing_agent.connectors.claims import ONCE
from billing_agent.connectors.effects import Move, TookEffect
from billing_agent.connectors.origins import origin_of

AT_ONCE = 2_000
"""Keys that one query asks about."""

_VOIDS = "VoidInvoice"
_ACTIONS = {_VOIDS: "void", "WriteOffInvoice": "write_off"}
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
        for some in parts(set(keys) - set(found)):
            found |= {row.key: row for row in rows.filter(key__in=some)}
        moves, declined = _moves(tenant_id, found)
        return [
            TookEffect(
                key=key,
                at=row.at,
                action=row.action,
                moves=tuple(moves.get(key, ())),
                declined=key in declined,
                for_call=not origin_of(key),
            )
            for key, row in sorted(found.items())
        ]


def parts(keys: Iterable[str]) -> Iterator[list[str]]:
    """Return keys in parts of what one query asks about."""
    ordered = sorted(keys)
    for first in range(0, len(ordered), AT_ONCE):
        yield ordered[first : first + AT_ONCE]


def _moves(tenant_id: UUID, found: Mapping[str, models.Operation]) -> tuple[dict[str, list[Move]], set[str]]:
    """Return what each operation moved, from the records that it made, and the keys of declined charges."""
    moves: dict[str, list[Move]] = {}
    declined: set[str] = set()
    for some in parts(found):
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
    """Add what was billed, taken back and given up, from the invoices as they are, which results name."""
    named = [(row, row.result.get("invoice_id", ""), kind) for row in rows if (kind := _kind_of(row))]
    found = models.Invoice.objects.filter(tenant_id=tenant_id, ref__in={ref for _, ref, _ in named} - {""})
    invoices = {invoice.ref: invoice for invoice in found}
    for row, ref, kind in named:
        if ref in invoices:
            invoice = invoices[ref]
            settled = invoice.paid_minor + invoice.credited_minor if kind == "write_off" else 0
            _add(moves, row.key, kind, invoice.total_minor - settled, invoice.currency)


def _kind_of(row: models.Operation) -> str:
    """Return what an operation did with the invoice that its result names, empty when it only charged it."""
    return _ACTIONS.get(row.action) or ("invoice" if _BILLED & set(row.result) else "")


def _add(moves: dict[str, list[Move]], key: str, kind: str, minor: int, currency: str) -> None:
    if minor:
        moves.setdefault(key, []).append(Move(kind, Money(minor, currency)))
