"""The admin's screens of notices: channels in Slack, and what became of each message."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from agentops.console.admin.audited import AuditedAdmin
from agentops.console.admin.scoped import ReadOnlyAdmin, ScopedAdmin
from agentops.kernel.clock import utcnow
from agentops.tenancy.queries import tenants_of
from approvals.models import ApprovalQueue, Notice, SlackChannel
from approvals.notices.forms import is_channel
from approvals.notices.operations import try_again


class SlackChannelForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A channel's id, and an installation that knows its own address."""

    class Meta:
        model = SlackChannel
        fields = ("queue", "channel", "is_active")

    def clean_channel(self) -> str:
        """Refuse a name: Slack's answers and changes go by id."""
        given = str(self.cleaned_data["channel"]).strip()
        if not is_channel(given):
            raise forms.ValidationError("A channel's id begins with C or G and has capitals and digits only.")
        return given

    def clean(self) -> dict[str, Any]:
        """Require the address that links in messages begin with."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not settings.SITE_URL:
            raise forms.ValidationError("Set SITE_URL first: links in messages would lead nowhere.")
        return values


@admin.register(SlackChannel)
class SlackChannelAdmin(ScopedAdmin, AuditedAdmin):
    """Channels that are told of a queue's requests. The first one of a tenant turns Slack on for its people too."""

    form = SlackChannelForm
    list_display = ("queue", "channel", "tenant", "is_active")
    list_filter = ("tenant", "is_active")
    list_select_related = ("tenant", "queue")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """A channel stays with its queue."""
        return ("queue",) if obj is not None else ()

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer queues of the person's tenants."""
        if db_field.name == "queue":
            kwargs["queryset"] = ApprovalQueue.objects.filter(tenant__in=tenants_of(request.user))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Model, form: "ModelForm[Any]", change: bool) -> None:
        """Keep the channel in its queue's tenant."""
        channel = cast("SlackChannel", obj)
        channel.tenant = channel.queue.tenant
        super().save_model(request, channel, form, change)


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    """Notices. What was given up says why; it can be tried again once that is put right."""

    list_display = (
        "created_at",
        "request_code",
        "kind",
        "channel",
        "person",
        "state",
        "attempts",
        "due_at",
        "last_error",
    )
    list_filter = ("state", "channel", "kind", "tenant")
    list_select_related = ("request", "person")
    search_fields = ("person__username", "last_error")
    ordering = ("-id",)
    show_full_result_count = False
    actions = ("send_again",)

    @admin.display(description="request")
    def request_code(self, notice: Notice) -> str:
        """The request's short name; what it is about stays on its page."""
        return notice.request.code

    def has_try_again_permission(self, request: HttpRequest) -> bool:
        """Whoever may change notices may have one sent again, and nothing else about it."""
        allowed: bool = request.user.has_perm("approvals.change_notice")
        return allowed

    @admin.action(description="Try again (what was given up)", permissions=["try_again"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Notice]) -> None:
        """Let the chosen notices be sent again."""
        person = cast("User", request.user)
        chosen = list(queryset.values_list("pk", flat=True)[:200])
        done = sum(try_again(notice_id=pk, by=person, now=utcnow()) for pk in chosen)
        if done:
            messages.success(request, f"{done} will be tried again.")
        if done < len(chosen):
            words = f"{len(chosen) - done} left alone: not given up, or of no more use, or another one waits."
            messages.warning(request, words)
