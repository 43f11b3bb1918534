"""The timeline of an incident: everything in order, with the commands that were shown and who let them through."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentops.registry.made import Became, ToldCall
from agentops.registry.preview_parts import Command
from agentops.registry.tool import Preview
from sre_agent import timeline
from sre_agent.connectors.board import EmbeddedBoard
from sre_agent.connectors.desk import EmbeddedDesk, add_alerts
from sre_agent.connectors.desk_people import publish_update
from sre_agent.connectors.pager import EmbeddedPager, acknowledge
from sre_agent.connectors.port import DraftStatus, PagePerson, ResolveIncident
from sre_agent.models import Alert, Incident, Sample, StatusUpdate
from tests.factories.sre import NOW, context_of, make_alert, make_incident, make_shift, make_tenant

MINUTE = timedelta(minutes=1)
SESSION = UUID("01890000-0000-7000-8000-000000000001")
AGENT = "agent:SRE v1"
ROLL_BACK = Preview(
    effect="Roll checkout back from 1.10.0 to 1.9.0",
    target="service:checkout",
    parts=(
        Command("embedded/shop", argv=("kubectl", "-n", "shop", "rollout", "undo", "deploy/check out")),
        Command("embedded/shop", api="PATCH /apis/apps/v1/x", body='{"spec": {}}'),
    ),
).as_json()


@dataclass
class Record:
    """The control plane's record, with the calls of one piece of work."""

    calls: Sequence[ToldCall] = ()
    asked: tuple[Any, ...] = ()

    def of_subject(
        self, tenant_id: UUID, role: str, subject_id: str, *, reads: Collection[str] = ()
    ) -> Sequence[ToldCall]:
        self.asked = (tenant_id, role, subject_id, tuple(reads))
        return self.calls


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    record = Record()
    monkeypatch.setattr(timeline, "call_record", lambda: record)
    return record


@pytest.fixture
def incident(db: None) -> Incident:
    return make_incident(make_tenant())


def call(tool: str, at: datetime = NOW, became: Became = Became.DONE, **fields: Any) -> ToldCall:
    given: dict[str, Any] = {
        "key": "", "arguments": {}, "preview": {}, "result": {}, "actor": AGENT, "approvers": (),
        "at": at, "made_at": at, "session_id": SESSION, "position": 5, **fields,
    }  # fmt: skip
    return ToldCall(tool=tool, became=became, **given)


def told(incident: Incident) -> list[tuple[str, str, str]]:
    return [(each.kind, each.actor, each.words) for each in timeline.entries(incident.tenant_id, incident)]


def test_a_write_is_told_with_its_commands_answer_approvers_and_way_back(incident: Incident, record: Record) -> None:
    record.calls = [
        call(
            "roll_back",
            NOW - MINUTE,
            made_at=NOW,
            key="k",
            preview=ROLL_BACK,
            result={"version": 4, "service": "checkout"},
            approvers=("user:alice", "user:dave"),
            undo={"tool": "roll_back", "arguments": {"release": "1.10.0"}},
        )
    ]
    assert timeline.entries(incident.tenant_id, incident) == [
        timeline.Entry(
            at=NOW,
            actor=AGENT,
            kind="call",
            words="Roll checkout back from 1.10.0 to 1.9.0 (done)",
            command=(
                "# embedded/shop\nkubectl -n shop rollout undo 'deploy/check out'\n"
                '# embedded/shop\nPATCH /apis/apps/v1/x\n{"spec": {}}'
            ),
            output='{"service": "checkout", "version": 4}',
            url=f"/sessions/{SESSION}/?at=5#step-5",
            approvers=("user:alice", "user:dave"),
            became="done",
            undo='roll_back {"release": "1.10.0"}',
        )
    ]
    assert record.asked == (incident.tenant_id, "sre", "INC-1", ("verify_change",))


@pytest.mark.parametrize(
    ("became", "words"),
    [
        (Became.WAITS, "waits for people"),
        (Became.REFUSED, "refused"),
        (Became.UNDER_WAY, "under way"),
        (Became.FAILED, "failed"),
        (Became.UNKNOWN, "not known whether it was done"),
        (Became.UNDONE, "done, and taken back"),
    ],
)
def test_what_did_not_go_well_is_told_as_well(incident: Incident, record: Record, became: Became, words: str) -> None:
    refusal = {"code": "CONFLICT", "message": "It has changed.", "next_step": "Read it again."}
    record.calls = [call("scale_service", became=became, made_at=None, arguments={"replicas": 4}, result=refusal)]
    (entry,) = timeline.entries(incident.tenant_id, incident)
    assert (entry.words, entry.became) == (f"scale_service ({words})", words)
    assert entry.command == 'scale_service {"replicas": 4}'
    assert '"message": "It has changed."' in entry.output


def test_a_verification_says_what_held(incident: Incident, record: Record) -> None:
    problems = ["2 of 4 replicas take requests.", "5 % of its requests fail."]
    record.calls = [
        call("verify_change", NOW, result={"target": "service:checkout", "sound": False, "problems": problems}),
        call("verify_change", NOW + MINUTE, result={"target": "service:checkout", "sound": True, "problems": []}),
        call("verify_change", NOW + 2 * MINUTE, Became.REFUSED, arguments={"target": "node:n1"}),
    ]
    assert told(incident) == [
        ("verified", AGENT, f"service:checkout: {' '.join(problems)}"),
        ("verified", AGENT, "service:checkout is sound."),
        ("verified", AGENT, "Nobody could verify node:n1."),
    ]


def test_everything_stands_in_the_order_in_which_it_happened(incident: Incident, record: Record) -> None:
    desk, tenant = EmbeddedDesk(), incident.tenant
    alert = make_alert(tenant, ref="AL-1")
    add_alerts(incident, [alert], NOW + MINUTE, "alertmanager")
    Alert.objects.update(ended_at=NOW + 4 * MINUTE)
    make_shift(tenant)
    paged = EmbeddedPager().write(context_of(incident, "page", now=NOW + 2 * MINUTE), PagePerson(1, "It fails"))
    acknowledge(tenant_id=tenant.pk, page_ref=paged["page_id"], person="dana", now=NOW + 3 * MINUTE)
    drafted = desk.write(context_of(incident, "draft", now=NOW + 3 * MINUTE), DraftStatus("We look into it."))
    publish_update(
        tenant_id=tenant.pk, update_ref=drafted["update_id"], text="We fixed it.", person="alice",
        now=NOW + 5 * MINUTE, board=EmbeddedBoard(),
    )  # fmt: skip
    resolved = ResolveIncident("A release", "A rollback")
    desk.write(context_of(incident, "end", now=NOW + 6 * MINUTE), resolved)
    incident.refresh_from_db()
    record.calls = [
        call("page_person", NOW + 2 * MINUTE, key="page", preview={"effect": "Call dana"}, result=paged),
        call("draft_status_update", NOW + 3 * MINUTE, key="draft", result=drafted, preview={"effect": "Draft"}),
        call("resolve_incident", NOW + 6 * MINUTE, key="end", preview={"effect": "Resolve incident INC-1"}),
    ]
    ref = drafted["update_id"]
    assert told(incident) == [
        ("alert", "estate", "P1 ErrorsHigh of checkout fires: More than 5 % of requests fail."),
        ("grouped", "alertmanager", "Added 1: ErrorsHigh of checkout"),
        ("call", AGENT, "Call dana (done)"),
        ("changed", "dana", "Answered the call to dana."),
        ("call", AGENT, "Draft (done)"),
        ("alert", "estate", "ErrorsHigh of checkout has stopped."),
        ("changed", "alice", f"Published status update {ref}."),
        ("status", "alice", "Published: We fixed it."),
        ("found", AGENT, "A release"),
        ("resolved", AGENT, "A rollback"),
        ("call", AGENT, "Resolve incident INC-1 (done)"),
    ]


def test_what_no_session_did_is_told_from_the_records(incident: Incident, record: Record) -> None:
    make_shift(incident.tenant)
    EmbeddedPager().write(context_of(incident, "page"), PagePerson(1, "It fails"))
    StatusUpdate.objects.create(
        tenant=incident.tenant, incident=incident, ref="SU-1", text="Soon.", drafted_by="bob", drafted_at=NOW
    )
    assert told(incident) == [
        ("changed", "agent", "Called dana (level 1): It fails"),
        ("page", "", "Called dana: It fails"),
        ("status", "bob", "Drafted a status update: Soon."),
    ]


def test_nothing_of_another_tenant_is_told(incident: Incident, record: Record) -> None:
    record.calls = [call("roll_back")]
    make_alert(incident.tenant, incident)
    assert timeline.entries(make_tenant("south").pk, incident) == []
    assert record.asked == ()


def test_a_storm_of_alerts_is_told_in_few_words_and_queries(incident: Incident, record: Record) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as made:
            timeline.entries(incident.tenant_id, incident)
        return len(made)

    make_alert(incident.tenant, incident)
    few = queries()
    for number in range(60):
        make_alert(incident.tenant, incident, priority=3, began_at=NOW + number * MINUTE / 60)
    assert queries() <= few + 2
    entries = timeline.entries(incident.tenant_id, incident)
    assert len(entries) == 51
    assert entries[-1].words == "By then 11 more alerts of less urgency fired."


def test_long_answers_are_cut(incident: Incident, record: Record) -> None:
    record.calls = [call("run_runbook", result={"text": "x" * 20_000})]
    (entry,) = timeline.entries(incident.tenant_id, incident)
    assert len(entry.output) == 4_000


def test_requests_that_failed_are_counted_while_it_lasted(incident: Incident) -> None:
    tenant = incident.tenant
    tenant.timezone = "Europe/Berlin"
    tenant.save()
    make_alert(tenant, incident, service="mailer")
    assert timeline.figures_of(incident, NOW).failed_requests is None
    for tick, (service, minutes, errors_pm) in enumerate(
        [("checkout", -1, 900), ("checkout", 0, 100), ("mailer", 1, 250), ("search", 1, 900), ("checkout", 9, 900)]
    ):
        Sample.objects.create(
            tenant=tenant, service=service, tick=tick, at=NOW + minutes * MINUTE, requests=20, errors_pm=errors_pm,
            latency_ms=1, processor_pm=1, memory_pm=1, disk_pm=1, ready=1,
        )  # fmt: skip
    incident.resolved_at = NOW + 5 * MINUTE
    figures = timeline.figures_of(incident, NOW + 60 * MINUTE)
    assert (figures.services, figures.failed_requests) == (("checkout", "mailer"), 20 + 50)
    assert figures.zone_name == "Europe/Berlin"
