"""The page of one session, and the page of one step's payload."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse

from agentops.console import queries
from agentops.console.attempts import Attempt
from agentops.console.codes import session_code
from agentops.console.entries import Known, entries_of
from agentops.console.formats import duration_words
from agentops.console.happenings import PRIORITIES
from agentops.console.marks import Link, State
from agentops.console.panels import Panel
from agentops.console.ports import approval_desk
from agentops.console.presenters import Payload, SessionPage, StepPage
from agentops.console.queries import EVENTS_A_PAGE
from agentops.console.records import RequestSummary
from agentops.console.reveal import reveal
from agentops.console.said import actor_name, standing
from agentops.console.session_panel import panel_of
from agentops.console.session_queries import day_is_spent, freeze_of, role_of
from agentops.console.stands import Row, stands_of
from agentops.console.story import tell
from agentops.console.teller import Write
from agentops.console.timeline import Sum, Undoing
from agentops.console.undoing import undoing_of
from agentops.console.waterfall import waterfall_of
from agentops.kernel.canonical import JSON
from agentops.ledger.queries import events_of, payload_of
from agentops.runtime.models import Invocation, Question, Session
from agentops.runtime.questions import open_question
from agentops.runtime.states import ENDED, SessionStatus
from agentops.tenancy.access import Reader

SHOWN_BYTES = 20_000
"""How much of an input or output is put into a page; a download has all of it."""


@dataclass(frozen=True)
class Looked:
    """Who looks at a session's page and how: ``at`` is a position, ``tool`` the one chosen for a step."""

    reader: Reader
    at: int = 0
    tool: str = ""
    attempt: Attempt | None = None


def session_page(session: Session, looked: Looked, *, now: datetime) -> tuple[SessionPage, Panel]:
    """Return the page of the session's timeline that holds the position, and what the reader may do.

    A position beyond the end is on the last page.
    """
    start = min(max(looked.at, 0), max(session.position - 1, 0)) // EVENTS_A_PAGE * EVENTS_A_PAGE
    events = queries.events_page(session.pk, start=start)
    outline = queries.outline_of(session.pk)
    invocations = queries.invocations_of(session.pk)
    requests = approval_desk().of_session(session.pk)
    by_id = {str(request.pk): request for request in requests}
    last = events[-1].position if events else start
    total = max(session.position, last + 1 if events else 0)
    complete = last + 1 >= total
    question = open_question(session.pk) if session.status == SessionStatus.WAITING_PERSON else None
    undoing = undoing_of(session, invocations, outline, looked.reader, looked.attempt)
    story = tell(
        outline,
        {str(one.pk): Write(one.tool, one.preview.get("effect", "")) for one in invocations},
        title=session.title,
        sender=session.requester,
        waiting=session.status in _WITH_PEOPLE,
        now=now,
    )
    row = _row(session, looked.reader, requests, question)
    page = SessionPage(
        pk=str(session.pk),
        id=session_code(session.pk),
        title=reveal(session.title),
        customer=reveal(session.customer_id),
        state=_state(row, session.outcome),
        agent=str(session.agent_version),
        model=session.planner,
        asked_by=actor_name(session.created_by) if session.created_by.startswith("user:") else "",
        started=session.created_at,
        ended=session.finished_at,
        story=story.parts,
        stands=stands_of(row, outline),
        sums=_sums(session, story.people_seconds, now),
        waterfall=waterfall_of(events, by_id),
        entries=entries_of(events, _known(session, invocations, by_id, undoing, complete=complete)),
        first_position=start,
        last_position=last,
        total=total,
        earlier_at=start - EVENTS_A_PAGE if start else None,
        later_at=None if complete else last + 1,
        moving=session.status in _AT_WORK and complete and row.frozen is None and looked.attempt is None,
    )
    panel = panel_of(session, looked.reader, outline, question, tool=looked.tool, attempt=looked.attempt)
    return page, panel


_AT_WORK = (SessionStatus.QUEUED, SessionStatus.RUNNING)
_WITH_PEOPLE = (SessionStatus.WAITING_APPROVAL, SessionStatus.WAITING_PERSON, SessionStatus.PAUSED)


def _known(
    session: Session,
    invocations: Sequence[Invocation],
    requests: Mapping[str, RequestSummary],
    undoing: Mapping[str, Undoing],
    *,
    complete: bool,
) -> Known:
    return Known(
        arguments={str(one.pk): one.arguments for one in invocations},
        requests=requests,
        writes=_writes_of(session),
        source=f"{session.subject_kind.capitalize()} {session.subject_id}",
        complete=complete,
        calls={str(one.pk): one.position for one in invocations},
        states={str(one.pk): one.state for one in invocations},
        undoing=undoing,
    )


def _writes_of(session: Session) -> frozenset[str]:
    """The role's writing tools; none when the installation no longer has the role."""
    role = role_of(session)
    return frozenset(tool.name for tool in role.tools if tool.is_write) if role else frozenset()


def _state(row: Row, outcome: str) -> State:
    if row.frozen:
        return State("frozen", "frozen")
    if row.asked and not row.wanted:
        return State("notice", f"waits for {row.asked[0]}")
    return standing(row.status, outcome, taken_by=row.taken_by, wanted=row.wanted)


def _row(session: Session, reader: Reader, requests: Sequence[RequestSummary], question: Question | None) -> Row:
    asked = None
    if session.status == SessionStatus.WAITING_APPROVAL:
        request = next((request for request in reversed(requests) if request.state == "pending"), None)
        if request is not None:
            link = Link(reverse("approval_request", args=[request.pk]), f"Open {request.code}")
            asked = (request.queue, request.due, link)
    freeze = freeze_of(session) if session.status in _AT_WORK else None
    return Row(
        status=session.status,
        wanted="" if SessionStatus(session.status) in ENDED else session.wanted,
        taken_by=session.taken_by,
        actor=reader.actor,
        wake_at=session.wake_at,
        asked=asked,
        answer_by=question.expires_at if question else None,
        frozen=(freeze.frozen_by, freeze.reason) if freeze else None,
        all_frozen=freeze is not None and freeze.agent_id is None,
        spent=session.status == SessionStatus.QUEUED and day_is_spent(reader.tenant),
    )


def _sums(session: Session, people_seconds: float, now: datetime) -> list[Sum]:
    took = ((session.finished_at or now) - session.created_at).total_seconds()
    share = f"{round(100 * people_seconds / took)} %" if people_seconds and took else ""
    return [
        Sum(label="Took", value=duration_words(took)),
        Sum(label="With people", value=duration_words(people_seconds), note=share),
        Sum(label="Gates", value=str(session.gates)),
        Sum(label="Priority", value=PRIORITIES[session.priority]),
        Sum(label="Workstream", value=session.workstream or "–"),
    ]


def step_page(session: Session, position: int) -> StepPage | None:
    """Return input and output of the call that the event at ``position`` belongs to, None when there is none."""
    positions = queries.related_positions(session.pk, position)
    if positions is None:
        return None
    event = events_of(session.pk, start=position, limit=1)[0]
    payloads = _payloads(session.pk, positions)
    found = (("Input", "arguments"), ("Output", "result"), ("Output", "answer"))
    return StepPage(
        session_pk=str(session.pk),
        session_id=session_code(session.pk),
        position=position,
        tool=str(event.facts.get("tool") or event.type),
        at=event.at,
        payloads=[_payload(label, payloads[name]) for label, name in found if name in payloads],
    )


def step_download(session: Session, position: int) -> bytes | None:
    """Return everything that was recorded of a call as JSON, event by event, None when there is no such event."""
    positions = queries.related_positions(session.pk, position)
    if positions is None:
        return None
    wanted = set(positions)
    events = events_of(session.pk, start=positions[0], limit=positions[-1] - positions[0] + 1)
    told = [
        {
            "position": event.position,
            "at": event.at.isoformat(),
            "type": event.type,
            "actor": event.actor,
            "refs": event.refs,
            "facts": event.facts,
            "payload": None if event.body is None else json.loads(event.body),
        }
        for event in events
        if event.position in wanted
    ]
    return json.dumps({"session": str(session.pk), "events": told}, ensure_ascii=False, indent=2).encode()


def _payloads(session_id: UUID, positions: Sequence[int]) -> dict[str, JSON]:
    """Return the parts of the payloads by name; of two with one name the later."""
    found: dict[str, JSON] = {}
    for position in positions:
        body = payload_of(session_id, position)
        if isinstance(body, Mapping):
            found.update(body)
    return found


def _payload(label: Any, value: JSON) -> Payload:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    raw = text.encode()
    shown = raw[:SHOWN_BYTES].decode("utf-8", "ignore")
    return Payload(label=label, text=reveal(shown), shown=len(shown.encode()), total=len(raw))
