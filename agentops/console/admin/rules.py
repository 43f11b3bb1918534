"""Rule sets: versions are written and looked at here, tried on history, activated and withdrawn.

A version never changes. What is activated is shown first: how it differs from the active one, and what it would have
done, when somebody has tried it.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import chain, islice
from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse

from agentops.console.admin import rule_tables
from agentops.console.admin.rule_forms import EXAMPLE, RuleSetForm, WindowForm, written
from agentops.console.admin.scoped import ScopedAdmin, actor_of
from agentops.kernel.canonical import digest
from agentops.kernel.errors import AgentOpsError
from agentops.policy.models import RuleSet
from agentops.policy.operations import activate_rule_set, save_rule_set, withdraw_rule_set
from agentops.policy.rule_words import difference, said
from agentops.policy.ruleset import TenantRules, compiled
from agentops.runtime.house import house_of
from agentops.runtime.trying import Base, try_on_history
from agentops.tenancy.queries import tenants_of

MOST_ON_SCREEN = 100_000
"""So many proposals are looked at while somebody waits for the page; the command has no such bound."""

_TRIED = "rule_sets_tried"
_MOST_TRIED = 5
_MOST_PROBLEMS = 12


@admin.register(RuleSet)
class RuleSetAdmin(ScopedAdmin):
    """The versions of the person's tenants."""

    form = RuleSetForm
    list_display = ("__str__", "tenant", "note", "made_by", "made_at", "active", "activated_by", "activated_at")
    list_filter = ("tenant", "active")
    list_select_related = ("tenant",)
    search_fields = ("note", "made_by", "=digest")
    ordering = ("-made_at",)
    change_form_after_template = "admin/agentops/ruleset/draft.html"

    def get_urls(self) -> list[URLPattern]:
        """Add the pages beside the usual ones."""
        pages = (("try", self.try_view), ("activate", self.activate_view), ("withdraw", self.withdraw_view))
        own = [path("draft/", self.admin_site.admin_view(self.draft_view), name="agentops_ruleset_draft")]
        own += [
            path(f"<uuid:pk>/{name}/", self.admin_site.admin_view(view), name=f"agentops_ruleset_{name}")
            for name, view in pages
        ]
        usual: list[URLPattern] = super().get_urls()
        return own + usual

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A version stays: decisions were made under it."""
        return False

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Begin from what was sent, the version that was named, the active one, or an example."""
        if request.POST:
            return {name: request.POST.get(name, "") for name in ("tenant", "text", "note")}
        origin = self._origin(request)
        tenants = tenants_of(request.user)
        tenant = origin.tenant_id if origin else tenants[0].pk if len(tenants) == 1 else None
        return {"tenant": tenant, "text": written(_ordered(origin.document) if origin else EXAMPLE)}

    def _origin(self, request: HttpRequest) -> RuleSet | None:
        rows = cast("Any", self.get_queryset(request))
        named = request.GET.get("from", "")
        try:
            found: RuleSet | None = rows.filter(pk=UUID(named)).first()
        except ValueError:
            found = rows.filter(active=True).first()
        return found

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None) -> Any:
        """Show the vocabulary below the form."""
        return super().add_view(request, form_url, {**_help(), **(extra_context or {})})

    def save_model(self, request: HttpRequest, obj: RuleSet, form: "ModelForm[Any]", change: bool) -> None:
        """Keep the version through the operation that records it."""
        made = save_rule_set(
            tenant_id=obj.tenant_id,
            text=form.cleaned_data["text"],
            note=obj.note,
            house=house_of(obj.tenant_id),
            actor=actor_of(request),
        )
        obj.__dict__.update(made.__dict__)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """The ledger tells of it."""

    def response_add(self, request: HttpRequest, obj: RuleSet, post_url_continue: str | None = None) -> HttpResponse:
        """Go on with the version's own page."""
        self.message_user(request, f"Saved as {obj}. It decides nothing before it is activated.", messages.SUCCESS)
        return _to(obj)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a version; nothing of it is changed here."""
        if request.method == "POST":
            raise PermissionDenied
        rule_set = self._get(request, object_id, "view")
        active = _active(rule_set.tenant_id)
        context = {
            "rules": rule_tables.rules_table(said(rule_set.document)),
            "text": written(_ordered(rule_set.document)),
            "difference": _difference(active, rule_set),
            "active": active,
            "may_change": self.has_change_permission(request, rule_set),
            "window": WindowForm(),
            "tried": request.session.get(_TRIED, {}).get(str(rule_set.pk)),
        }
        return self._page(request, "version", rule_set, context)

    def try_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Try a version on history and keep what it came to for the page that activates it."""
        rule_set = self._get(request, str(pk), "view")
        window = WindowForm(request.POST or None)
        if not window.is_valid():
            return self._page(request, "tried", rule_set, {"window": window})
        context = self._tried(rule_set.tenant_id, compiled(rule_set.document, rule_set.digest), window)
        kept = {**request.session.get(_TRIED, {}), str(rule_set.pk): context["result"].sentence}
        request.session[_TRIED] = dict(list(kept.items())[-_MOST_TRIED:])
        return self._page(request, "tried", rule_set, context)

    def draft_view(self, request: HttpRequest) -> HttpResponse:
        """Try a document that is not saved yet."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseRedirect(reverse("admin:agentops_ruleset_add"))
        form = self.get_form(request)(request.POST)
        form.fields["note"].required = False
        window = WindowForm(request.POST)
        if not form.is_valid() or not window.is_valid():
            return self._draft_again(request, [*form.errors.values(), *window.errors.values()])
        tenant, document = form.cleaned_data["tenant"], form.cleaned_data["document"]
        draft = RuleSet(tenant=tenant, document=document, note=form.cleaned_data["note"])
        context = self._tried(tenant.pk, compiled(document, digest(document).hex()), window)
        return self._page(request, "tried", draft, {**context, "draft": form.cleaned_data["text"]})

    def _draft_again(self, request: HttpRequest, errors: Iterable[Iterable[Any]]) -> HttpResponse:
        """Show the form as it was sent, with what is wrong. It is shown as to a GET, so that nothing is ever saved."""
        for problem in islice(chain.from_iterable(errors), _MOST_PROBLEMS):
            self.message_user(request, problem, messages.ERROR)
        shown = copy(request)
        shown.method = "GET"
        return cast("HttpResponse", self.add_view(shown))

    def activate_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Show what would change, and change it when that was confirmed."""
        rule_set = self._get(request, str(pk), "change")
        active = _active(rule_set.tenant_id)
        if request.method == "POST":
            house = house_of(rule_set.tenant_id)
            seen = request.POST.get("instead_of", "")
            try:
                instead_of = UUID(seen) if seen else None
                activate_rule_set(rule_set_id=pk, instead_of=instead_of, house=house, actor=actor_of(request))
            except (AgentOpsError, ValueError) as error:
                self.message_user(request, getattr(error, "in_full", "Load the page again."), messages.ERROR)
                return HttpResponseRedirect(request.path)
            self.message_user(request, f"{rule_set} decides from the next step on.", messages.SUCCESS)
            return _to(rule_set)
        context = {
            "difference": _difference(active, rule_set),
            "active": active,
            "tried": request.session.get(_TRIED, {}).get(str(rule_set.pk)),
        }
        return self._page(request, "activate", rule_set, context)

    def withdraw_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Ask, and let the tenant have no rules of its own."""
        rule_set = self._get(request, str(pk), "change")
        if request.method == "POST":
            try:
                withdraw_rule_set(rule_set_id=pk, actor=actor_of(request))
            except AgentOpsError as error:
                self.message_user(request, error.in_full, messages.ERROR)
            else:
                self.message_user(request, f"{rule_set} decides nothing any more.", messages.SUCCESS)
            return _to(rule_set)
        return self._page(request, "withdraw", rule_set, {"rules": rule_tables.rules_table(said(rule_set.document))})

    def _get(self, request: HttpRequest, object_id: str, verb: str) -> RuleSet:
        found = self.get_object(request, object_id)
        if found is None:
            raise Http404
        allowed = self.has_view_permission if verb == "view" else self.has_change_permission
        if not allowed(request, found):
            raise PermissionDenied
        return cast("RuleSet", found)

    def _tried(self, tenant_id: UUID, rules: TenantRules, window: WindowForm) -> dict[str, Any]:
        days, base = window.cleaned_data["days"], Base(window.cleaned_data["base"])
        tried = try_on_history(tenant_id=tenant_id, rules=rules, days=days, base=base, most=MOST_ON_SCREEN)
        return {"window": window, "tried": tried, "result": rule_tables.result_of(tried.summary, days)}

    def _page(self, request: HttpRequest, name: str, rule_set: RuleSet, context: dict[str, Any]) -> HttpResponse:
        frame = self.admin_site.each_context(request)
        title = f"{rule_set.tenant}: {'draft' if rule_set._state.adding else rule_set}"  # noqa: SLF001 - Django's public name for whether a row exists
        shown = {**frame, "title": title, "opts": self.opts, "rule_set": rule_set, **context}
        return render(request, f"admin/agentops/ruleset/{name}.html", shown)


def _to(rule_set: RuleSet) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:agentops_ruleset_change", args=[rule_set.pk]))


def _active(tenant_id: UUID) -> RuleSet | None:
    return RuleSet.objects.filter(tenant_id=tenant_id, active=True).first()


def _help() -> dict[str, Any]:
    return {
        "vocabulary": rule_tables.vocabulary_table(),
        "classes": rule_tables.CLASSES,
        "window": WindowForm(),
        "show_save_and_add_another": False,
        "show_save_and_continue": False,
    }


def _difference(old: RuleSet | None, new: RuleSet) -> Any:
    found = difference(old.document if old else None, new.document)
    if found.is_empty:
        return None
    rows: list[Sequence[str]] = [
        *(("added", rule.id, "", rule.sentence) for rule in found.added),
        *(("taken away", rule.id, rule.sentence, "") for rule in found.removed),
        *(("changed", old.id, _with_words(old), _with_words(new)) for old, new in found.changed),
    ]
    return {"headers": ["Difference", "Rule", "Active now", "In this version"], "rows": [list(row) for row in rows]}


def _with_words(rule: Any) -> str:
    return f"{rule.sentence} “{rule.words}”" if rule.words else rule.sentence


_ORDER = (
    *("rules", "packs"),
    *("id", "name", "version", "tools", "when"),
    *("banned", "disclaimers", "reviews", "templates", "template_queue"),
    *("phrases", "text", "above_risk", "effect", "queue", "people", "words"),
    *("fact", "op", "value", "unit"),
)


def _ordered(value: Any) -> Any:
    """Return a stored document with its keys in the order in which people write them."""
    if isinstance(value, dict):
        return {
            key: _ordered(value[key])
            for key in sorted(value, key=lambda key: _ORDER.index(key) if key in _ORDER else -1)
        }
    return [_ordered(item) for item in value] if isinstance(value, list) else value
