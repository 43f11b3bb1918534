"""Admin screens whose every change is an event in the ledger, in the transaction that makes the change."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Field, ForeignKey, Model, QuerySet
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from agentops.agents.models import Agent, AgentVersion, Threshold, ToolGrant
from agentops.console.admin.scoped import actor_of
from agentops.kernel.canonical import JSON
from agentops.ledger.append import Event, append_to
from agentops.runtime.rate_models import RateLimit
from agentops.tenancy.models import Membership, Tenant

MOST_TEXT = 400
"""Characters of a value that stand in an event's facts; the payload has all of it."""

Values = dict[str, str]


class AuditedAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Records what is added, changed and deleted, inlines included: who, which object, values before and after."""

    def save_model(self, request: HttpRequest, obj: Model, form: "ModelForm[Any]", change: bool) -> None:
        """Save and record."""
        with transaction.atomic():
            before = _stored(obj) if change else {}
            super().save_model(request, obj, form, change)
            record_change(request, obj, before, values_of(obj))

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        """Delete and record."""
        with transaction.atomic():
            _record_deletion(request, obj)
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete and record each."""
        with transaction.atomic():
            for obj in queryset.select_for_update():
                _record_deletion(request, obj)
            super().delete_queryset(request, queryset)

    def save_formset(
        self, request: HttpRequest, form: "ModelForm[Any]", formset: "BaseModelFormSet[Any, Any]", change: bool
    ) -> None:
        """Save the rows of an inline and record each."""
        with transaction.atomic():
            stored = {obj.pk: _stored(obj) for obj in _shown(formset)}
            formset.save(commit=False)
            for obj in formset.deleted_objects:
                _record_deletion(request, obj)
            formset.save()
            for obj in [*formset.new_objects, *(obj for obj, _ in formset.changed_objects)]:
                record_change(request, obj, stored.get(obj.pk, {}), values_of(obj))


def _shown(formset: "BaseModelFormSet[Any, Any]") -> Iterable[Model]:
    return [form.instance for form in formset.initial_forms]


def values_of(obj: Model) -> Values:
    """Return the object's columns as text, by name."""
    fields = obj._meta.concrete_fields  # noqa: SLF001 - Django's public interface to a model's fields
    return {field.name: _text(obj, field) for field in fields}


def _text(obj: Model, field: "Field[Any, Any]") -> str:
    value = field.value_from_object(obj)
    if value is None:
        return ""
    return str(getattr(obj, field.name)) if isinstance(field, ForeignKey) else str(value)


def _stored(obj: Model) -> Values:
    """Return the object's columns as the database has them now, locked until the change is done."""
    rows = type(obj)._default_manager  # noqa: SLF001 - Django's public name for a model's manager
    row = rows.select_for_update().filter(pk=obj.pk).first()
    return values_of(row) if row is not None else {}


def record_change(request: HttpRequest, obj: Model, before: Values, after: Values) -> None:
    """Record what became different; nothing when nothing did."""
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    if changed:
        _record(request, obj, "config.changed" if before else "config.added", before, after, sorted(changed))


def _record_deletion(request: HttpRequest, obj: Model) -> None:
    before = values_of(obj)
    _record(request, obj, "config.deleted", before, {}, sorted(before))


def _record(request: HttpRequest, obj: Model, kind: str, before: Values, after: Values, names: list[str]) -> None:
    tenant, stream = home_of(obj)
    changes: dict[str, JSON] = {name: [before.get(name, ""), after.get(name, "")] for name in names}
    facts: dict[str, JSON] = {
        "model": type(obj).__name__,
        "object": _cut(str(obj)),
        "changes": {name: [_cut(old), _cut(new)] for name, (old, new) in changes.items()},
    }
    event = Event(kind, actor_of(request), facts, {"object": str(obj.pk)}, {"changes": changes})
    append_to(tenant_id=tenant.pk, name=stream, events=[event])


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}… cut, {len(text)} characters"


def home_of(obj: Model) -> tuple[Tenant, str]:
    """Return the tenant that a configuration object belongs to, and the ledger stream that tells of it.

    Raises TypeError for a model whose changes nobody said where to record.
    """
    match obj:
        case Tenant():
            return obj, f"tenant:{obj.pk}"
        case Membership():
            return obj.tenant, f"tenant:{obj.tenant_id}"
        case Agent():
            return obj.tenant, f"agent:{obj.pk}"
        case AgentVersion():
            return home_of(obj.agent)
        case ToolGrant():
            return home_of(obj.version)
        case Threshold():
            return home_of(obj.grant)
        case RateLimit():
            return home_of(obj.tenant)
        case Model() if hasattr(obj, "audited_in"):
            # Models of apps that the control plane does not know say it themselves.
            home: tuple[Tenant, str] = obj.audited_in()
            return home
        case _:
            raise TypeError(f"changes of {type(obj).__name__} have no stream")
