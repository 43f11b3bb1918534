"""Keeps the disputes that a processor, or a person who read the bank's letter, tells of, with their entries.

A dispute is known by its id at the processor. Telling of one again changes nothing, and messages may come in any order.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from agentops.registry.once import Call
from billing_agent import models
from billing_agent.connectors import reading
from billing_agent.connectors.applying import post
from billing_agent.connectors.checks import require_open_books
from billing_agent.connectors.dispute_rules import Step, Told, plan_told
from billing_agent.connectors.effect import conflict, invalid, missing
from billing_agent.connectors.origins import BY_PROCESSOR
from billing_agent.connectors.records import OPEN_DISPUTES, Dispute, DisputeStatus


@dataclass(frozen=True)
class Kept:
    """The dispute as it stands afterwards, and whether the message changed anything."""

    dispute: Dispute
    changed: bool


def open_dispute(tenant_id: UUID, told: Told, now: datetime) -> Kept:
    """Open a dispute, or take in what is new about an open one. Entries are dated ``now``.

    Raises ToolFailure NOT_FOUND for a charge that the tenant does not have, and what ``plan_told`` raises; VALIDATION
    for a status that is a decision.
    """
    if told.status not in OPEN_DISPUTES:
        raise invalid("A dispute is opened before it is decided: close it instead.")
    return _keep(tenant_id, told, now)


def close_dispute(tenant_id: UUID, told: Told, now: datetime) -> Kept:
    """Decide a dispute, ``WON`` or ``LOST``; one that nobody had told of is opened first. Entries are dated ``now``.

    Raises ToolFailure as ``open_dispute`` does; VALIDATION for a status that is no decision.
    """
    if told.status in OPEN_DISPUTES:
        raise invalid("A dispute is closed as won or lost.")
    return _keep(tenant_id, told, now)


def require_new(tenant_id: UUID, told: Told) -> None:
    """Refuse what cannot be opened, in the transaction that then opens it: the charge stays locked until it ends.

    Raises ToolFailure as ``open_dispute`` does, and CONFLICT for a dispute that is on record.
    """
    if models.Dispute.objects.filter(tenant_id=tenant_id, ref=told.ref).exists():
        raise conflict(f"Dispute {told.ref} is on record already.")
    plan_told(reading.charge_record(_locked_charge(tenant_id, told.charge_ref)), None, told)


def told_of(row: models.Dispute, status: DisputeStatus, at: datetime) -> Told:
    """Return the message that a known dispute now stands at ``status``; ``row`` comes with its charge."""
    return Told(
        ref=row.ref,
        charge_ref=row.charge.ref,
        amount=reading.dispute_record(row, row.charge.ref).amount,
        reason=row.reason,
        status=status,
        opened_at=row.opened_at,
        told_at=at,
        respond_by=row.respond_by,
    )


def _keep(tenant_id: UUID, told: Told, now: datetime) -> Kept:
    with transaction.atomic():
        charge = _locked_charge(tenant_id, told.charge_ref)
        row = models.Dispute.objects.filter(tenant_id=tenant_id, ref=told.ref).select_related("charge").first()
        known = None if row is None else reading.dispute_record(row, row.charge.ref)
        step = plan_told(reading.charge_record(charge), known, told)
        if step.entries:
            require_open_books(reading.closed_through(tenant_id), now.date())
        if step.fields:
            row = _write(tenant_id, charge, row, told, step)
            post(Call(tenant_id, f"{BY_PROCESSOR}{told.ref}", now), charge.customer.ref, step.entries)
        if row is None:
            raise ValueError("a dispute that is not known is new")
        return Kept(reading.dispute_record(row, charge.ref), changed=bool(step.fields))


def _locked_charge(tenant_id: UUID, ref: str) -> models.Charge:
    """Return the charge with its customer, both locked, in the order of every write. Raises NOT_FOUND."""
    owners = models.Charge.objects.filter(tenant_id=tenant_id, ref=ref)
    customer = reading.customer_row(tenant_id, owners.values_list("customer__ref", flat=True).first(), lock=True)
    charge = None if customer is None else reading.charge_row(customer, ref, lock=True)
    if charge is None:
        raise missing("charge")
    return charge


def _write(
    tenant_id: UUID, charge: models.Charge, row: models.Dispute | None, told: Told, step: Step
) -> models.Dispute:
    """Write the dispute, and move the charge's version, since what can be refunded of it has changed."""
    if row is None:
        row = models.Dispute(
            tenant_id=tenant_id,
            charge=charge,
            ref=told.ref,
            amount_minor=told.amount.minor,
            currency=told.amount.currency,
        )
    else:
        row.version += 1
    for name, value in step.fields.items():
        setattr(row, name, value)
    row.save()
    models.Charge.objects.filter(pk=charge.pk).update(version=F("version") + 1)
    return row
