"""A write on the incident desk happens once, in its own tenant, and of those at once one does."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, ToolFailure
from sre_agent.connectors.desk import EmbeddedDesk
from sre_agent.connectors.port import (
    DeskWrite,
    DiscardStatus,
    DraftStatus,
    EscalateIncident,
    OpenIncident,
    ReopenIncident,
    ResolveIncident,
    Silence,
    Unsilence,
    UpdateIncident,
    WithdrawIncident,
)
from sre_agent.models import Alert, Claim, Incident, Note, Operation, Source, StatusUpdate
from tests.factories.sre import NOW, at_once, context_of, make_alert, make_incident, make_tenant

DESK = EmbeddedDesk()
MINUTE = timedelta(minutes=1)
RESOLVE = ResolveIncident("Release 1.10.0 fails.", "It was rolled back.")
ESCALATE = EscalateIncident("The rollback did not help.", "It was rolled back and fails.")
OPEN = OpenIncident("mailer", "The disk is full", "Nothing is mailed.", 3)


@pytest.fixture
def incident(db: None) -> Incident:
    return make_incident(make_tenant())


ONE_OF_EACH: list[DeskWrite] = [
    Silence("AL-1", 30),
    Unsilence("AL-2"),
    OPEN,
    WithdrawIncident("INC-9"),
    UpdateIncident(priority=0),
    RESOLVE,
    ReopenIncident("Again"),
    ESCALATE,
    DraftStatus("We look into it."),
    DiscardStatus("SU-1"),
]


@pytest.fixture
def staged(incident: Incident) -> Incident:
    """An incident on which each write of ONE_OF_EACH is possible once ``ready`` has seen it."""
    tenant = incident.tenant
    make_alert(tenant, incident, ref="AL-1")
    make_alert(tenant, incident, ref="AL-2", silenced_until=NOW + MINUTE)
    make_incident(tenant, "INC-9", source=Source.AGENT, taken_at=None)
    StatusUpdate.objects.create(
        tenant=tenant, incident=incident, ref="SU-1", text="Old", drafted_by="agent", drafted_at=NOW
    )
    return incident


def ready(incident: Incident, write: DeskWrite) -> None:
    if isinstance(write, ResolveIncident):
        Alert.objects.update(ended_at=NOW)
    if isinstance(write, ReopenIncident):
        Incident.objects.filter(pk=incident.pk).update(status="resolved", resolved_at=NOW)


def records() -> list[list[dict[str, Any]]]:
    tables = (Incident, Alert, StatusUpdate, Note, Claim, Operation)
    return [list(table.objects.order_by("pk").values()) for table in tables]


@pytest.mark.parametrize("write", ONE_OF_EACH, ids=lambda write: type(write).__name__)
def test_one_key_has_its_effect_once_and_another_call_of_it_is_refused(staged: Incident, write: DeskWrite) -> None:
    ready(staged, write)
    context = context_of(staged, "k")
    assert DESK.outcome(context) is None
    before = records()
    DESK.preview(context, write)
    assert records() == before

    result = DESK.write(context, write)
    after = records()
    assert DESK.write(replace(context, now=NOW + MINUTE), write) == result
    assert DESK.outcome(context) == result
    with pytest.raises(ToolFailure, match="used for another call"):
        DESK.write(context, UpdateIncident(priority=4))
    assert records() == after
    assert len(after[3]) > len(before[3])
    operation = Operation.objects.get()
    assert (operation.action, operation.incident_ref) == (type(write).__name__, "INC-1")


@pytest.mark.parametrize("write", ONE_OF_EACH, ids=lambda write: type(write).__name__)
def test_nothing_of_another_tenant_is_seen_or_changed(staged: Incident, write: DeskWrite) -> None:
    ready(staged, write)
    before = records()
    outsider = replace(context_of(staged, "k"), tenant_id=make_tenant("south").pk)
    for act in (DESK.preview, DESK.write):
        with pytest.raises(ToolFailure) as failure:
            act(outsider, write)
        assert failure.value.kind is FailureKind.NOT_FOUND
    assert records() == before


@pytest.mark.parametrize("write", ONE_OF_EACH, ids=lambda write: type(write).__name__)
def test_a_write_is_refused_when_what_it_was_decided_on_has_moved(staged: Incident, write: DeskWrite) -> None:
    ready(staged, write)
    versions = DESK.preview(context_of(staged), write).versions
    before = records()
    with pytest.raises(ToolFailure) as failure:
        DESK.write(context_of(staged, "k", expected_versions=dict.fromkeys(versions, 99)), write)
    assert failure.value.kind is FailureKind.CONFLICT
    assert records() == before


def test_a_write_without_a_key_is_refused(incident: Incident) -> None:
    with pytest.raises(ToolFailure, match="needs an idempotency key"):
        DESK.write(context_of(incident), RESOLVE)


@pytest.mark.django_db(transaction=True)
def test_of_those_who_end_an_incident_at_once_one_does() -> None:
    incident = make_incident(make_tenant())

    def ends(number: int) -> Callable[[], str]:
        def act() -> str:
            write: DeskWrite = RESOLVE if number % 2 else ESCALATE
            try:
                DESK.write(context_of(incident, f"k{number}", expected_versions={"incident:INC-1": 1}), write)
            except ToolFailure as failure:
                return failure.kind.value
            return "done"

        return act

    came_to = at_once([ends(number) for number in range(6)])
    assert sorted(came_to) == ["CONFLICT"] * 5 + ["done"]
    incident.refresh_from_db()
    assert incident.version == 2
    assert incident.notes.filter(kind__in=["resolved", "escalated"]).count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_key_at_once_is_one_effect() -> None:
    incident = make_incident(make_tenant())
    context: CallContext = context_of(incident, "k")
    results = at_once([lambda: str(DESK.write(context, OPEN)["incident_id"])] * 6)
    assert len(set(results)) == 1
    assert Incident.objects.count() == 2
