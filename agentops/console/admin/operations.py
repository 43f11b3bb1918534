"""What operators and the runtime switch and count, to be read: freezes, breakers, questions, processes, spending."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from agentops.agents.models import Elevation
from agentops.console.admin.scoped import ReadOnlyAdmin
from agentops.gateway.models import Breaker
from agentops.runtime.models import ProcessInstance, Question, SpendDay
from agentops.runtime.schedule_models import RoleSchedule
from agentops.tenancy.models import Freeze
from agentops.tenancy.queries import tenants_of


class SharedAdmin(ReadOnlyAdmin):
    """Rows of the person's tenants, and those that concern every tenant."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the person's tenants and of nobody's."""
        rows: QuerySet[Any] = ModelAdmin.get_queryset(self, request)
        return rows.filter(Q(tenant__in=tenants_of(request.user)) | Q(tenant=None))


@admin.register(Freeze)
class FreezeAdmin(SharedAdmin):
    """Freezes; they are made and lifted in the console."""

    list_display = ("frozen_at", "tenant", "agent_id", "tool", "frozen_by", "lift_asked_by", "lifted_by")
    list_filter = ("tenant", ("lifted_at", admin.EmptyFieldListFilter))
    list_select_related = ("tenant",)
    search_fields = ("reason", "frozen_by", "tool")


@admin.register(Breaker)
class BreakerAdmin(SharedAdmin):
    """Breakers; they are reset in the console."""

    list_display = ("name", "tenant", "state", "failures", "last_code", "changed_at", "retry_at")
    list_filter = ("state", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("name",)


@admin.register(Elevation)
class ElevationAdmin(ReadOnlyAdmin):
    """Leave for a session to use an elevated scope."""

    list_display = ("scope", "session_id", "given_by", "given_at", "expires_at", "revoked_at")
    list_filter = ("scope",)
    search_fields = ("=session_id", "given_by")
    show_full_result_count = False


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin):
    """What planners asked people."""

    list_display = ("text", "session_id", "asked_at", "expires_at", "closed_at", "answered_by")
    list_filter = (("closed_at", admin.EmptyFieldListFilter),)
    search_fields = ("=session_id",)
    show_full_result_count = False


@admin.register(ProcessInstance)
class ProcessInstanceAdmin(ReadOnlyAdmin):
    """Where sessions stand in their processes."""

    list_display = ("process", "version", "state", "compensating", "session_id")
    list_filter = ("process", "compensating")
    search_fields = ("=session_id",)
    show_full_result_count = False


@admin.register(SpendDay)
class SpendDayAdmin(ReadOnlyAdmin):
    """What models cost by day and scope."""

    list_display = ("day", "scope", "spent_micro", "reserved_micro", "tokens", "calls", "warned")
    list_filter = ("day",)
    search_fields = ("scope",)
    ordering = ("-day", "scope")
    show_full_result_count = False


@admin.register(RoleSchedule)
class RoleScheduleAdmin(ReadOnlyAdmin):
    """What roles do by the calendar: when, how much, what was refused, and what fails and why."""

    list_display = ("role", "name", "tenant", "due_at", "ran_at", "done", "refused", "failed_since")
    list_filter = ("tenant", "role", ("failed_since", admin.EmptyFieldListFilter))
    list_select_related = ("tenant",)
