"""Editing a proposal: the call's arguments as a form made from the tool's JSON Schema."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agentops.console.access import Reader, staff_page
from agentops.console.reveal import reveal
from agentops.console.session_queries import role_of
from agentops.console.step_form import PREFIX, JSONText, LinesField, StepForm, YesNoField
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.registry.tool import ToolSpec
from agentops.runtime.models import Session
from approvals import drafts, verbs
from approvals.answering import OK, Sent, address_of, found_by
from approvals.duties.rights import why_not
from approvals.models import ApprovalRequest
from approvals.page_parts.data import status_of
from approvals.page_parts.words import flat
from approvals.refusals import NotAllowed


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_page()
def edit(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Show the arguments as a form; a POST proposes them anew, as the person's own proposal."""
    sent = found_by(request, reader, pk)
    tool = _tool_of(sent.approval)
    if tool is None:
        return _page(sent, None, "The tool is not installed any more, so its form cannot be made.", status=409)
    if request.method != "POST":
        return _page(sent, _form(tool, initial=_initial(tool, sent.approval.arguments)))
    form = _form(tool, request.POST)
    if not form.is_valid():
        return _page(sent, form, status=422)
    if form.arguments == sent.approval.arguments:
        return _page(sent, form, "Nothing is changed yet. To agree with it as it is, approve it.", status=422)
    return _propose(sent, form)


def _propose(sent: Sent, form: StepForm) -> HttpResponse:
    approval, person = sent.approval, sent.reader.person
    try:
        verbs.edit_request(
            request_id=approval.pk,
            person=person,
            arguments=form.arguments,
            digest=sent.digest,
            reason=form.cleaned_data["rationale"],
            now=utcnow(),
        )
    except ApprovalRequest.DoesNotExist as error:
        raise Http404("no such request") from error
    except AgentOpsError as error:
        return _page(sent, form, error.in_full, status=403 if isinstance(error, NotAllowed) else 409)
    drafts.forget(approval, person)
    return redirect(address_of(approval.pk))


def _tool_of(approval: ApprovalRequest) -> ToolSpec | None:
    role = role_of(Session.objects.get(pk=approval.session_id))
    return next((tool for tool in role.tools if tool.name == approval.tool), None) if role else None


def _form(tool: ToolSpec, data: Any = None, initial: Mapping[str, Any] | None = None) -> StepForm:
    form = StepForm(data, tool=tool, initial=initial, auto_id="edit-%s")
    form.fields["rationale"].label = "Why you change it"
    return form


def _initial(tool: ToolSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the fields of the form write them."""
    fields = StepForm(tool=tool).fields
    return {
        f"{PREFIX}{name}": _as_typed(fields[f"{PREFIX}{name}"], value)
        for name, value in arguments.items()
        if f"{PREFIX}{name}" in fields
    }


def _as_typed(field: object, value: Any) -> Any:
    if isinstance(field, LinesField):
        return "\n".join(value)
    if isinstance(field, YesNoField):
        return "true" if value else "false"
    if isinstance(field, JSONText):
        return json.dumps(value, ensure_ascii=False, indent=2)
    return value


def _page(sent: Sent, form: StepForm | None, error: str = "", *, status: int = OK) -> HttpResponse:
    if status != OK:
        sent = found_by(sent.http, sent.reader, sent.approval.pk)
    approval, now = sent.approval, sent.view.now
    is_open = status_of(approval, now) == "pending"
    against = why_not(approval, sent.view) if is_open else ("This request is closed.", "")
    shown = {
        "approval": approval,
        "effect": reveal(approval.effect),
        "title": flat(approval.effect),
        "form": form if against is None else None,
        # A form that comes back is about the page that it was filled in on.
        "digest": sent.digest or approval.digest,
        "against": against,
        "error": error,
    }
    return render(sent.http, "approvals/edit.html", shown, status=status)
