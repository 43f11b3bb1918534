"""Views of the queue that people keep under names of their own."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from approvals.models import SavedView

MOST_VIEWS = 20
MOST_NAME = 60
MOST_QUERY = 600


class ViewNotSaved(AgentOpsError):
    """A view that cannot be kept."""

    code = "VIEW_NOT_SAVED"
    next_step = "Change the name or the filters, and save again."


def views_of(person: User, tenant_id: UUID) -> Sequence[SavedView]:
    """Return the views that a person keeps in a tenant, by name."""
    return list(SavedView.objects.filter(tenant_id=tenant_id, person=person).order_by("name")[:MOST_VIEWS])


@transaction.atomic
def save_view(*, tenant_id: UUID, person: User, name: str, query: str) -> SavedView:
    """Keep a view, in place of one of the same name. ``query`` is the text that the queue wrote itself.

    Raises ViewNotSaved.
    """
    name = " ".join(name.replace("\x00", "").split())
    if not name or len(name) > MOST_NAME:
        raise ViewNotSaved(f"A view needs a name of at most {MOST_NAME} characters.")
    if len(query) > MOST_QUERY:
        raise ViewNotSaved("These filters are too long to be kept.")
    _one_at_a_time(person)
    views = SavedView.objects.filter(tenant_id=tenant_id, person=person)
    if views.exclude(name=name).count() >= MOST_VIEWS:
        raise ViewNotSaved(
            f"You keep {MOST_VIEWS} views already.", next_step="Delete one that you no longer use, and save again."
        )
    view, _ = SavedView.objects.update_or_create(
        tenant_id=tenant_id, person=person, name=name, defaults={"query": query}
    )
    _tell(tenant_id, person, "view.saved", view)
    return view


@transaction.atomic
def delete_view(*, tenant_id: UUID, person: User, pk: int) -> str:
    """Forget a view and return its name. Raises SavedView.DoesNotExist for one that is not the person's."""
    view = SavedView.objects.select_for_update().get(pk=pk, tenant_id=tenant_id, person=person)
    _tell(tenant_id, person, "view.deleted", view)
    view.delete()
    return view.name


def _one_at_a_time(person: User) -> None:
    """Two saves at once by one person must not pass the limit together."""
    User.objects.select_for_update().get(pk=person.pk)


def _tell(tenant_id: UUID, person: User, what: str, view: SavedView) -> None:
    """What people search for can name customers, so it goes where private data can be erased."""
    event = Event(
        what, f"user:{person.get_username()}", {"view": view.pk}, {}, {"name": view.name, "query": view.query}
    )
    append_to(tenant_id=tenant_id, name=f"tenant:{tenant_id}", events=[event])
