"""Queues: their time, hours and ladder, and who sees, decides and manages them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from guardian.admin import AdminGroupObjectPermissionsForm, AdminUserObjectPermissionsForm, GuardedModelAdminMixin
from guardian.shortcuts import get_group_perms, get_user_perms
from unfold.admin import TabularInline

from agentops.console.admin.audited import AuditedAdmin, values_of
from agentops.console.admin.scoped import actor_of
from agentops.kernel.canonical import JSON
from agentops.kernel.clock import utcnow
from agentops.ledger.append import Event, append_to
from agentops.policy.queries import rules_of_tenant
from agentops.runtime.ports import ApprovalState
from approvals.access import DECIDE, MANAGE, SEE
from approvals.admins.common import TenantRowAdmin, limit_to_tenants
from approvals.admins.forms import LadderFormSet, QueueForm, RungForm
from approvals.forms import span_words
from approvals.models import ApprovalQueue, ApprovalRequest, Rung

_HELD = "the active rule set, which asks people in {queue}. Activate a version that does not, or withdraw it, first."
"""Why a queue cannot be deleted, as an item of the admin's list of what stands in the way."""


_RIGHTS = (
    (SEE, "See requests of this queue"),
    (DECIDE, "Decide requests of this queue; whoever may, sees it too"),
    (MANAGE, "Assign requests of this queue and read its figures; whoever may, sees it too"),
)


class _QueueRights:
    """The rights that a queue gives, and none of those that Django adds to every model."""

    def get_obj_perms_field_choices(self) -> list[tuple[str, str]]:
        """Return the rights with what they mean."""
        return list(_RIGHTS)


class UserRightsForm(_QueueRights, AdminUserObjectPermissionsForm):
    """What one person may do with a queue."""


class GroupRightsForm(_QueueRights, AdminGroupObjectPermissionsForm):
    """What one group may do with a queue."""


class LadderInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """The steps of a queue's ladder. A step calls people; deciding takes the queue's permission all the same."""

    model = Rung
    form = RungForm
    formset = LadderFormSet
    extra = 0
    verbose_name = "step"
    verbose_name_plural = "ladder: who else is called when nobody decides"

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer people of the person's tenants."""
        limit_to_tenants(db_field, request, kwargs)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


@admin.register(ApprovalQueue)
class ApprovalQueueAdmin(GuardedModelAdminMixin, TenantRowAdmin):
    """Queues. Who sees, decides and manages one is set under "Object permissions".

    Each change, steps of the ladder included, is an event in the queue's own stream.
    """

    form = QueueForm
    list_display = ("name", "slug", "tenant", "time_to_decide", "hours", "on_expiry")
    list_select_related = ("tenant", "hours")
    search_fields = ("name", "slug")
    inlines = (LadderInline,)
    save_formset = AuditedAdmin.save_formset

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Let the sweep look at the queue's requests again: another ladder or other hours, other moments."""
        super().save_related(request, form, formsets, change)
        look_again(ApprovalRequest.objects.filter(queue=form.instance))

    def get_obj_perms_manage_user_form(self, request: HttpRequest) -> type[UserRightsForm]:
        """Offer the rights that a queue gives."""
        return UserRightsForm

    def get_obj_perms_manage_group_form(self, request: HttpRequest) -> type[GroupRightsForm]:
        """Offer the rights that a queue gives."""
        return GroupRightsForm

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
            for queue in queryset.select_for_update(of=("self",)):
                self.delete_model(request, queue)

    def get_obj_perms_base_context(self, request: HttpRequest, obj: ApprovalQueue) -> dict[str, Any]:
        """Add what the page's frame looks up."""
        frame = {"add": False, "change": True, "is_popup": False, "save_as": False, "show_save": False}
        found: dict[str, Any] = super().get_obj_perms_base_context(request, obj)  # type: ignore[no-untyped-call]  # guardian is untyped
        return frame | found

    def obj_perms_manage_user_view(self, request: HttpRequest, object_pk: str, user_id: str) -> HttpResponse:
        """Show and change what one person may do, and record the change."""
        with self._recorded(request, object_pk, User.objects.filter(pk=user_id).first()):
            shown: HttpResponse = super().obj_perms_manage_user_view(request, object_pk, user_id)  # type: ignore[no-untyped-call]  # guardian is untyped
            return shown

    def obj_perms_manage_group_view(self, request: HttpRequest, object_pk: str, group_id: str) -> HttpResponse:
        """Show and change what one group may do, and record the change."""
        with self._recorded(request, object_pk, Group.objects.filter(pk=group_id).first()):
            shown: HttpResponse = super().obj_perms_manage_group_view(request, object_pk, group_id)  # type: ignore[no-untyped-call]  # guardian is untyped
            return shown

    @contextmanager
    def _recorded(self, request: HttpRequest, object_pk: str, holder: User | Group | None) -> Iterator[None]:
        queues: QuerySet[ApprovalQueue] = self.get_queryset(request)  # type: ignore[no-untyped-call]  # guardian is untyped
        queue = queues.filter(pk=object_pk).first() if object_pk.isdecimal() else None
        with transaction.atomic():
            before = _rights(holder, queue)
            yield
            after = _rights(holder, queue)
            if before != after and queue is not None:
                _record(request, queue, "config.permissions", {"holder": _name(holder), "rights": [before, after]})


def look_again(requests: "QuerySet[ApprovalRequest]") -> None:
    """Let the sweep work out anew when these requests remind and climb."""
    requests.filter(state=ApprovalState.PENDING).update(next_at=utcnow())


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
