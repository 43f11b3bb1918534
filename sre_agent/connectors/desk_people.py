"""What people do with status updates: they publish a draft in their own words, or throw it away."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from agentops.kernel.errors import AgentOpsError
from agentops.registry.incoming import is_storable
from agentops.registry.once import Call, Once
from agentops.registry.tool import ToolFailure
from sre_agent.connectors.clock import present
from sre_agent.connectors.port import Board
from sre_agent.models import Incident, Note, Operation, StatusUpdate

_ONCE = Once(Operation, "incident_ref", "incident desk")
_ACTION = "PublishUpdate"
_MOST_WORDS = 1_000


class NotPossible(AgentOpsError):
    """A person asked for something that the records do not allow now."""

    code = "NOT_POSSIBLE"
    next_step = "Load the page again and look at how it stands."


def no_such(what: str) -> NotPossible:
    """Return the refusal for what does not exist, or belongs to somebody else."""
    return NotPossible(f"There is no such {what}.")


def publish_update(
    *, tenant_id: UUID, update_ref: str, text: str, person: str, now: datetime, board: Board
) -> StatusUpdate:
    """Publish a draft in the words that a person gives, and return it; of two people at once, one does.

    It is marked before it is posted, so that nothing is posted in a transaction and nobody posts it twice. What the
    board certainly did not post is a draft again. Raises NotPossible; OutcomeUnknown or any other error of the board
    leaves it published, for ``post_again``.
    """
    words = text.strip()
    if not 1 <= len(words) <= _MOST_WORDS or not is_storable(words):
        raise NotPossible(
            f"A status update has 1 to {_MOST_WORDS} characters that can be stored.",
            next_step="Write it anew and publish it then.",
        )
    update = _mark(tenant_id, update_ref, words, person, present(tenant_id, now))
    try:
        return _post(update, board, now)
    except ToolFailure as failure:
        _take_back(update, person, present(tenant_id, now))
        raise NotPossible(
            f"It was not published: {failure.message}", next_step="It is a draft again; publish it later."
        ) from failure


def post_again(*, tenant_id: UUID, update_ref: str, now: datetime, board: Board) -> StatusUpdate:
    """Post a published update whose posting was never confirmed; the board posts it once at most.

    Raises NotPossible, and whatever the board raises.
    """
    update = StatusUpdate.objects.filter(tenant_id=tenant_id, ref=update_ref).select_related("incident").first()
    if update is None:
        raise no_such("status update")
    if update.state != StatusUpdate.State.PUBLISHED or _posted(update):
        raise NotPossible(f"Status update {update.ref} does not wait to be posted.")
    return _post(update, board, now)


@transaction.atomic
def discard_update(*, tenant_id: UUID, update_ref: str, person: str, now: datetime) -> StatusUpdate:
    """Throw a draft away and return it. Raises NotPossible."""
    update = _draft(tenant_id, update_ref)
    _set(update, state=StatusUpdate.State.DISCARDED)
    _note(update, person, present(tenant_id, now), f"Threw away status update {update.ref}.")
    return update


def thread_of(incident: Incident) -> str:
    """Return the thread that updates about an incident are posted into, empty when none was posted yet."""
    posted = Operation.objects.filter(tenant_id=incident.tenant_id, incident_ref=incident.ref, action=_ACTION)
    return str(posted.order_by("id").values_list("result__thread", flat=True).first() or "")


@transaction.atomic
def _mark(tenant_id: UUID, update_ref: str, words: str, person: str, now: datetime) -> StatusUpdate:
    update = _draft(tenant_id, update_ref)
    _set(update, state=StatusUpdate.State.PUBLISHED, text=words, published_by=person, published_at=now)
    _note(update, person, now, f"Published status update {update.ref}.")
    return update


@transaction.atomic
def _take_back(update: StatusUpdate, person: str, now: datetime) -> None:
    """Make an update a draft again that was not posted, unless somebody has done something with it meanwhile."""
    rows = StatusUpdate.objects.select_for_update().filter(pk=update.pk, version=update.version)
    row = rows.select_related("incident").first()
    if row is not None and not _posted(row):
        _set(row, state=StatusUpdate.State.DRAFT, published_by="", published_at=None)
        _note(row, person, now, f"Status update {row.ref} could not be posted and is a draft again.")


def _post(update: StatusUpdate, board: Board, now: datetime) -> StatusUpdate:
    thread = board.publish(update.tenant_id, update.ref, update.text, thread_of(update.incident))
    call = Call(update.tenant_id, _key(update), now, update.incident.ref)
    with transaction.atomic():
        _ONCE.claim(call, _ACTION, b"")
        _ONCE.record(call, {"update_id": update.ref, "thread": thread})
    return update


def _posted(update: StatusUpdate) -> bool:
    return Operation.objects.filter(tenant_id=update.tenant_id, key=_key(update)).exists()


def _key(update: StatusUpdate) -> str:
    return f"publish:{update.ref}"


def _draft(tenant_id: UUID, update_ref: str) -> StatusUpdate:
    """Return a draft, locked. Raises NotPossible."""
    rows = StatusUpdate.objects.select_for_update(of=("self",)).filter(tenant_id=tenant_id, ref=update_ref)
    update = rows.select_related("incident").first()
    if update is None:
        raise no_such("status update")
    if update.state != StatusUpdate.State.DRAFT:
        by = f" by {update.published_by}" if update.published_by else ""
        raise NotPossible(f"Status update {update.ref} is {update.state}{by} already.")
    return update


def _set(update: StatusUpdate, **fields: object) -> None:
    StatusUpdate.objects.filter(pk=update.pk).update(**fields, version=F("version") + 1)
    update.refresh_from_db()


def _note(update: StatusUpdate, person: str, now: datetime, text: str) -> None:
    Note.objects.create(
        tenant_id=update.tenant_id, incident=update.incident, kind=Note.Kind.CHANGED, at=now, actor=person, text=text
    )
