"""People work on incidents themselves: each act is made once, on what they saw, and is on record with its words."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from agentops.kernel.errors import FailureKind
from agentops.registry.call_record import call_record
from agentops.registry.made import PersonAct
from agentops.registry.once import Once, call_of, fingerprint_of
from agentops.registry.tool import CallContext, Result, ToolFailure
from sre_agent.connectors import act_rules, claiming
from sre_agent.connectors.act_rules import Acknowledge, Act, Acted, Resolve
from sre_agent.connectors.desk_effect import Desk
from sre_agent.connectors.desk_people import NotPossible, no_such
from sre_agent.connectors.desk_rows import Wanted, read
from sre_agent.connectors.moving import NoEstate, to_present
from sre_agent.models import Incident, Note, Operation

ROLE = "sre"
_ONCE = Once(Operation, "incident_ref", "incident desk")
_NO_SESSION = UUID(int=0)
_STATUS = {"open": "open", "mitigated": "mitigated", "escalated": "with a person", "resolved": "resolved"}


class ChangedMeanwhile(NotPossible):
    """The incident is not as the person saw it when they decided."""

    code = "CHANGED_MEANWHILE"
    next_step = "Look at how it stands now, and decide again."


class WorkedOn(NotPossible):
    """A session works on the incident, and only there is it taken over or ended."""

    code = "WORKED_ON"
    next_step = "Take the session over, or cancel it, on its own page."


@dataclass(frozen=True)
class Asked:
    """Who asks for what of which incident, and the version of it that they saw."""

    tenant_id: UUID
    incident_ref: str
    seen_version: int
    act: Act
    person: str


def act_on(asked: Asked, *, now: datetime) -> None:
    """Do what a person asks for, in one transaction with its notes and its event; of two people at once, one does.

    The same act of the same person on the same version is done once, and succeeds as often as it is sent. What is
    refused is on record, too. Raises NotPossible: ChangedMeanwhile when the incident has another version by now,
    WorkedOn while a session works on it.
    """
    with suppress(NoEstate), transaction.atomic():
        # Which alerts fire is told as of now, before anything is locked.
        to_present(asked.tenant_id, now)
    try:
        _do(asked, now)
    except NotPossible as error:
        if Incident.objects.filter(tenant_id=asked.tenant_id, ref=asked.incident_ref).exists():
            call_record().note_act(asked.tenant_id, _told(asked, refused=error.code))
        raise


def _do(asked: Asked, now: datetime) -> None:
    key = f"act:{asked.act.name}:{asked.incident_ref}:{asked.seen_version}:{asked.person}"
    context = CallContext(asked.tenant_id, _NO_SESSION, asked.incident_ref, None, now, idempotency_key=key)

    def act() -> Result:
        # Two locks in one order with every other write: the key, then the incident.
        desk, rows = read(context, Wanted(firing=isinstance(asked.act, Resolve)), lock=True)
        if rows.incident is None:
            raise no_such("incident")
        _require_as_seen(asked, rows.incident)
        _require_free(asked)
        _apply(asked, rows.incident, desk, act_rules.planned(desk, asked.act, asked.person, now))
        call_record().note_act(asked.tenant_id, _told(asked))
        result: Result = {"incident_id": asked.incident_ref, "act": asked.act.name}
        _ONCE.record(call_of(context), result)
        return result

    try:
        _ONCE.write(context, fingerprint_of(context, asked.act), asked.act.name, act)
    except ToolFailure as failure:
        if (
            failure.kind is FailureKind.CONFLICT
            and Operation.objects.filter(tenant_id=asked.tenant_id, key=key).exists()
        ):
            raise ChangedMeanwhile("You have done this already, in other words.") from failure
        raise NotPossible(failure.message) from failure


def _require_as_seen(asked: Asked, incident: Incident) -> None:
    if incident.version == asked.seen_version:
        return
    latest = incident.notes.order_by("-at", "-id").first()
    by = "" if latest is None else f" {latest.actor} wrote last, at {latest.at:%H:%M} UTC."
    raise ChangedMeanwhile(
        f"Incident {incident.ref} has changed since you looked; it is {_STATUS[incident.status]} now.{by}"
    )


def _require_free(asked: Asked) -> None:
    session = call_record().open_session(asked.tenant_id, ROLE, asked.incident_ref)
    if session is not None and not isinstance(asked.act, Acknowledge):
        raise WorkedOn(f"Session {session.code} works on it.")


def _apply(asked: Asked, incident: Incident, desk: Desk, acted: Acted) -> None:
    rows = Incident.objects.filter(pk=incident.pk, version=asked.seen_version)
    if not rows.update(**acted.fields, version=F("version") + 1):
        raise ChangedMeanwhile(f"Incident {incident.ref} has changed since you looked.")
    Note.objects.bulk_create(
        Note(
            tenant_id=asked.tenant_id,
            incident=incident,
            kind=note.kind,
            at=desk.now,
            actor=asked.person,
            text=note.text,
        )
        for note in acted.notes
    )
    if acted.gives_back:
        claiming.give_back(asked.tenant_id, incident.ref, desk.now)


def _told(asked: Asked, *, refused: str = "") -> PersonAct:
    # What cannot be stored cannot be recorded either: the refusal then says so without it.
    words = {} if refused else {name: str(value) for name, value in asdict(asked.act).items() if value}
    facts = {"incident": asked.incident_ref, "version": asked.seen_version}
    return PersonAct(ROLE, asked.act.name, asked.incident_ref, asked.person, facts, words, refused)
