"""What a role declares of a sender that calls it: how a message is verified and read, and what it means (values only).

The control plane receives the message, keeps it, and sees to it that it counts once; a role only says what follows.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from agentops.kernel.errors import AgentOpsError

TOLERANCE = timedelta(minutes=5)
"""How far the time that a message was signed at may be from ours."""
MOST_BYTES = 256 * 1024
"""The largest message that a sender may send, unless its source says otherwise."""

_ID = re.compile(r"[\x21-\x7e]{1,200}\Z", re.ASCII)
_TYPE = re.compile(r"[A-Za-z0-9_.:/-]{1,120}\Z", re.ASCII)


class BadEvent(AgentOpsError):
    """A message of the right sender that is no event: its fields are missing or not of their kind."""

    code = "BAD_EVENT"
    next_step = "Look at what the sender sends, and at the version of its interface."


@dataclass(frozen=True)
class WebhookEvent:
    """One event as its sender tells it. ``id`` tells it from every other of the endpoint, also when it is sent again.

    ``at`` is when it happened by the sender's clock. ``about`` names the thing whose state it tells, such as
    ``customer:cus_1``: one that is older than what is known of the thing is not received; empty: every one counts.
    ``live`` says whether it is about real money and machines, None when the sender knows no such difference.
    Raises BadEvent.
    """

    id: str
    type: str
    at: datetime
    about: str = ""
    live: bool | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _ID.match(self.id):
            raise BadEvent("The event's id is not 1 to 200 visible ASCII characters.")
        if not _TYPE.match(self.type):
            raise BadEvent("The event's type is not a name of 1 to 120 characters.")
        if self.about and not _ID.match(self.about):
            raise BadEvent("What the event is about is not 1 to 200 visible ASCII characters.")
        if self.at.tzinfo is None:
            raise BadEvent("The event's time names no time zone.")


@dataclass(frozen=True)
class Received:
    """What an event came to: subjects that were opened and wait for a session, and those whose sessions go on at once.

    ``words`` say it in one sentence, for people. ``ignored``: nothing follows from it.
    """

    opened: tuple[str, ...] = ()
    wakes: tuple[str, ...] = ()
    words: str = ""
    ignored: bool = False


@dataclass(frozen=True)
class WebhookSource:
    """A sender.

    ``verify(secret, headers, body, now)`` returns whether whoever knows the secret signed this body within TOLERANCE;
    header names are in lower case; it compares in constant time and raises nothing.
    ``read(body)`` returns the event of a verified body. Raises BadEvent.
    ``receive(tenant_id, event)`` records what follows, in the caller's transaction. Whatever it raises undoes that, and
    the sender is asked to try again later.
    ``most_bytes`` is the largest message that it sends.
    ``again_after`` is of a sender without ids of its own, which says that something still holds by the same message:
    after so long it counts anew; before that it is the same one, sent twice. None: an event counts once for ever.
    """

    name: str
    title: str
    verify: Callable[[str, Mapping[str, str], bytes, datetime], bool]
    read: Callable[[bytes], WebhookEvent]
    receive: Callable[[UUID, WebhookEvent], Received]
    most_bytes: int = MOST_BYTES
    again_after: timedelta | None = None
