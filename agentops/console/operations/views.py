"""The operators' pages. A GET reads; what writes is a POST, and what stands against it is said in its place."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agentops.console.codes import as_uuid
from agentops.console.context_processors import standing_for
from agentops.console.operations import blast, freezes, live, queries, spending, unknowns, waiting
from agentops.console.operations.forms import HERE, FreezeForm, LiftForm, SettleForm
from agentops.console.operations.presenters import FreezeEffect, InFlightPage
from agentops.console.operations.reconciliation import able_roles, reconciliation_page
from agentops.console.operations.rights import may_ask_to_lift, may_lift, may_reset
from agentops.console.operations.standing import tabs_of
from agentops.gateway.breakers import NothingToReset, reset_breaker
from agentops.kernel.clock import utcnow
from agentops.runtime.freezing import CannotFreeze, CannotLift, ask_to_lift, freeze, lift
from agentops.runtime.reconciling import CannotReconcile, ask_again, settle_by_person
from agentops.tenancy.access import OPERATORS, Reader, staff_page
from agentops.tenancy.models import Freeze
from agentops.tenancy.spans import PRESETS, read_span


@require_safe
@never_cache
@staff_page()
def operations(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """What is under way: a page, or for an open page the part that changes, of one freeze with ``?freeze=``."""
    chosen = as_uuid(request.GET.get("freeze", ""))
    if request.headers.get("HX-Request") == "true":
        part = live.live_part(reader, _freeze(reader, chosen) if chosen else None, now=utcnow())
        response = render(request, "console/operations/live.html", {"live": part})
        response.headers["Vary"] = "HX-Request, Cookie"
        return response
    if chosen:
        return redirect("freeze_detail", chosen)
    page = InFlightPage(
        tabs=tabs_of(standing_for(request, reader), "operations"),
        live=live.live_part(reader, None, now=utcnow()),
    )
    return render(request, "console/operations/in_flight.html", {"page": page})


@require_safe
@never_cache
@staff_page()
def freeze_list(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """What is frozen and what was."""
    page = freezes.freeze_list_page(reader, standing_for(request, reader), request.GET.get("after", ""))
    return render(request, "console/operations/freeze_list.html", {"page": page})


@never_cache
@staff_page(*OPERATORS)
def freeze_new(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Freeze something. ``look`` in the POST, and a GET of an open page, only ask what it would do."""
    if request.method != "POST":
        form = FreezeForm(initial=_chosen(request.GET), reader=reader)
        effect = _effect(reader, form, request.GET)
        fragment = request.headers.get("HX-Request") == "true"
        name = "console/operations/freeze_effect.html" if fragment else "console/operations/freeze_new.html"
        response = render(request, name, {"form": form, "effect": effect})
        response.headers["Vary"] = "HX-Request, Cookie"
        return response
    if "look" in request.POST:
        form = FreezeForm(initial=_chosen(request.POST), reader=reader)
        return _freeze_form(request, reader, form, status=200)
    form = FreezeForm(request.POST, reader=reader)
    if not form.is_valid():
        return _freeze_form(request, reader, form, status=422)
    scope = form.cleaned_data["scope"]
    try:
        made = freeze(
            tenant_id=scope.tenant_id,
            agent_id=scope.agent_id,
            tool=scope.tool,
            actor=reader.actor,
            reason=form.cleaned_data["reason"],
        )
    except CannotFreeze as error:
        form.add_error(None, error.in_full)
        return _freeze_form(request, reader, form, status=422)
    messages.success(request, "Frozen. No worker begins a call that it covers from now on.")
    return redirect("freeze_detail", made.pk)


def _chosen(params: QueryDict) -> dict[str, str]:
    return {name: params.get(name, "") for name in ("where", "tool", "reason")} | {
        "where": params.get("where", "") or HERE
    }


def _freeze_form(request: HttpRequest, reader: Reader, form: FreezeForm, *, status: int) -> HttpResponse:
    context = {"form": form, "effect": _effect(reader, form, request.POST)}
    return render(request, "console/operations/freeze_new.html", context, status=status)


def _effect(reader: Reader, form: FreezeForm, params: QueryDict) -> FreezeEffect | None:
    """Return what the freeze would do that is chosen, None when the choice is none."""
    chosen = _chosen(params)
    scope = form.scope(chosen["where"], chosen["tool"])
    if scope is None:
        return None
    return freezes.freeze_effect(reader, scope)


@require_safe
@never_cache
@staff_page()
def freeze_detail(request: HttpRequest, reader: Reader, freeze_id: UUID) -> HttpResponseBase:
    """One freeze: who, why, what drains under it, and how it is lifted."""
    return _freeze_page(request, reader, freeze_id, LiftForm())


@require_POST
@never_cache
@staff_page(*OPERATORS)
def freeze_ask(request: HttpRequest, reader: Reader, freeze_id: UUID) -> HttpResponseBase:
    """Ask for a freeze to be lifted."""
    if not may_ask_to_lift(reader, _freeze(reader, freeze_id)):
        raise Http404("not for this person")
    form = LiftForm(request.POST)
    if not form.is_valid():
        return _freeze_page(request, reader, freeze_id, form, status=422)
    try:
        ask_to_lift(freeze_id=freeze_id, actor=reader.actor, reason=form.cleaned_data["reason"])
    except CannotLift as error:
        return _freeze_page(request, reader, freeze_id, form, error=error.in_full, status=409)
    messages.success(request, "Asked. Another person has to lift it.")
    return redirect("freeze_detail", freeze_id)


@require_POST
@never_cache
@staff_page(*OPERATORS)
def freeze_lift(request: HttpRequest, reader: Reader, freeze_id: UUID) -> HttpResponseBase:
    """Lift a freeze that another person asked to lift."""
    if not may_lift(reader, _freeze(reader, freeze_id)):
        raise Http404("not for this person")
    try:
        lift(freeze_id=freeze_id, actor=reader.actor)
    except CannotLift as error:
        return _freeze_page(request, reader, freeze_id, LiftForm(), error=error.in_full, status=409)
    messages.success(request, "Lifted. Workers go on with what waited.")
    return redirect("freeze_detail", freeze_id)


def _freeze(reader: Reader, freeze_id: UUID) -> Freeze:
    found = queries.freeze_or_none(reader.tenant.pk, freeze_id)
    if found is None:
        raise Http404("no such freeze")
    return found


def _freeze_page(
    request: HttpRequest, reader: Reader, freeze_id: UUID, form: LiftForm, *, error: str = "", status: int = 200
) -> HttpResponse:
    found, standing = _freeze(reader, freeze_id), standing_for(request, reader)
    page = freezes.freeze_page(reader, standing, found, now=utcnow(), error=error)
    return render(request, "console/operations/freeze.html", {"page": page, "form": form}, status=status)


@require_safe
@never_cache
@staff_page()
def unknown_list(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Calls of unknown outcome, the oldest first."""
    return _unknown_page(request, reader, as_uuid(request.GET.get("from", "")))


@require_POST
@never_cache
@staff_page(*OPERATORS)
def unknown_ask(request: HttpRequest, reader: Reader, invocation_id: UUID) -> HttpResponseBase:
    """Ask the system of record once more what became of a call."""
    _require_call(reader, invocation_id)
    try:
        words = ask_again(invocation_id=invocation_id, actor=reader.actor)
    except CannotReconcile as error:
        return _unsettled(request, reader, invocation_id, error)
    messages.success(request, f"The system of record says: {words}")
    return redirect("unknown_list")


@require_POST
@never_cache
@staff_page(*OPERATORS)
def unknown_settle(request: HttpRequest, reader: Reader, invocation_id: UUID) -> HttpResponseBase:
    """Record what a person found out about a call."""
    _require_call(reader, invocation_id)
    form = SettleForm(request.POST, call=invocation_id)
    if not form.is_valid():
        forms = {str(invocation_id): form}
        return _unknown_page(request, reader, invocation_id, about=invocation_id, forms=forms, status=422)
    happened = form.cleaned_data["happened"] == "yes"
    try:
        settle_by_person(
            invocation_id=invocation_id,
            actor=reader.actor,
            happened=happened,
            evidence=form.cleaned_data["evidence"],
        )
    except CannotReconcile as error:
        return _unsettled(request, reader, invocation_id, error, forms={str(invocation_id): form})
    messages.success(request, f"Recorded: it {'happened' if happened else 'did not happen'}.")
    return redirect("unknown_list")


def _require_call(reader: Reader, invocation_id: UUID) -> None:
    if queries.unknown_or_none(reader.tenant.pk, invocation_id) is None:
        raise Http404("no such call")


def _unsettled(
    request: HttpRequest,
    reader: Reader,
    invocation_id: UUID,
    error: CannotReconcile,
    forms: Mapping[str, SettleForm] | None = None,
) -> HttpResponse:
    told = error.in_full
    return _unknown_page(request, reader, invocation_id, about=invocation_id, error=told, forms=forms, status=409)


def _unknown_page(
    request: HttpRequest,
    reader: Reader,
    start: UUID | None,
    *,
    about: UUID | None = None,
    error: str = "",
    forms: Mapping[str, SettleForm] | None = None,
    status: int = 200,
) -> HttpResponse:
    standing = standing_for(request, reader)
    page = unknowns.unknown_list_page(reader, standing, start, about=about, error=error)
    filled = forms or {}
    rows = [(call, filled.get(call.pk) or SettleForm(call=UUID(call.pk))) for call in page.calls]
    context: dict[str, Any] = {"page": page, "rows": rows}
    return render(request, "console/operations/unknown_list.html", context, status=status)


@require_safe
@never_cache
@staff_page()
def breaker_list(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """What kept failing and is left alone."""
    page = waiting.breaker_page(reader, standing_for(request, reader), now=utcnow())
    return render(request, "console/operations/breaker_list.html", {"page": page})


@require_POST
@never_cache
@staff_page(*OPERATORS)
def breaker_reset(request: HttpRequest, reader: Reader, breaker_id: UUID) -> HttpResponseBase:
    """Close a breaker because a person knows that the other side is there again."""
    found = queries.breaker_or_none(reader.tenant.pk, breaker_id)
    if found is None or not may_reset(reader, everybodys=found.tenant_id is None):
        raise Http404("no such breaker, or not for this person")
    try:
        reset_breaker(breaker_id=breaker_id, actor=reader.actor)
    except NothingToReset as error:
        page = waiting.breaker_page(reader, standing_for(request, reader), now=utcnow(), error=error.in_full)
        return render(request, "console/operations/breaker_list.html", {"page": page}, status=409)
    messages.success(request, f"{found.name.partition(':')[2]} is called again from now on.")
    return redirect("breaker_list")


@require_safe
@never_cache
@staff_page()
def question_list(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """What agents asked people, the oldest first."""
    after = request.GET.get("after", "")
    page = waiting.question_page(reader, standing_for(request, reader), after, now=utcnow())
    return render(request, "console/operations/question_list.html", {"page": page})


@require_safe
@never_cache
@staff_page()
def spend_today(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """What models cost the tenant today."""
    page = spending.spend_page(reader, standing_for(request, reader), now=utcnow())
    return render(request, "console/operations/spend.html", {"page": page})


@require_safe
@never_cache
@staff_page()
def blast_radius(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Every tool with its worst single call, the control that stops it, and what the tenant's agents may do with it."""
    page = blast.blast_page(reader, standing_for(request, reader), request.GET)
    return render(request, "console/operations/blast_radius.html", {"page": page})


@require_safe
@never_cache
@staff_page()
def reconciliation(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Where the ledger, a role's books and its vendor differ; ``?by=`` names the role, the first one that can."""
    able = able_roles()
    name = request.GET.get("by", "") or next(iter(able), "")
    if name not in able:
        raise Http404("no such role")
    page = reconciliation_page(reader, standing_for(request, reader), name, read_span(request.GET, utcnow()))
    status = 503 if page.compared is None else 200
    return render(request, "console/operations/reconciliation.html", {"page": page, "presets": PRESETS}, status=status)
