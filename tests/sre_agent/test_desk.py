"""The incident desk: what a dry run says is what is done, once, and never over what somebody else did meanwhile."""

from datetime import timedelta
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import TextChange
from agentops.registry.tool import Change, Preview, ToolFailure
from agentops.tenancy.models import Tenant
from sre_agent.connectors import claiming, the_desk
from sre_agent.connectors.desk import EmbeddedDesk, add_alerts, open_incident
from sre_agent.connectors.moving import found_estate
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
from sre_agent.estate.company import company
from sre_agent.intake import waiting_subjects
from sre_agent.models import Alert, Claim, Incident, Note, Operation, Source, StatusUpdate
from sre_agent.tools.parts import ON_DESK
from tests.factories.sre import NOW, context_of, make_alert, make_incident, make_tenant

DESK = EmbeddedDesk()
MINUTE = timedelta(minutes=1)
RESOLVE = ResolveIncident("Release 1.10.0 fails.", "It was rolled back.")
ESCALATE = EscalateIncident("The rollback did not help.", "It was rolled back and fails.")
OPEN = OpenIncident("mailer", "The disk is full", "Nothing is mailed.", 3)


@pytest.fixture
def tenant(db: None) -> Tenant:
    return make_tenant()


@pytest.fixture
def incident(tenant: Tenant) -> Incident:
    return make_incident(tenant)


def wrote(incident: Incident, write: DeskWrite, key: str = "k", **more: Any) -> dict[str, Any]:
    """Do what the gateway does: a dry run, then the write under the versions that it told."""
    preview = DESK.preview(context_of(incident, **more), write)
    return DESK.write(context_of(incident, key, expected_versions=preview.versions, **more), write)


def refused(incident: Incident, write: DeskWrite, key: str = "r") -> tuple[FailureKind, str]:
    """Refused in the dry run and in the write for the same reason, with nothing left of it."""
    before = (Note.objects.count(), Operation.objects.count())
    failures = []
    for act in (DESK.preview, DESK.write):
        with pytest.raises(ToolFailure) as failure:
            act(context_of(incident, key), write)
        failures.append((failure.value.kind, failure.value.message))
    # The write refuses what no text can hold in words of its own, before it is planned.
    assert failures[0][0] is failures[1][0]
    assert failures[0] == failures[1] or failures[0][0] is FailureKind.VALIDATION
    assert (Note.objects.count(), Operation.objects.count()) == before
    return failures[0]


def notes(incident: Incident) -> list[tuple[str, str]]:
    return list(incident.notes.values_list("kind", "text"))


def test_the_desk_of_the_tools_is_this_one_whatever_was_imported_first() -> None:
    assert isinstance(the_desk(), EmbeddedDesk)
    assert isinstance(ON_DESK.system(), EmbeddedDesk)


def test_what_is_known_is_written_down_with_what_stood_there(incident: Incident) -> None:
    write = UpdateIncident(summary=" It fails since 1.10.0. ", priority=0, mitigated=True)
    preview = DESK.preview(context_of(incident), write)

    assert preview == Preview(
        effect="Change summary, priority, mitigated of incident INC-1",
        target="incident:INC-1",
        changes=(Change("Priority", "P1", "P0"), Change("Mitigated", "no", "yes")),
        versions={"incident:INC-1": 1},
        measures={"incident_priority": 1},
        parts=(TextChange("Summary", "", "It fails since 1.10.0."),),
    )
    before = {"summary": "", "priority": 1, "mitigated": False}
    assert wrote(incident, write) == {"incident_id": "INC-1", "version": 2, "before": before}
    incident.refresh_from_db()
    assert (incident.version, incident.summary, incident.priority) == (2, "It fails since 1.10.0.", 0)
    assert (incident.status, incident.mitigated_at) == ("mitigated", NOW)
    assert notes(incident) == [
        ("changed", "Priority: P1 → P0"),
        ("changed", "Mitigated: no → yes"),
        ("found", "It fails since 1.10.0."),
    ]
    assert set(incident.notes.values_list("operation_key", "at")) == {("k", NOW)}

    wrote(incident, UpdateIncident(**before), "undo")
    incident.refresh_from_db()
    assert (incident.summary, incident.priority, incident.status, incident.mitigated_at) == ("", 1, "open", None)


def test_an_update_never_changes_what_somebody_changed_meanwhile(incident: Incident) -> None:
    write = UpdateIncident(priority=2)
    decided = DESK.preview(context_of(incident), write).versions
    wrote(incident, UpdateIncident(priority=0), "first")

    with pytest.raises(ToolFailure) as failure:
        DESK.write(context_of(incident, "second", expected_versions=decided), write)
    assert failure.value.kind is FailureKind.CONFLICT
    incident.refresh_from_db()
    assert (incident.priority, incident.version) == (0, 2)


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (UpdateIncident(), FailureKind.CONFLICT),
        (UpdateIncident(summary="", priority=1, mitigated=False), FailureKind.CONFLICT),
        (UpdateIncident(priority=5), FailureKind.VALIDATION),
        (UpdateIncident(priority=-1), FailureKind.VALIDATION),
        (UpdateIncident(summary="x" * 2_001), FailureKind.VALIDATION),
        (UpdateIncident(summary="a\x00b"), FailureKind.VALIDATION),
        (ResolveIncident(" ", "It was rolled back."), FailureKind.VALIDATION),
        (ResolveIncident("Why", "x" * 20_000), FailureKind.VALIDATION),
        (OpenIncident("mailer", "x" * 301, "Text", 2), FailureKind.VALIDATION),
        (OpenIncident("", "Title", "Text", 2), FailureKind.VALIDATION),
        (OpenIncident("mailer", "Title", "Text", 9), FailureKind.VALIDATION),
        (DraftStatus("x" * 1_001), FailureKind.VALIDATION),
        (DraftStatus("\ud800"), FailureKind.VALIDATION),
        (ReopenIncident("Again"), FailureKind.CONFLICT),
        (Silence("AL-none", 30), FailureKind.NOT_FOUND),
        (Unsilence("AL-none"), FailureKind.NOT_FOUND),
        (WithdrawIncident("INC-none"), FailureKind.NOT_FOUND),
        (WithdrawIncident("INC-1"), FailureKind.CONFLICT),
        (DiscardStatus("SU-none"), FailureKind.NOT_FOUND),
    ],
)
def test_what_cannot_be_is_refused(incident: Incident, write: DeskWrite, kind: FailureKind) -> None:
    assert refused(incident, write)[0] is kind


def test_what_is_resolved_gives_back_what_it_claimed(incident: Incident) -> None:
    claiming.take(incident.tenant_id, "service:checkout", "INC-1", NOW)
    claiming.take(incident.tenant_id, "service:mailer", "INC-2", NOW)
    make_alert(incident.tenant, incident, ended_at=NOW)

    assert wrote(incident, RESOLVE, now=NOW + MINUTE) == {"incident_id": "INC-1", "status": "resolved"}
    incident.refresh_from_db()
    assert (incident.status, incident.resolved_at) == ("resolved", NOW + MINUTE)
    assert incident.cause == "Release 1.10.0 fails."
    assert notes(incident) == [("found", "Release 1.10.0 fails."), ("resolved", "It was rolled back.")]
    assert list(Claim.objects.filter(until__gt=NOW + MINUTE).values_list("incident_ref", flat=True)) == ["INC-2"]
    assert refused(incident, RESOLVE, "again") == (
        FailureKind.CONFLICT,
        "Incident INC-1 is resolved. Open it again first.",
    )


def test_nothing_is_over_while_an_alert_of_it_fires(incident: Incident) -> None:
    for number in range(7):
        make_alert(incident.tenant, incident, ref=f"AL-{number}", fingerprint=str(number), silenced_until=NOW + MINUTE)
    make_alert(incident.tenant, make_incident(incident.tenant, "INC-2"), ref="AL-other", fingerprint="other")
    kind, message = refused(incident, RESOLVE)
    named = ", ".join(f"AL-{number} (ErrorsHigh of checkout)" for number in range(5))
    assert kind is FailureKind.CONFLICT
    assert message == f"Incident INC-1 is not over: {named} and 2 more still fires."


def test_an_alert_that_has_stopped_since_anybody_looked_does_not_hold_it_up(incident: Incident) -> None:
    found_estate(tenant_id=incident.tenant_id, estate=company(4), now=NOW)
    make_alert(incident.tenant, incident)
    wrote(incident, RESOLVE, now=NOW + 5 * MINUTE)
    assert Alert.objects.get().ended_at == NOW + 5 * MINUTE


def test_an_alert_that_begins_between_the_dry_run_and_the_write_holds_it_up(incident: Incident) -> None:
    preview = DESK.preview(context_of(incident), RESOLVE)
    add_alerts(incident, [make_alert(incident.tenant)], NOW, "alerts")
    with pytest.raises(ToolFailure, match="still fires"):
        DESK.write(context_of(incident, "k", expected_versions=preview.versions), RESOLVE)
    incident.refresh_from_db()
    assert (incident.status, incident.version) == ("open", 1)


def test_time_in_an_estate_that_stands_still_is_its_own(incident: Incident) -> None:
    found_estate(tenant_id=incident.tenant_id, estate=company(4), now=NOW + 3 * MINUTE, seconds_a_tick=0)
    wrote(incident, RESOLVE, now=NOW + timedelta(days=200))
    incident.refresh_from_db()
    assert incident.resolved_at == NOW + 3 * MINUTE


def test_what_is_over_is_opened_again(incident: Incident) -> None:
    wrote(incident, UpdateIncident(mitigated=True), "mitigated")
    wrote(incident, RESOLVE)
    result = wrote(incident, ReopenIncident("It fails again."), "reopened")
    incident.refresh_from_db()
    assert result == {"incident_id": "INC-1", "status": "open"}
    assert (incident.status, incident.cause) == ("open", "")
    assert (incident.resolved_at, incident.mitigated_at) == (None, None)
    assert notes(incident)[-1] == ("reopened", "It fails again.")
    wrote(incident, RESOLVE, "resolved again")


@pytest.mark.parametrize("mitigated", [False, True])
def test_an_open_incident_is_handed_to_a_person_once(incident: Incident, mitigated: bool) -> None:
    claiming.take(incident.tenant_id, "service:checkout", "INC-1", NOW)
    if mitigated:
        wrote(incident, UpdateIncident(mitigated=True), "mitigated")
    assert wrote(incident, ESCALATE) == {"incident_id": "INC-1", "status": "escalated"}
    assert notes(incident)[-2:] == [
        ("found", "It was rolled back and fails."),
        ("escalated", "The rollback did not help."),
    ]
    assert claiming.standing(incident.tenant_id, "service:checkout", NOW) is None

    theirs = "Incident INC-1 is with a person, who decides what happens next."
    for write in (ESCALATE, RESOLVE, UpdateIncident(priority=0), DraftStatus("Soon."), OPEN):
        assert refused(incident, write) == (FailureKind.CONFLICT, theirs)
    assert wrote(incident, ReopenIncident("It can be solved."), "reopened")["status"] == "open"


@pytest.mark.parametrize("text", ["x" * 20_000, "a\u202eb", " "])
def test_a_hand_over_takes_whatever_is_said(incident: Incident, text: str) -> None:
    preview = DESK.preview(context_of(incident), EscalateIncident(text, text))
    assert all(len(part.after) <= 2_000 for part in preview.parts if isinstance(part, TextChange))
    wrote(incident, EscalateIncident(text, text))
    assert Incident.objects.get().status == "escalated"
    assert all(1 <= len(text) <= 2_000 for _, text in notes(incident))


@pytest.mark.parametrize("text", ["a\x00b", "\ud800 lost"])
def test_what_no_record_holds_is_not_handed_over(incident: Incident, text: str) -> None:
    with pytest.raises(ToolFailure, match="cannot be recorded"):
        DESK.write(context_of(incident, "k"), EscalateIncident(text, text))
    assert Incident.objects.get().status == "open"


def test_another_incident_is_opened_waits_and_can_be_withdrawn(incident: Incident) -> None:
    assert DESK.preview(context_of(incident), OPEN).target == "incident:INC-1"
    ref = wrote(incident, OPEN)["incident_id"]
    other = Incident.objects.get(ref=ref)
    assert (other.title, other.text, other.service) == ("The disk is full", "Nothing is mailed.", "mailer")
    assert (other.priority, other.source, other.opened_at, other.taken_at) == (3, "agent", NOW, None)
    assert [each.id for each in waiting_subjects(incident.tenant_id, 9)] == [ref]
    assert notes(other) == [("opened", "Opened P3 for INC-1: The disk is full")]
    assert notes(incident) == [("changed", f"Opened {ref} about mailer: The disk is full")]

    taken_back = wrote(incident, WithdrawIncident(ref), "withdrawn")
    other.refresh_from_db()
    assert taken_back == {"incident_id": ref, "status": "resolved"}
    assert (other.status, other.resolved_at, other.cause) == ("resolved", NOW, "It was opened by mistake.")
    assert notes(other)[-1] == ("resolved", "Withdrawn: it was opened by mistake.")
    incident.refresh_from_db()
    assert incident.status == "open"


def test_what_somebody_works_on_or_an_agent_did_not_open_is_not_withdrawn(incident: Incident) -> None:
    ref = wrote(incident, OPEN)["incident_id"]
    Incident.objects.filter(ref=ref).update(taken_at=NOW)
    make_incident(incident.tenant, "INC-2", taken_at=None)
    assert "has begun" in refused(incident, WithdrawIncident(ref))[1]
    assert "was not opened by an agent" in refused(incident, WithdrawIncident("INC-2"))[1]


def test_an_alert_is_silenced_for_a_while_and_no_longer(incident: Incident) -> None:
    alert = make_alert(incident.tenant, incident, ref="AL-1")
    preview = DESK.preview(context_of(incident), Silence("AL-1", 30))
    assert (preview.target, preview.versions) == ("alert:AL-1", {"alert:AL-1": 1})
    assert preview.changes == (Change("Silenced until", "", "2026-03-02 09:30 UTC"),)
    until = "2026-03-02T09:30:00.000000Z"
    assert wrote(incident, Silence("AL-1", 30)) == {"alert_id": "AL-1", "silenced_until": until}
    alert.refresh_from_db()
    assert (alert.silenced_until, alert.ended_at, alert.version) == (NOW + 30 * MINUTE, None, 2)

    assert wrote(incident, Unsilence("AL-1"), "undo") == {"alert_id": "AL-1"}
    alert.refresh_from_db()
    assert alert.silenced_until is None
    assert "is not silenced" in refused(incident, Unsilence("AL-1"))[1]


@pytest.mark.parametrize("minutes", [0, 4, 241, -1])
def test_nobody_silences_for_ever(incident: Incident, minutes: int) -> None:
    make_alert(incident.tenant, incident, ref="AL-1")
    assert refused(incident, Silence("AL-1", minutes))[0] is FailureKind.VALIDATION


def test_only_what_fires_in_this_incident_is_silenced(incident: Incident) -> None:
    make_alert(incident.tenant, incident, ref="AL-1", ended_at=NOW)
    make_alert(incident.tenant, make_incident(incident.tenant, "INC-2"), ref="AL-2")
    make_alert(incident.tenant, None, ref="AL-3")
    assert refused(incident, Silence("AL-1", 30))[0] is FailureKind.CONFLICT
    assert refused(incident, Silence("AL-2", 30))[0] is FailureKind.NOT_FOUND
    assert refused(incident, Silence("AL-3", 30))[0] is FailureKind.NOT_FOUND


def test_words_for_customers_stay_a_draft(incident: Incident) -> None:
    text = "We <b>look</b> into it. \u202eevil\u202c"
    assert DESK.preview(context_of(incident), DraftStatus(text)).parts == (TextChange("Status update", "", text),)
    ref = wrote(incident, DraftStatus(text))["update_id"]
    update = StatusUpdate.objects.get()
    assert (update.ref, update.state, update.text, update.drafted_at) == (ref, "draft", text, NOW)
    assert (update.published_at, update.published_by) == (None, "")

    assert wrote(incident, DiscardStatus(ref), "undo") == {"update_id": ref}
    assert StatusUpdate.objects.get().state == "discarded"
    assert "is discarded already" in refused(incident, DiscardStatus(ref))[1]


def test_an_incident_is_opened_once_for_what_it_came_from(tenant: Tenant) -> None:
    def opened(tenant: Tenant, title: str) -> Incident:
        return open_incident(
            tenant_id=tenant.pk, title=title, text="Text\x00 " + "x" * 30_000, service="checkout", priority=9,
            source=Source.ALERTMANAGER, source_key="alert:1", actor="alertmanager", now=NOW,
        )  # fmt: skip

    first = opened(tenant, "Check\x00out\nfails")
    assert (first.title, len(first.text), first.priority, first.taken_at) == ("Checkout fails", 20_000, 4, None)
    assert opened(tenant, "Again") == first
    assert opened(make_tenant("south"), "Elsewhere").ref != first.ref
    assert list(first.notes.values_list("kind", "actor", "text")) == [
        ("opened", "alertmanager", "Opened P4: Checkout fails")
    ]


def test_alerts_are_added_to_one_incident_only(incident: Incident) -> None:
    other = make_incident(incident.tenant, "INC-2")
    stranger = make_alert(make_tenant("south"))
    alerts = [make_alert(incident.tenant) for _ in range(12)]
    add_alerts(incident, alerts[:1], NOW, "alertmanager")
    add_alerts(other, [*alerts, stranger], NOW, "alertmanager")

    assert (incident.alerts.count(), other.alerts.count()) == (1, 11)
    assert notes(incident) == [("grouped", "Added 1: ErrorsHigh of checkout")]
    assert notes(other)[0][1].endswith("ErrorsHigh of checkout and 1 more")
    stranger.refresh_from_db()
    assert stranger.incident_id is None
    add_alerts(other, alerts, NOW, "alertmanager")
    assert len(notes(other)) == 1
