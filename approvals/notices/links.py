"""Links in messages. One names a person, a request and the digest of what was asked; it decides nothing.

The signature keeps anybody from making one up. It is no key: whoever opens a link signs in, and sees what they may see.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse

from agentops.kernel.errors import AgentOpsError
from approvals.models import ApprovalRequest
from approvals.notices.sending import NeverSent

LONGEST = timedelta(days=7)
MOST_CHARACTERS = 500
_SALT = "approvals.notices.links"


class OldLink(AgentOpsError):
    """The link has run out, or is none of ours."""

    code = "OLD_LINK"
    next_step = "Open your queue."


@dataclass(frozen=True)
class Link:
    """What a link that was made here says."""

    person_id: int
    request_id: UUID
    digest: str


def link_to(request: ApprovalRequest, person: User, now: datetime) -> str:
    """Return the address that a message to the person has, good until the request expires, seven days at most."""
    ends = min(request.expires_at, now + LONGEST)
    said = [person.pk, request.pk.hex, request.digest, int(ends.timestamp())]
    return f"{site()}{reverse('notice_link')}?t={signing.Signer(salt=_SALT).sign_object(said)}"


def read_link(token: str, now: datetime) -> Link:
    """Return what a link says. Raises OldLink, for every reason in the same words."""
    try:
        said: Any = signing.Signer(salt=_SALT).unsign_object(token[: MOST_CHARACTERS + 1])
        person_id, request_id, digest, ends = said
        if now < datetime.fromtimestamp(ends, UTC):
            return Link(person_id, UUID(request_id), digest)
    except (signing.BadSignature, ValueError, TypeError):
        pass
    raise OldLink("This link is old.")


def request_address(request: ApprovalRequest) -> str:
    """Return the address of the request's page, for a channel with many readers."""
    return f"{site()}{reverse('approval_request', args=[request.pk])}"


def site() -> str:
    """Return the address of this installation, without a slash at its end. Raises NeverSent when nobody has set it."""
    if not settings.SITE_URL:
        raise NeverSent("SITE_URL is not set, so that links would lead nowhere.")
    return str(settings.SITE_URL).rstrip("/")
