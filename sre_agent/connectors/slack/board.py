"""Status updates in a channel of the tenant's Slack, behind the port ``Board``.

Slack has no idempotency keys. Each message says in its metadata which update it is; before one is posted, the channel
is looked through for it, back to when its incident was opened, and only messages of the app's own bot count.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from agentops.kernel.errors import FailureKind
from agentops.registry.lending import lent
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors import SLACK_KEY
from sre_agent.connectors.slack.door import Obj, Workspace, opened
from sre_agent.connectors.slack.words import EVENT, content_of
from sre_agent.connectors.vendor_config import slack_of
from sre_agent.models import StatusUpdate

MOST_MESSAGES = 2_000
"""So many messages are looked through, in the channel and in the thread."""
SKEW = timedelta(minutes=5)
"""Clocks of Slack and of the house may differ by so much."""
_LOCK = 0x51AC


@dataclass(frozen=True)
class _Place:
    """Where an update goes: the thread of its incident, empty before there is one. ``is_there``: it was posted."""

    thread: str
    is_there: bool


class SlackBoard:
    """Implements ``Board``. Holds no state, and no token longer than it takes."""

    def publish(self, tenant_id: UUID, update_ref: str, words: str, thread: str) -> str:
        """Post words once for ``update_ref``, and return the thread: ``CHANNEL:TIME`` of the incident's first message.

        Without a ``thread`` that of the update's incident is looked for; the incident's first message opens it. Raises
        ToolFailure when nothing was posted, OutcomeUnknown when it may have been: publish it again, and it is looked
        for first.
        """
        update = StatusUpdate.objects.filter(tenant_id=tenant_id, ref=update_ref).select_related("incident").first()
        if update is None:
            raise ToolFailure(FailureKind.NOT_FOUND, "There is no such status update.", field="update_id")
        if not words.strip():
            raise ToolFailure(FailureKind.VALIDATION, "The message is empty.", field="text")
        channel = slack_of(tenant_id).channel
        known = thread.removeprefix(f"{channel}:") if thread.startswith(f"{channel}:") else ""
        incident = update.incident
        with _alone(tenant_id, incident.ref), lent(tenant_id, SLACK_KEY) as secret:
            posting = _Posting(opened(secret), channel, update_ref, incident.ref, incident.opened_at)
            place = posting.place(known)
            if place.is_there:
                return f"{channel}:{place.thread}"
            try:
                stamp = posting.post(words, place.thread)
            except OutcomeUnknown as unknown:
                place = posting.seen_after(unknown, place.thread)
                return f"{channel}:{place.thread}"
            return f"{channel}:{place.thread or stamp}"


@dataclass(frozen=True)
class _Posting:
    """The posting of one update."""

    workspace: Workspace
    channel: str
    update_ref: str
    incident_ref: str
    since: datetime

    def place(self, thread: str) -> _Place:
        """Look for the update and for its incident's thread. Raises ToolFailure."""
        bot = self.workspace.bot()
        oldest = f"{int((self.since - SKEW).timestamp())}.000000"
        for message in () if thread else self.workspace.history(self.channel, oldest, MOST_MESSAGES):
            if self._is_ours(message, bot):
                # The latest come first, so that the last one found is the one that opened the thread.
                thread = str(message.get("thread_ts") or message.get("ts"))
        if not thread:
            return _Place("", is_there=False)
        ours = (
            each for each in self.workspace.replies(self.channel, thread, MOST_MESSAGES) if self._is_ours(each, bot)
        )
        return _Place(thread, any(_told(each).get("update_ref") == self.update_ref for each in ours))

    def post(self, words: str, thread: str) -> str:
        """Post the update and return its time. Raises ToolFailure, OutcomeUnknown."""
        return self.workspace.post(self.channel, thread, content_of(words, self.update_ref, self.incident_ref))

    def seen_after(self, unknown: OutcomeUnknown, thread: str) -> _Place:
        """Return where the update is after an answer was lost. Raises OutcomeUnknown while it is not seen."""
        try:
            place = self.place(thread)
        except ToolFailure:
            raise unknown from None
        if not place.is_there:
            raise unknown
        return place

    def _is_ours(self, message: Obj, bot: str) -> bool:
        return message.get("bot_id") == bot and _told(message).get("incident_ref") == self.incident_ref


def _told(message: Obj) -> Obj:
    """Return what a message's metadata say, if they are of our kind."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT:
        return {}
    payload = metadata.get("event_payload")
    return payload if isinstance(payload, dict) else {}


@contextmanager
def _alone(tenant_id: UUID, incident_ref: str) -> Iterator[None]:
    """Let nobody else publish about an incident meanwhile, without a transaction. Raises ToolFailure CONFLICT.

    The lock is the database connection's: it ends with a process that dies.
    """
    lock = [_LOCK, zlib.crc32(f"{tenant_id}/{incident_ref}".encode()) - 2**31]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", lock)
        [(is_mine,)] = cursor.fetchall()
        if not is_mine:
            raise ToolFailure(FailureKind.CONFLICT, "Something is being published about this incident. Try again.")
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", lock)
