"""What the program records, to be read: sessions, writes, daily sums, and the ledger without its payloads.

Of a session its priority can be changed, which the session's own stream tells of.
"""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from agentops.console.admin.scoped import ReadOnlyAdmin, ScopedAdmin
from agentops.console.codes import as_uuid
from agentops.ledger.models import LedgerRow
from agentops.runtime.control import CannotControl, set_priority
from agentops.runtime.models import Invocation, MoneyWindow, Session
from agentops.runtime.states import ENDED


class PriorityForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """How urgent a session is that has not ended."""

    class Meta:
        model = Session
        fields = ("priority",)

    def clean_priority(self) -> int:
        """Refuse a session that has ended."""
        if self.instance.status in ENDED:
            raise forms.ValidationError("The session has ended.")
        return int(self.cleaned_data["priority"])


@admin.register(Session)
class SessionAdmin(ScopedAdmin):
    """Sessions; their pages in the console tell more. Only their priority can be changed."""

    form = PriorityForm
    list_display = ("title", "status", "outcome", "stop_code", "priority", "agent_version", "created_at")
    list_filter = ("status", "outcome", "stop_code", "role")
    list_select_related = ("agent_version__agent",)
    search_fields = ("title", "requester", "subject_id", "customer_id")
    ordering = ("-id",)
    show_full_result_count = False
    readonly_fields = tuple(field.name for field in Session._meta.concrete_fields if field.name != "priority")  # noqa: SLF001 - Django's public interface to a model's fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Sessions are started in the console."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A session stays: its record does."""
        return False

    def save_model(self, request: HttpRequest, obj: Session, form: "forms.ModelForm[Session]", change: bool) -> None:
        """Rank the session anew through the operation that records it; nothing else of it is written."""
        if "priority" not in form.changed_data:
            return
        try:
            set_priority(session_id=obj.pk, actor=f"user:{request.user.get_username()}", priority=obj.priority)
        except CannotControl as error:
            self.message_user(request, error.in_full, messages.ERROR)


@admin.register(Invocation)
class InvocationAdmin(ReadOnlyAdmin):
    """Writes that sessions proposed."""

    list_display = ("tool", "state", "session_id", "position", "created_at")
    list_filter = ("state", "tool")
    search_fields = ("=session_id", "=idempotency_key")
    ordering = ("-id",)
    show_full_result_count = False


@admin.register(MoneyWindow)
class MoneyWindowAdmin(ReadOnlyAdmin):
    """What was moved for one target on one day."""

    list_display = ("day", "family", "target", "total_minor", "currency")
    list_filter = ("family", "currency")
    search_fields = ("target",)
    ordering = ("-day", "target")
    show_full_result_count = False


@admin.register(LedgerRow)
class LedgerRowAdmin(ReadOnlyAdmin):
    """Events, found by stream or by type. Payloads are shown where the session is, not here."""

    list_display = ("at", "type", "actor", "stream", "position")
    ordering = ("-at", "stream", "-position")
    search_fields = ("type",)
    search_help_text = "A stream's id, an event's key (stream:position), or a type such as config.changed"
    show_full_result_count = False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Compare whole values: nothing else could use an index."""
        term = search_term.strip()
        if not term:
            return queryset, False
        key = _key_of(term)
        if key is not None:
            return queryset.filter(stream=key[0], position=key[1]), False
        stream = as_uuid(term)
        found = queryset.filter(type=term) if stream is None else queryset.filter(stream=stream)
        return found, False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> LedgerRow | None:
        """Find an event by ``stream:position`` through the table's own key rather than the view's text."""
        key = _key_of(object_id)
        if key is None:
            return None
        found: LedgerRow | None = self.get_queryset(request).filter(stream=key[0], position=key[1]).first()
        return found


def _key_of(text: str) -> tuple[UUID, int] | None:
    stream, _, position = text.rpartition(":")
    found = as_uuid(stream)
    if found is None or not (position.isascii() and position.isdigit()) or len(position) > 9:
        return None
    return found, int(position)
