"""The home page and the session list, from queries to what the templates receive."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from agentops.console import queries
from agentops.console.codes import as_uuid, session_code
from agentops.console.formats import cost_words, duration_words, time_left_words
from agentops.console.marks import Filter, Option, State, Tier
from agentops.console.ports import approval_desk
from agentops.console.presenters import (
    Failure,
    HomePage,
    HomeRequest,
    HomeSession,
    OutcomeCount,
    SessionListPage,
    SessionRow,
)
from agentops.console.queries import Frozen, SessionFilter
from agentops.console.records import RequestSummary
from agentops.console.reveal import reveal_cut
from agentops.console.said import standing
from agentops.kernel.errors import IncidentCode
from agentops.runtime.answers import OUTCOMES
from agentops.runtime.models import Session
from agentops.runtime.states import ENDED, SessionStatus
from agentops.tenancy.access import Reader

FIRST_FEW = 5
SOON_SECONDS = 3600
TITLE = 160
MOST_TEXT = 200


def home_page(reader: Reader, *, now: datetime) -> HomePage:
    """Return what waits, what runs, what failed and how the sessions of the tenant's day stand."""
    tenant = reader.tenant.pk
    waiting = approval_desk().waiting(reader.person, tenant, limit=FIRST_FEW)
    running, running_total = queries.sessions_at_work(tenant, limit=FIRST_FEW)
    morning = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    today = queries.sessions_today(tenant, since=morning)
    started = sum(count for _, _, count in today.standing)
    return HomePage(
        as_of=now,
        waiting=[_home_request(request, now) for request in waiting.first],
        waiting_total=waiting.total,
        first_due=waiting.first[0].due if waiting.first else None,
        running=[_home_session(session) for session in running],
        running_total=running_total,
        running_url=_list_url(status="open"),
        failures=[_failure(code, count, last) for code, count, last in today.stopped],
        failed_total=sum(count for _, count, _ in today.stopped),
        failed_url=_list_url(status=SessionStatus.STOPPED),
        outcomes=[_outcome(status, outcome, count, started) for status, outcome, count in _together(today.standing)],
        sessions_today=started,
        can_see_approvals=True,
        can_start_session=reader.may_start,
    )


def _home_request(request: RequestSummary, now: datetime) -> HomeRequest:
    left = (request.due - now).total_seconds()
    return HomeRequest(
        pk=str(request.pk),
        effect=reveal_cut(request.effect, TITLE),
        tier=Tier(request.level),
        due=request.due,
        time_left=time_left_words(left),
        soon=left < SOON_SECONDS,
        your_turn=request.your_turn,
    )


def _home_session(session: Session) -> HomeSession:
    return HomeSession(
        pk=str(session.pk),
        title=reveal_cut(session.title, TITLE),
        agent=str(session.agent_version),
        state=_stands(session),
        since=session.created_at,
    )


def _stands(session: Session) -> State:
    wanted = "" if SessionStatus(session.status) in ENDED else session.wanted
    return standing(session.status, session.outcome, taken_by=session.taken_by, wanted=wanted)


def _failure(code: str, count: int, last: datetime) -> Failure:
    meaning = IncidentCode(code).words if code in _STOPS else ""
    return Failure(code=code, meaning=meaning, count=count, last_at=last, url=_list_url(stop=code))


def _together(rows: Sequence[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Add up what reads the same: a stopped session has an outcome too, but it is its stop that counts."""
    found: dict[tuple[str, str], int] = {}
    for status, outcome, count in rows:
        key = (status, outcome if status == SessionStatus.FINISHED else "")
        found[key] = found.get(key, 0) + count
    return sorted(((*key, count) for key, count in found.items()), key=lambda row: -row[2])


def _outcome(status: str, outcome: str, count: int, total: int) -> OutcomeCount:
    finished = status == SessionStatus.FINISHED
    return OutcomeCount(
        state=standing(status, outcome),
        count=count,
        share=round(1000 * count / total) if total else 0,
        url=_list_url(status=status, outcome=outcome) if finished else _list_url(status=status),
    )


def _list_url(**params: str) -> str:
    return f"{reverse('session_list')}?{urlencode(params)}"


def chosen_filter(params: Mapping[str, str], reader: Reader) -> SessionFilter:
    """Return what a query string asks for. Values that no filter offers are read as no restriction."""
    return SessionFilter(
        text=params.get("q", "").replace("\x00", "").strip()[:MOST_TEXT],
        status=_offered(params.get("status", ""), _STATUSES),
        outcome=_offered(params.get("outcome", ""), _OUTCOME_NAMES),
        stop=_offered(params.get("stop", ""), _STOPS),
        actor=reader.actor,
    )


_STATUSES = {
    "open": "not ended",
    "mine": "taken over by me",
    "queued": "queued",
    "running": "running",
    "sleeping": "tries again later",
    "waiting_approval": "waits for a decision",
    "waiting_person": "waits for an answer",
    "paused": "paused",
    "frozen": "frozen",
    "finished": "finished",
    "stopped": "stopped",
    "cancelled": "cancelled",
}
_OUTCOME_NAMES = {outcome: outcome for outcome in (*OUTCOMES, "no action")}
_STOPS = {code.value: f"{code.value}: {code.words}" for code in IncidentCode}


def _offered(value: str, offered: Mapping[str, str]) -> str:
    return value if value in offered else ""


def session_list_page(reader: Reader, params: Mapping[str, str], *, now: datetime) -> SessionListPage:
    """Return one page of the list; ``after`` in ``params`` is the id of the last session of the page before."""
    chosen = chosen_filter(params, reader)
    after = as_uuid(params.get("after", ""))
    frozen = queries.frozen_in(reader.tenant.pk)
    rows, more = queries.session_page(reader.tenant.pk, chosen, frozen, after=after)
    return SessionListPage(
        query=chosen.text,
        filters=[
            _filter("status", "Status", "Any status", _STATUSES, chosen.status),
            _filter("outcome", "Outcome", "Any outcome", _OUTCOME_NAMES, chosen.outcome),
            _filter("stop", "Incident code", "Any incident code", _STOPS, chosen.stop),
        ],
        filtered=chosen.active,
        rows=[_row(session, frozen, now) for session in rows],
        next_url=_page_url(chosen, rows[-1].pk) if more else "",
        first_url=_page_url(chosen, None) if after else "",
        clear_url="?",
        can_start_session=reader.may_start,
    )


def _filter(name: str, label: str, nothing: str, offered: Mapping[str, str], chosen: str) -> Filter:
    options = [Option("", nothing, not chosen)]
    options += [Option(value, words, value == chosen) for value, words in offered.items()]
    return Filter(name, label, options)


def _page_url(chosen: SessionFilter, after: UUID | None) -> str:
    params = {"q": chosen.text, "status": chosen.status, "outcome": chosen.outcome, "stop": chosen.stop}
    params["after"] = str(after) if after else ""
    return "?" + urlencode({name: value for name, value in params.items() if value})


def _row(session: Session, frozen: Frozen, now: datetime) -> SessionRow:
    ended = session.finished_at or now
    return SessionRow(
        pk=str(session.pk),
        id=session_code(session.pk),
        title=reveal_cut(session.title, TITLE),
        customer=reveal_cut(session.requester or session.customer_id, TITLE),
        agent=str(session.agent_version),
        state=State("frozen", "frozen") if frozen.covers(session) else _stands(session),
        incident=session.stop_code,
        meaning=IncidentCode(session.stop_code).words if session.stop_code in _STOPS else "",
        cost=cost_words(session.cost_micro),
        duration=duration_words((ended - session.created_at).total_seconds()),
        gates=session.gates,
        started=session.created_at,
    )
