"""Working on several requests at once: one POST to say what, where it needs to be asked a second one that does it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from agentops.console.codes import as_uuid
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, staff_page
from approvals import bulk as work
from approvals.access import View, view_of
from approvals.bulk_forms import AssignForm, RejectForm
from approvals.bulk_pages import approve_page, asking_page, results_page
from approvals.bulk_rules import why_not_together
from approvals.desk_views import queue_address
from approvals.models import ApprovalRequest, Verdict


@dataclass(frozen=True)
class Task:
    """What was sent: by whom, about which requests. ``final``: it was asked before, and is to be done now."""

    request: HttpRequest
    view: View
    requests: list[ApprovalRequest]

    @property
    def final(self) -> bool:
        """Whether this is the second form."""
        return "final" in self.request.POST

    @property
    def digests(self) -> Mapping[UUID, str]:
        """What the form says was shown."""
        pairs = [text.partition(":") for text in self.request.POST.getlist("shown_digest")[: work.MOST]]
        keys = [(as_uuid(key), digest) for key, _, digest in pairs]
        return {key: digest for key, digest in keys if key is not None}

    @property
    def back(self) -> str:
        """The list to go back to."""
        return queue_address(self.request)


@require_POST
@never_cache
@staff_page()
def bulk(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Do something to all requests that were ticked, or ask for what it needs."""
    act = _ACTS.get(request.POST.get("do", ""))
    view = view_of(reader.person, reader.tenant.pk, utcnow())
    if act is None:
        messages.error(request, "Choose what to do with the selected requests.")
        return redirect(queue_address(request))
    try:
        return act(Task(request, view, work.picked(view, request.POST.getlist("id"))))
    except AgentOpsError as error:
        messages.error(request, error.in_full)
        return redirect(queue_address(request))


def _claim(task: Task) -> HttpResponse:
    return _told(task, "Claimed", work.claim_all(task.requests, task.view.person, task.view.now))


def _release(task: Task) -> HttpResponse:
    return _told(task, "Released", work.release_all(task.requests, task.view.person, task.view.now))


def _assign(task: Task) -> HttpResponse:
    people = work.takers_of(task.requests)
    form = AssignForm(task.request.POST if task.final else None, people=people)
    if not (task.final and form.is_valid()):
        return _asked(task, "assign", form)
    to, words = form.cleaned_data["to"], form.cleaned_data["words"]
    return _told(task, "Assigned", work.assign_all(task.requests, task.view.person, to, words, task.view.now))


def _reject(task: Task) -> HttpResponse:
    form = RejectForm(task.request.POST if task.final else None)
    if not (task.final and form.is_valid()):
        return _asked(task, "reject", form)
    code = form.cleaned_data["reason"]
    ruling = work.Ruling(Verdict.REJECT, task.digests, form.words, code)
    return _told(task, "Rejected", work.reject_all(task.view, task.requests, ruling))


def _approve(task: Task) -> HttpResponse:
    page = approve_page(task.view, task.requests, task.back)
    if not task.final:
        return render(task.request, "approvals/bulk_approve.html", {"page": page})
    refusal = why_not_together([one.candidate for one in page.items])
    if refusal:
        return render(task.request, "approvals/bulk_approve.html", {"page": page}, status=409)
    ruling = work.Ruling(Verdict.APPROVE, task.digests)
    return _told(task, "Approved", work.approve_all(task.view, task.requests, ruling))


def _export_csv(task: Task) -> HttpResponse:
    return _file(task, "csv", "text/csv; charset=utf-8")


def _export_json(task: Task) -> HttpResponse:
    return _file(task, "json", "application/json")


def _file(task: Task, form: str, kind: str) -> HttpResponse:
    told = work.exported(task.requests, form, task.view.now)
    name = f"requests-{task.view.now:%Y%m%d-%H%M%S}.{form}"
    return HttpResponse(told, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _asked(task: Task, what: str, form: AssignForm | RejectForm) -> HttpResponse:
    page = asking_page(task.view, task.requests, task.back, what)
    status = 422 if task.final else 200
    return render(task.request, "approvals/bulk.html", {"page": page, "form": form}, status=status)


def _told(task: Task, done: str, results: list[work.Result]) -> HttpResponse:
    page = results_page(task.view, results, task.back, done)
    return render(task.request, "approvals/bulk_results.html", {"page": page})


_ACTS: Mapping[str, Callable[[Task], HttpResponse]] = {
    "claim": _claim,
    "release": _release,
    "assign": _assign,
    "reject": _reject,
    "approve": _approve,
    "csv": _export_csv,
    "json": _export_json,
}
