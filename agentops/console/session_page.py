"""The page of one session, and the page of one step's payload."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse

from agentops.console import queries
from agentops.console.codes import session_code
from agentops.console.entries import Known, entries_of
from agentops.console.formats import cost_words, duration_words
from agentops.console.marks import Link, State
from agentops.console.ports import approval_desk
from agentops.console.presenters import Payload, SessionPage, StepPage, WaitsOn
from agentops.console.queries import EVENTS_A_PAGE
from agentops.console.records import RequestSummary
from agentops.console.reveal import reveal
from agentops.console.said import actor_name, standing
from agentops.console.story import Write, tell
from agentops.console.timeline import Sum
from agentops.console.waterfall import waterfall_of
from agentops.kernel.canonical import JSON
from agentops.ledger.queries import events_of, payload_of
from agentops.registry.roles import UnknownRole, get_role
from agentops.runtime.models import Session
from agentops.runtime.states import SessionStatus

SHOWN_BYTES = 20_000
"""How much of an input or output is put into a page; a download has all of it."""


def session_page(session: Session, *, at: int, now: datetime) -> SessionPage:
    """Return the page of the session's timeline that holds position ``at``; beyond the end it is the last one."""
    start = min(max(at, 0), max(session.position - 1, 0)) // EVENTS_A_PAGE * EVENTS_A_PAGE
    events = queries.events_page(session.pk, start=start)
    invocations = queries.invocations_of(session.pk)
    requests = approval_desk().of_session(session.pk)
    by_id = {str(request.pk): request for request in requests}
    last = events[-1].position if events else start
    total = max(session.position, last + 1 if events else 0)
    known = Known(
        arguments={str(one.pk): one.arguments for one in invocations},
        requests=by_id,
        writes=_writes_of(session.role),
        source=f"{session.subject_kind.capitalize()} {session.subject_id}",
        complete=last + 1 >= total,
    )
    story = tell(
        queries.outline_of(session.pk),
        {str(one.pk): Write(one.tool, one.preview.get("effect", "")) for one in invocations},
        title=session.title,
        sender=session.requester,
        waiting=session.status == SessionStatus.WAITING_APPROVAL,
        now=now,
    )
    waits_on = _waits_on(session, requests)
    return SessionPage(
        pk=str(session.pk),
        id=session_code(session.pk),
        title=reveal(session.title),
        customer=reveal(session.customer_id),
        state=_state(session, waits_on),
        agent=str(session.agent_version),
        model=session.planner,
        asked_by=actor_name(session.created_by) if session.created_by.startswith("user:") else "",
        started=session.created_at,
        ended=session.finished_at,
        story=story.parts,
        waits_on=waits_on,
        sums=_sums(session, story.people_seconds, now),
        waterfall=waterfall_of(events, by_id),
        entries=entries_of(events, known),
        first_position=start,
        last_position=last,
        total=total,
        earlier_at=start - EVENTS_A_PAGE if start else None,
        later_at=last + 1 if last + 1 < total else None,
        moving=session.status in (SessionStatus.QUEUED, SessionStatus.RUNNING) and total <= EVENTS_A_PAGE,
    )


def _writes_of(role_name: str) -> frozenset[str]:
    """The role's writing tools; none when the installation no longer has the role."""
    try:
        return frozenset(tool.name for tool in get_role(role_name).tools if tool.is_write)
    except UnknownRole:
        return frozenset()


def _state(session: Session, waits_on: WaitsOn | None) -> State:
    if session.status == SessionStatus.WAITING_APPROVAL and waits_on is not None:
        return State("notice", f"waits for {waits_on.whom}")
    return standing(session.status, session.outcome)


def _waits_on(session: Session, requests: Sequence[RequestSummary]) -> WaitsOn | None:
    if session.status == SessionStatus.WAITING_APPROVAL:
        request = next((request for request in reversed(requests) if request.state == "pending"), None)
        if request is None:
            return WaitsOn(whom="a person", until=None, link=None)
        link = Link(reverse("approval_request", args=[request.pk]), f"Open {request.code}")
        return WaitsOn(whom=request.queue, until=request.due, link=link)
    if session.status == SessionStatus.SLEEPING:
        return WaitsOn(whom="its next attempt", until=session.wake_at, link=None)
    if session.status == SessionStatus.QUEUED:
        return WaitsOn(whom="a free worker", until=None, link=None)
    return None


def _sums(session: Session, people_seconds: float, now: datetime) -> list[Sum]:
    version = session.agent_version
    took = ((session.finished_at or now) - session.created_at).total_seconds()
    share = f"{round(100 * people_seconds / took)} %" if people_seconds and took else ""
    return [
        Sum(label="Took", value=duration_words(took)),
        Sum(label="With people", value=duration_words(people_seconds), note=share),
        Sum(
            label="At work",
            value=duration_words(session.worked_ms / 1000),
            note=f"of {duration_words(version.max_seconds)}",
        ),
        Sum(label="Cost", value=cost_words(session.cost_micro), note=f"of {cost_words(version.max_cost_micro)}"),
        Sum(label="Steps", value=str(session.steps), note=f"of {version.max_steps}"),
        Sum(label="Tokens", value=f"{session.input_tokens + session.output_tokens:,}"),
        Sum(label="Gates", value=str(session.gates)),
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
