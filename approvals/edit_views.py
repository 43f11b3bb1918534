"""Editing a proposal: what is sent is proposed anew, as the person's own. What is not sent is kept as a draft."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agentops.console.marks import Text
from agentops.console.reveal import reveal
from agentops.console.step_form import StepForm
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.registry.tool import ToolSpec
from agentops.runtime.deciding import BadEdit
from agentops.tenancy.access import Reader, staff_page
from approvals import drafts, shown, verbs
from approvals.answering import OK, Sent, address_of, found_by, sent_from, survives_login
from approvals.duties.rights import why_not
from approvals.edit_form import Typed, as_fields, concealed_in, edit_form, field_at, tool_of, typed_over
from approvals.models import ApprovalRequest
from approvals.page_parts.data import status_of
from approvals.page_parts.differences import differences
from approvals.page_parts.words import flat
from approvals.presenters import Change
from approvals.queries import successor_of
from approvals.refusals import ChangedSince, NeedsReason, NotAllowed

_NO_TOOL = "The tool is not installed any more, so its form cannot be made."
_UNCHANGED = "Nothing is changed yet. To agree with it as it is, approve it."
INCOMPLETE = 422


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPage:
    """The form of an edit, or why there is none and what was typed.

    ``against`` says in a few words why the reader cannot edit, and what it takes. ``error`` is why what they sent was
    not done. ``changed``: what they typed was about an earlier page; ``differences`` say what moved since, and
    ``successor_pk`` is the request that replaced this one. ``has_draft``: the form holds what they typed before.
    ``shown`` is the signed moment of showing the page. ``concealed`` are texts of the form of which not all is seen.
    """

    pk: str
    code: str
    title: str
    effect: Text
    form: StepForm | None
    digest: str
    shown: str
    against: tuple[str, str] | None
    error: str
    changed: bool
    differences: Sequence[Change]
    successor_pk: str
    typed: Sequence[Typed]
    concealed: Sequence[Typed]
    has_draft: bool


@survives_login
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_page()
def edit(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Show the arguments as a form; a POST proposes them anew, or drops the draft (``start_over``)."""
    if request.method != "POST":
        return _page(found_by(request, reader, pk))
    sent = sent_from(request, reader, pk)
    if isinstance(sent, HttpResponse):
        return sent
    if "start_over" in request.POST:
        drafts.forget(sent.approval, reader.person, drafts.Form.EDIT)
        return redirect("approval_edit", pk)
    tool = tool_of(sent.approval)
    if tool is None:
        return _turned_down(sent, None)
    form = edit_form(tool, request.POST)
    unchanged = form.is_valid() and form.arguments == sent.approval.arguments
    if form.is_valid() and not unchanged:
        return _propose(sent, form)
    if _against(sent, tool) is not None:
        return _turned_down(sent, None)
    return _turned_down(sent, form, _UNCHANGED if unchanged else "", status=INCOMPLETE)


def _propose(sent: Sent, form: StepForm) -> HttpResponse:
    approval, person = sent.approval, sent.reader.person
    try:
        verbs.edit_request(
            request_id=approval.pk,
            person=person,
            arguments=form.arguments,
            digest=sent.digest,
            reason=form.cleaned_data[drafts.REASON],
            now=utcnow(),
        )
    except ApprovalRequest.DoesNotExist as error:
        raise Http404("no such request") from error
    except AgentOpsError as error:
        field = _field_of(error, form)
        if field:
            form.add_error(field, error.in_full)
            return _turned_down(sent, form, status=INCOMPLETE)
        words = "" if isinstance(error, ChangedSince) else error.in_full
        return _turned_down(sent, form, words, status=403 if isinstance(error, NotAllowed) else 409)
    drafts.forget(approval, person)
    return redirect(address_of(approval.pk, "#outcome"))


def _field_of(error: AgentOpsError, form: StepForm) -> str:
    """Return the field that an error is about, "" for none."""
    if isinstance(error, NeedsReason):
        return drafts.REASON
    return field_at(form, error.field) if isinstance(error, BadEdit) else ""


def _turned_down(sent: Sent, form: StepForm | None, error: str = "", *, status: int = 409) -> HttpResponse:
    """Answer with the page, read anew, and keep what was typed."""
    drafts.keep(sent.approval, sent.reader.person, sent.http.POST, utcnow())
    return _page(found_by(sent.http, sent.reader, sent.approval.pk), form, error, status=status)


def _page(sent: Sent, form: StepForm | None = None, error: str = "", *, status: int = OK) -> HttpResponse:
    """Answer with the page; ``form`` is what came back, None for one that holds the draft."""
    approval, person = sent.approval, sent.reader.person
    tool, kept = tool_of(approval), drafts.edit_kept_by(person, approval)
    before = as_fields(tool, approval.arguments) if tool else {}
    draft: Mapping[str, str] = kept.fields if kept else {}
    typed = typed_over(drafts.typed_edit(sent.http.POST) or draft, before)
    against = _against(sent, tool)
    if against is None and tool is not None and form is None:
        form = edit_form(tool, initial={**before, **draft})
    successor = None if status_of(approval, sent.view.now) == "pending" else successor_of(approval)
    stale = sent.digest != approval.digest if status != OK else kept is not None and not kept.is_current
    changed = bool(typed) and (stale or successor is not None)
    moment = str(sent.http.POST.get("shown", ""))
    page = EditPage(
        pk=str(approval.pk),
        code=approval.code,
        title=flat(approval.effect),
        effect=reveal(approval.effect),
        form=form if against is None else None,
        # What moved is told above the form, which is therefore about the request as it is now.
        digest=approval.digest,
        shown=shown.again(moment, request_id=approval.pk, person_id=person.pk, now=sent.view.now),
        against=against,
        # That it was replaced is told with what moved.
        error="" if changed and successor else error,
        changed=changed,
        differences=_moved(approval, successor) if changed else [],
        successor_pk=str(successor.pk) if successor else "",
        typed=[] if against is None else typed,
        concealed=concealed_in(form) if form is not None and against is None else [],
        has_draft=status == OK and bool(typed),
    )
    return render(sent.http, "approvals/edit.html", {"page": page, "form": page.form}, status=status)


def _against(sent: Sent, tool: ToolSpec | None) -> tuple[str, str] | None:
    if status_of(sent.approval, sent.view.now) != "pending":
        return ("This request is closed.", "")
    return why_not(sent.approval, sent.view) or (None if tool else (_NO_TOOL, ""))


def _moved(approval: ApprovalRequest, successor: ApprovalRequest | None) -> list[Change]:
    """Return what differs between the request that was edited and the one that there is now."""
    if successor is not None:
        return differences(approval, successor)
    return differences(approval.supersedes, approval) if approval.supersedes else []
