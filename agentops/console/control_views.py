"""Stepping into a session: each is one POST. What stands against it is shown in place, with what was typed.

Whoever may not operate gets the 404 of a page that does not exist. A form that is not complete is answered with 422,
what the runtime turns down with 409; with htmx and without, the answer is the session's page.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from agentops.agents.models import Elevation
from agentops.console import controls as may
from agentops.console.attempts import Attempt
from agentops.console.control_forms import NothingForm, ReasonForm
from agentops.console.session_page import Looked, session_page
from agentops.console.session_panel import ANSWER, ELEVATE, REVOKE, answer_form, elevate_form, form_for, step_form
from agentops.console.session_queries import granted_tools
from agentops.console.undoing import UNDO
from agentops.console.views import position_in, session_of
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.runtime import control, elevating
from agentops.runtime.models import Invocation, Question, Session
from agentops.runtime.questions import answer_question
from agentops.tenancy.access import ELEVATORS, OPERATORS, Reader, staff_page

NOT_COMPLETE, TURNED_DOWN = 422, 409

Act = Callable[[dict[str, Any]], object]


def _do(request: HttpRequest, reader: Reader, session: Session, attempt: Attempt, act: Act) -> HttpResponse:
    """Do what the form asks for when it is complete, and answer with the session's page."""
    status = NOT_COMPLETE
    if attempt.form.is_valid():
        try:
            act(attempt.form.cleaned_data)
        except AgentOpsError as error:
            attempt.form.add_error(None, error.in_full)
            status = TURNED_DOWN
        else:
            return _done(request, reader, session)
    return _page(request, Looked(reader, position_in(request), request.POST.get("tool", ""), attempt), session, status)


def _done(request: HttpRequest, reader: Reader, session: Session) -> HttpResponse:
    at = position_in(request)
    if request.headers.get("HX-Request") == "true":
        return _page(request, Looked(reader, at), session, 200)
    return redirect(reverse("session_detail", args=[session.pk]) + (f"?at={at}" if at else ""))


def _page(request: HttpRequest, looked: Looked, session: Session, status: int) -> HttpResponse:
    page, panel = session_page(session_of(looked.reader, session.pk), looked, now=utcnow())
    return render(request, "console/session.html", {"page": page, "panel": panel}, status=status)


View = Callable[..., HttpResponseBase]


def _worked_by(reader: Reader, session_id: UUID) -> Session:
    """Return a session that the reader works: an operator, or whoever took it over, as approvers do from a request."""
    session = session_of(reader, session_id)
    if not (reader.may_operate or session.taken_by == reader.actor):
        raise Http404("not for this person")
    return session


def _operation(what: str, act: Callable[..., object], *given: str) -> View:
    """Return the view of an operation on a whole session; ``given`` are the fields of its form that ``act`` takes."""
    theirs = what in may.BY_WHOEVER_TOOK_IT

    @require_POST
    @never_cache
    @staff_page(*(() if theirs else OPERATORS))
    def view(request: HttpRequest, reader: Reader, session_id: UUID) -> HttpResponse:
        session = _worked_by(reader, session_id) if theirs else session_of(reader, session_id)

        def do(values: dict[str, Any]) -> None:
            act(session_id=session.pk, actor=reader.actor, **{name: values[name] for name in given})

        return _do(request, reader, session, Attempt(what, form_for(what, request.POST)), do)

    view.__name__ = what
    return view


pause = _operation(may.PAUSE, control.pause_session, "reason")
resume = _operation(may.RESUME, control.resume_session)
cancel = _operation(may.CANCEL, control.cancel_session, "reason")
take_over = _operation(may.TAKE_OVER, control.take_over, "reason")
hand_back = _operation(may.HAND_BACK, control.hand_back, "note")
priority = _operation(may.PRIORITY, control.set_priority, "priority")
finish = _operation(may.FINISH, control.finish_by_person, "message")


@require_POST
@never_cache
@staff_page()
def step(request: HttpRequest, reader: Reader, session_id: UUID) -> HttpResponse:
    """Propose one call in the agent's place."""
    session = _worked_by(reader, session_id)
    chosen = request.POST.get("tool", "")
    tool = next((tool for tool in granted_tools(session) if tool.name == chosen), None)
    if tool is None:
        nothing = NothingForm(request.POST)
        nothing.add_error(None, "Choose one of the tools that the agent was given.")
        looked = Looked(reader, position_in(request), attempt=Attempt(may.STEP, nothing))
        return _page(request, looked, session, NOT_COMPLETE)
    form = step_form(tool, request.POST)

    def propose(values: dict[str, Any]) -> None:
        control.propose_call(
            session_id=session.pk,
            actor=reader.actor,
            tool=tool.name,
            arguments=form.arguments,
            rationale=values["rationale"],
        )

    return _do(request, reader, session, Attempt(may.STEP, form), propose)


@require_POST
@never_cache
@staff_page(*OPERATORS)
def answer(request: HttpRequest, reader: Reader, session_id: UUID, question_id: UUID) -> HttpResponse:
    """Answer what the agent asked."""
    session = session_of(reader, session_id)
    question = Question.objects.filter(pk=question_id, session_id=session.pk).first()
    if question is None:
        raise Http404("no such question")
    form = answer_form(question, request.POST)

    def give(values: dict[str, Any]) -> None:
        answer_question(question_id=question.pk, actor=reader.actor, answer=form.answer)

    return _do(request, reader, session, Attempt(ANSWER, form, str(question.pk)), give)


@require_POST
@never_cache
@staff_page(*OPERATORS)
def undo(request: HttpRequest, reader: Reader, session_id: UUID, invocation_id: UUID) -> HttpResponse:
    """Propose to take a call back."""
    session = session_of(reader, session_id)
    if not Invocation.objects.filter(pk=invocation_id, session_id=session.pk).exists():
        raise Http404("no such call")
    attempt = Attempt(UNDO, ReasonForm(request.POST), str(invocation_id))

    def propose(values: dict[str, Any]) -> None:
        control.propose_undo(invocation_id=invocation_id, actor=reader.actor, reason=values["reason"])

    return _do(request, reader, session, attempt, propose)


@require_POST
@never_cache
@staff_page(*ELEVATORS)
def elevate(request: HttpRequest, reader: Reader, session_id: UUID) -> HttpResponse:
    """Let the session use an elevated scope for some hours."""
    session = session_of(reader, session_id)
    form = elevate_form(elevating.elevated_scopes(session), request.POST)

    def give(values: dict[str, Any]) -> None:
        elevating.elevate(
            session_id=session.pk,
            scope=values["scope"],
            actor=reader.actor,
            reason=values["reason"],
            lasts=timedelta(hours=values["hours"]),
        )

    return _do(request, reader, session, Attempt(ELEVATE, form), give)


@require_POST
@never_cache
@staff_page(*ELEVATORS)
def revoke(request: HttpRequest, reader: Reader, session_id: UUID, elevation_id: UUID) -> HttpResponse:
    """Take an elevated scope back at once."""
    session = session_of(reader, session_id)
    if not Elevation.objects.filter(pk=elevation_id, session_id=session.pk).exists():
        raise Http404("no such elevation")
    attempt = Attempt(REVOKE, NothingForm(request.POST))

    def take_back(values: dict[str, Any]) -> None:
        elevating.revoke(elevation_id=elevation_id, actor=reader.actor)

    return _do(request, reader, session, attempt, take_back)
