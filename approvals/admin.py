"""Queues are shaped here, and who decides them; what was asked and decided can only be read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from guardian.admin import GuardedModelAdminMixin
from guardian.shortcuts import get_group_perms, get_user_perms
from unfold.admin import TabularInline

from agentops.console.admin.audited import values_of
from agentops.console.admin.scoped import ReadOnlyAdmin, ScopedAdmin, actor_of
from agentops.kernel.canonical import JSON
from agentops.ledger.append import Event, append_to
from agentops.policy.queries import rules_of_tenant
from approvals.forms import QueueForm, span_words
from approvals.models import ApprovalQueue, ApprovalRequest, Decision

_HELD = "the active rule set, which asks people in {queue}. Activate a version that does not, or withdraw it, first."
"""Why a queue cannot be deleted, as an item of the admin's list of what stands in the way."""


@admin.register(ApprovalQueue)
class ApprovalQueueAdmin(GuardedModelAdminMixin, ScopedAdmin):
    """Queues. Who decides one is set under "Object permissions". Each change is an event in the queue's own stream."""

    form = QueueForm
    list_display = ("name", "slug", "tenant", "time_to_decide")
    list_select_related = ("tenant",)
    search_fields = ("name", "slug")

    @admin.display(description="decide within", ordering="decide_within")
    def time_to_decide(self, queue: ApprovalQueue) -> str:
        """The time that people have, in words."""
        return span_words(queue.decide_within)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """A queue keeps its tenant and the name that tools call it by."""
        return ("tenant", "slug") if obj is not None else ()

    def save_model(self, request: HttpRequest, obj: ApprovalQueue, form: "ModelForm[Any]", change: bool) -> None:
        """Save and record."""
        with transaction.atomic():
            before = values_of(ApprovalQueue.objects.select_for_update().get(pk=obj.pk)) if change else {}
            super().save_model(request, obj, form, change)
            after = values_of(obj)
            changed = {name: [before.get(name, ""), after[name]] for name in after if before.get(name) != after[name]}
            if changed:
                _record(request, obj, "config.changed" if change else "config.added", {"changes": changed})

    def get_deleted_objects(self, objs: Iterable[ApprovalQueue], request: HttpRequest) -> tuple[Any, ...]:
        """Tell what goes with the queues, and that one stays in which active rules ask people."""
        *found, protected = super().get_deleted_objects(objs, request)
        held = [queue for queue in objs if queue.slug in rules_of_tenant(queue.tenant_id).queues]
        return (*found, [*protected, *(_HELD.format(queue=queue) for queue in held)])

    def delete_model(self, request: HttpRequest, obj: ApprovalQueue) -> None:
        """Delete and record."""
        with transaction.atomic():
            _record(request, obj, "config.deleted", {"changes": {k: [v, ""] for k, v in values_of(obj).items()}})
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        """Delete and record each."""
        with transaction.atomic():
            for queue in queryset.select_for_update():
                self.delete_model(request, queue)

    def get_obj_perms_base_context(self, request: HttpRequest, obj: ApprovalQueue) -> dict[str, Any]:
        """Add what the page's frame looks up."""
        frame = {"add": False, "change": True, "is_popup": False, "save_as": False, "show_save": False}
        found: dict[str, Any] = super().get_obj_perms_base_context(request, obj)  # type: ignore[no-untyped-call]
        return frame | found

    def obj_perms_manage_user_view(self, request: HttpRequest, object_pk: str, user_id: str) -> HttpResponse:
        """Show and change what one person may do, and record the change."""
        with self._recorded(request, object_pk, User.objects.filter(pk=user_id).first()):
            shown: HttpResponse = super().obj_perms_manage_user_view(request, object_pk, user_id)  # type: ignore[no-untyped-call]
            return shown

    def obj_perms_manage_group_view(self, request: HttpRequest, object_pk: str, group_id: str) -> HttpResponse:
        """Show and change what one group may do, and record the change."""
        with self._recorded(request, object_pk, Group.objects.filter(pk=group_id).first()):
            shown: HttpResponse = super().obj_perms_manage_group_view(request, object_pk, group_id)  # type: ignore[no-untyped-call]
            return shown

    @contextmanager
    def _recorded(self, request: HttpRequest, object_pk: str, holder: User | Group | None) -> Iterator[None]:
        queues: QuerySet[ApprovalQueue] = self.get_queryset(request)  # type: ignore[no-untyped-call]
        queue = queues.filter(pk=object_pk).first() if object_pk.isdecimal() else None
        with transaction.atomic():
            before = _rights(holder, queue)
            yield
            after = _rights(holder, queue)
            if before != after and queue is not None:
                _record(request, queue, "config.permissions", {"holder": _name(holder), "rights": [before, after]})


def _rights(holder: User | Group | None, queue: ApprovalQueue | None) -> list[str]:
    if holder is None or queue is None:
        return []
    return sorted(get_user_perms(holder, queue) if isinstance(holder, User) else get_group_perms(holder, queue))


def _name(holder: User | Group | None) -> str:
    return f"user:{holder.get_username()}" if isinstance(holder, User) else f"group:{holder}"


def _record(request: HttpRequest, queue: ApprovalQueue, kind: str, facts: dict[str, JSON]) -> None:
    about: dict[str, JSON] = {"model": "ApprovalQueue", "object": queue.slug, **facts}
    event = Event(kind, actor_of(request), about, {"object": str(queue.pk)})
    append_to(tenant_id=queue.tenant_id, name=f"queue:{queue.pk}", events=[event])


class DecisionInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """The decisions of a request."""

    model = Decision
    fields = ("person", "verdict", "reason", "checked", "digest", "at")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Decisions are made on the request's page."""
        return False


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    """Requests as they were asked."""

    list_display = ("code", "effect", "tool", "queue", "state", "created_at", "closed_at")
    list_filter = ("state", "tier")
    list_select_related = ("queue",)
    ordering = ("-id",)
    show_full_result_count = False
    actions = None
    inlines = (DecisionInline,)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    """What people decided."""

    tenant_path = "request__tenant_id"
    list_display = ("request", "verdict", "person", "at", "reason", "checked")
    list_filter = ("verdict",)
    list_select_related = ("request", "person")
    ordering = ("-at",)
    show_full_result_count = False
    actions = None
