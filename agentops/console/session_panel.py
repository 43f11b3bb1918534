"""The parts of a session's page with which people step in, and those that say what it has used."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.urls import reverse

from agentops.console import controls as may
from agentops.console import session_queries as queries
from agentops.console.attempts import Attempt
from agentops.console.budgets import budgets_of
from agentops.console.chart import chart_svg
from agentops.console.control_forms import (
    AnswerForm,
    CancelForm,
    ElevateForm,
    FinishForm,
    NoteForm,
    NothingForm,
    PriorityForm,
    ReasonForm,
)
from agentops.console.marks import Option
from agentops.console.panels import Control, ElevationRow, Panel, ProcessRow, QuestionPanel, ToolChoice
from agentops.console.phases import PhaseRow, phases_of
from agentops.console.records import Told
from agentops.console.reveal import reveal
from agentops.console.said import actor_name
from agentops.console.step_form import StepForm
from agentops.console.undoing import UNDO
from agentops.registry.tool import ToolSpec
from agentops.runtime.models import Question, Session
from agentops.runtime.states import ENDED, SessionStatus
from agentops.tenancy.access import Reader

ANSWER, ELEVATE, REVOKE = "answer", "elevate", "revoke"

# label, button, icon, what it does
_SAYS = {
    may.PAUSE: ("Pause", "Pause the session", "pause", "It stops after the present step, until somebody resumes it."),
    may.RESUME: ("Resume", "Resume", "play", "The agent goes on where it stopped."),
    may.TAKE_OVER: (
        "Take over",
        "Take the session over",
        "user",
        "You do the next steps instead of the agent, under the same rules, until you hand it back.",
    ),
    may.HAND_BACK: ("Hand back", "Hand it back to the agent", "reply", "The agent goes on from where you stopped."),
    may.PRIORITY: ("Priority", "Set the priority", "steps", "One class is worth ten minutes of waiting."),
    may.CANCEL: (
        "Cancel…",
        "Cancel the session for good",
        "x",
        "It ends after the present step. What was done stays done, no further call is made. It cannot be resumed.",
    ),
    may.FINISH: (
        "Finish with an answer",
        "Finish with this answer",
        "check",
        "The session ends with your words, without the agent.",
    ),
}
_FORMS: dict[str, type[forms.Form]] = {
    may.PAUSE: ReasonForm,
    may.RESUME: NothingForm,
    may.TAKE_OVER: ReasonForm,
    may.HAND_BACK: NoteForm,
    may.PRIORITY: PriorityForm,
    may.CANCEL: CancelForm,
    may.FINISH: FinishForm,
}


def form_for(what: str, data: Any = None, *, priority: int = 1) -> forms.Form:
    """Return the form of a control, filled with ``data`` when it was sent. Its ids begin with the control's name."""
    return _FORMS[what](data, auto_id=f"{what}-%s", initial={"priority": str(priority)})


def answer_form(question: Question, data: Any = None) -> AnswerForm:
    """Return the form in which an open question is answered."""
    return AnswerForm(data, options=[str(option) for option in question.options], auto_id="answer-%s")


def elevate_form(scopes: Sequence[str], data: Any = None) -> ElevateForm:
    """Return the form in which an elevated scope is given."""
    return ElevateForm(data, scopes=list(scopes), auto_id="elevate-%s")


def step_form(tool: ToolSpec, data: Any = None) -> StepForm:
    """Return the form of a step with ``tool``."""
    return StepForm(data, tool=tool, auto_id="step-%s")


def panel_of(
    session: Session,
    reader: Reader,
    outline: Sequence[Told],
    question: Question | None,
    *,
    tool: str,
    attempt: Attempt | None,
) -> Panel:
    """Return what the reader may do with the session, and what it has used. ``tool`` is the one chosen for a step."""
    names: tuple[str, ...] = ()
    if reader.may_operate:
        names = may.applicable(session.status, wanted=session.wanted, taken_by=session.taken_by, actor=reader.actor)
    elif session.taken_by == reader.actor:
        offered = may.applicable(session.status, wanted=session.wanted, taken_by=session.taken_by, actor=reader.actor)
        names = tuple(name for name in offered if name in may.BY_WHOEVER_TOOK_IT)
    beside = (may.STEP, may.FINISH)
    scopes = _scopes(session)
    elevations = queries.active_elevations(session) if scopes else []
    may_elevate = bool(scopes) and reader.may_elevate and SessionStatus(session.status) not in ENDED
    return Panel(
        turned_down=_turned_down(attempt),
        controls=[_control(session, name, attempt) for name in names if name not in beside],
        step=_step(session, tool, attempt) if may.STEP in names else None,
        finish=_control(session, may.FINISH, attempt) if may.FINISH in names else None,
        question=_question(session, reader, question, attempt),
        budgets=budgets_of(session, outline),
        phases=_phases(session, outline),
        processes=_processes(session, outline),
        scopes=scopes,
        elevations=[
            ElevationRow(
                scope=one.scope,
                by=actor_name(one.given_by),
                reason=reveal(one.reason),
                until=one.expires_at,
                revoke_url=_url("session_revoke", session.pk, one.pk) if reader.may_elevate else "",
            )
            for one in elevations
        ],
        elevate=_elevate(session, scopes, attempt) if may_elevate else None,
        may_prove=reader.may_prove,
    )


def _turned_down(attempt: Attempt | None) -> list[str]:
    """What stands against a call's undoing stands at the call."""
    return [] if attempt is None or attempt.what == UNDO else [str(words) for words in attempt.form.non_field_errors()]


def _url(name: str, *args: UUID) -> str:
    return reverse(name, args=args)


def _control(session: Session, name: str, attempt: Attempt | None) -> Control:
    label, button, icon, words = _SAYS[name]
    tried = attempt.form_of(name) if attempt else None
    return Control(
        name=name,
        url=_url(f"session_{name}", session.pk),
        label=label,
        button=button,
        words=words,
        icon=icon,
        form=tried or form_for(name, priority=session.priority),
        failed=tried is not None,
        danger=name == may.CANCEL,
    )


def _step(session: Session, chosen: str, attempt: Attempt | None) -> ToolChoice:
    tools = {tool.name: tool for tool in queries.granted_tools(session)}
    options = [Option("", "Choose a tool", chosen not in tools)]
    options += [Option(name, f"{name} ({_kind(tool)})", name == chosen) for name, tool in tools.items()]
    tool = tools.get(chosen)
    if tool is None:
        return ToolChoice(options=options)
    return ToolChoice(
        options=options,
        name=tool.name,
        description=tool.description,
        effect=f"{_kind(tool).capitalize()}. {tool.reversibility.capitalize()}." if tool.is_write else "Looks up only.",
        form=(attempt.form_of(may.STEP) if attempt else None) or step_form(tool),
        url=_url("session_step", session.pk),
    )


def _kind(tool: ToolSpec) -> str:
    words = {"read": "looks up", "write-soft": "changes something", "write-hard": "changes something that matters"}
    return f"{words[tool.tier.value]}, elevated scope" if tool.elevated else words[tool.tier.value]


def _question(
    session: Session, reader: Reader, question: Question | None, attempt: Attempt | None
) -> QuestionPanel | None:
    if question is None:
        return None
    tried = attempt.form_of(ANSWER, str(question.pk)) if attempt else None
    return QuestionPanel(
        url=_url("session_answer", session.pk, question.pk),
        who=str(session.agent_version),
        body=reveal(question.text),
        asked=question.asked_at,
        until=question.expires_at,
        form=(tried or answer_form(question)) if reader.may_operate else None,
    )


def _phases(session: Session, outline: Sequence[Told]) -> list[PhaseRow]:
    role = queries.role_of(session)
    if role is None or not role.phases:
        return []
    return phases_of(role.phases, outline, {tool.name for tool in queries.granted_tools(session)})


def _processes(session: Session, outline: Sequence[Told]) -> list[ProcessRow]:
    role = queries.role_of(session)
    if role is None or not role.processes:
        return []
    specs = {spec.name: spec for spec in role.processes}
    taken = [(e.facts.get("process"), e.facts.get("edge", "")) for e in outline if e.type in _STEPS]
    rows = []
    for one in queries.processes_of(session):
        spec = specs.get(one.process)
        known = spec is not None and spec.version == one.version
        visited = [edge for process, edge in taken if process == one.process]
        chart = chart_svg(spec, one.state, visited) if spec is not None and known else None
        rows.append(ProcessRow(name=one.process, state=one.state, failed=one.compensating, chart=chart))
    return rows


_STEPS = ("process.began", "process.moved")


def _scopes(session: Session) -> list[str]:
    role = queries.role_of(session)
    return sorted({tool.auth_scope for tool in role.tools if tool.elevated}) if role else []


def _elevate(session: Session, scopes: Sequence[str], attempt: Attempt | None) -> Control:
    tried = attempt.form_of(ELEVATE) if attempt else None
    return Control(
        name=ELEVATE,
        url=_url("session_elevate", session.pk),
        label="Allow an elevated scope",
        button="Allow it",
        words="For this session alone, and for at most eight hours. It is on record with your name.",
        icon="sliders",
        form=tried or elevate_form(scopes),
        failed=tried is not None,
    )
