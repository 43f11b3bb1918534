"""Where the role's work comes from: incidents, as subjects of sessions. Nobody outside owns one."""

import re
from collections.abc import Collection, Iterable
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from agentops.kernel.clock import utcnow
from agentops.kernel.ids import new_id, short_ref
from agentops.registry.incoming import BadIntake, checked_intake
from agentops.registry.planner import Subject
from agentops.registry.role import Intake
from sre_agent.connectors.clock import present
from sre_agent.dependencies import known_services
from sre_agent.models import LEAST_URGENT, Incident, Note, Source

KIND = "incident"
USUAL = 2
"""The priority of what nobody says anything about."""

_MOST_TEXT = 20_000
_URGENCY = (3, 3, 2, 1, 0)
"""Of a session, by the priority of its incident."""
_SERVICE = re.compile(r"^[ \t]*service[ \t]*:[ \t]*(\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_PRIORITY = re.compile(r"^[ \t]*priority[ \t]*:[ \t]*p?([0-4])[ \t]*$", re.IGNORECASE | re.MULTILINE)
_WORD = re.compile(r"[\w-]+")


def load_subject(tenant_id: UUID, subject_id: str) -> Subject | None:
    """Return the incident, None when the tenant has no such incident."""
    incident = Incident.objects.filter(tenant_id=tenant_id, ref=subject_id).first()
    return None if incident is None else _subject(incident, known_services(tenant_id))


def waiting_subjects(tenant_id: UUID, limit: int) -> list[Subject]:
    """Return the open incidents that nobody has begun, at most ``limit``, the most urgent first, then the oldest."""
    return _subjects(tenant_id, _waiting(tenant_id)[:limit])


def take_subjects(tenant_id: UUID, limit: int) -> list[Subject]:
    """Mark waiting incidents as begun, in the caller's transaction, and return them, the most urgent first.

    Incidents that another transaction is taking are passed over. Raises TransactionManagementError outside a
    transaction.
    """
    incidents = list(_waiting(tenant_id).select_for_update(skip_locked=True)[:limit])
    now = present(tenant_id, utcnow())
    Incident.objects.filter(id__in=[incident.pk for incident in incidents]).update(taken_at=now)
    return _subjects(tenant_id, incidents)


def open_subject(tenant_id: UUID, intake: Intake) -> str:
    """Record an incident that somebody typed in and return its id. Raises BadIntake.

    A line ``service: NAME`` says what it is about, ``priority: P1`` how urgent it is. Without them it is the one known
    service that the text names, and as urgent as that. It does not wait: whoever types it in starts its session.
    """
    typed = checked_intake(intake)
    if len(typed.text) > _MOST_TEXT:
        raise BadIntake(f"The text is longer than {_MOST_TEXT} characters.")
    service, priority = meant(tenant_id, typed.title, typed.text)
    key, now = new_id(), present(tenant_id, utcnow())
    with transaction.atomic():
        incident = Incident.objects.create(
            tenant_id=tenant_id,
            ref=short_ref("INC", key),
            title=typed.title,
            text=typed.text,
            sender=typed.sender,
            service=service,
            priority=priority,
            source=Source.FORM,
            source_key=f"typed:{key}",
            opened_at=now,
            taken_at=now,
        )
        Note.objects.create(
            tenant_id=tenant_id,
            incident=incident,
            kind=Note.Kind.OPENED,
            at=now,
            actor=typed.sender,
            text=f"Typed in: {typed.title}",
        )
    return incident.ref


def meant(tenant_id: UUID, title: str, text: str) -> tuple[str, int]:
    """Return the service that a request is about, empty when it is not clear, and how urgent it is."""
    known = known_services(tenant_id)
    service = _service_in(f"{title}\n{text}", known)
    return service, _priority_in(text, known[service].tier if service else USUAL)


def owner_of(tenant_id: UUID, kind: str, record_id: str) -> str | None:
    """Return None: what an SRE works on belongs to no customer."""
    return None


def _waiting(tenant_id: UUID) -> QuerySet[Incident]:
    rows = Incident.objects.filter(tenant_id=tenant_id, status=Incident.Status.OPEN, taken_at__isnull=True)
    return rows.order_by("priority", "opened_at", "id")


def _subjects(tenant_id: UUID, incidents: Iterable[Incident]) -> list[Subject]:
    known = known_services(tenant_id)
    return [_subject(incident, known) for incident in incidents]


def _subject(incident: Incident, known: Collection[str]) -> Subject:
    """Return the incident as a request.

    What a request names may be acted on, so only what staff wrote is one. Titles and texts that come from alerts are
    anybody's, and so is the label that says a service: it is read with read_incident, and names nothing here unless it
    is the name of one of the tenant's services.
    """
    staff = incident.source == Source.FORM
    service = incident.service if incident.service in known else ""
    return Subject(
        kind=KIND,
        id=incident.ref,
        title=incident.title if staff else f"P{incident.priority} incident about {service or 'no known service'}",
        text=incident.text if staff else f"service: {service or 'not known'}",
        sender=incident.sender,
        customer_id=None,
        received_at=incident.opened_at,
        priority=_URGENCY[incident.priority],
        again_since=incident.reopened_at,
    )


def _service_in(text: str, known: Collection[str]) -> str:
    """Return the known service that a line says, or the only one that is named, empty when it is not clear."""
    said = _only(found.lower() for found in _SERVICE.findall(text))
    return said if said in known else _only(set(_WORD.findall(text.lower())) & set(known))


def _priority_in(text: str, usual: int) -> int:
    said = _only(_PRIORITY.findall(text))
    return int(said) if said else min(usual, LEAST_URGENT)


def _only(found: Iterable[str]) -> str:
    """Return what was found, empty when it is nothing or several things."""
    different = set(found)
    return different.pop() if len(different) == 1 else ""
