"""Leave for one session to use an elevated scope, for a while, given and taken back by a person."""

from datetime import timedelta
from uuid import UUID

from django.db import transaction

from agentops.agents.models import Elevation
from agentops.kernel.canonical import storable
from agentops.kernel.clock import isoformat, utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event
from agentops.registry.roles import get_role
from agentops.runtime.models import Session
from agentops.runtime.operations import note
from agentops.runtime.states import ENDED, SessionStatus

LONGEST = timedelta(hours=8)


class CannotElevate(AgentOpsError):
    """No reason, too long, no such scope, or a session that has ended."""

    code = "CANNOT_ELEVATE"
    next_step = "Choose an elevated scope of the session's tools, say why, and for how long (at most 8 hours)."


def elevated_scopes(session: Session) -> list[str]:
    """Return the scopes of the session's role that need leave."""
    return sorted({tool.auth_scope for tool in get_role(session.role).tools if tool.elevated})


@transaction.atomic
def elevate(*, session_id: UUID, scope: str, actor: str, reason: str, lasts: timedelta) -> Elevation:
    """Let the session use ``scope`` for ``lasts``. Raises CannotElevate."""
    session = Session.objects.select_for_update().get(pk=session_id)
    words = storable(reason.strip(), most=300)[:300]
    if not words or not timedelta(0) < lasts <= LONGEST:
        raise CannotElevate("An elevation needs a reason, and lasts at most 8 hours.")
    if scope not in elevated_scopes(session):
        raise CannotElevate("No tool of this session's role needs leave for that scope.")
    if SessionStatus(session.status) in ENDED:
        raise CannotElevate("The session has ended.")
    at = utcnow()
    made = Elevation.objects.create(
        tenant_id=session.tenant_id,
        session_id=session.pk,
        scope=scope,
        reason=words,
        given_by=actor,
        given_at=at,
        expires_at=at + lasts,
    )
    facts = {"scope": scope, "until": isoformat(made.expires_at), "reason": words}
    note(session, [Event("elevation.given", actor, facts)])
    return made


@transaction.atomic
def revoke(*, elevation_id: UUID, actor: str) -> None:
    """Take an elevation back at once."""
    made = Elevation.objects.select_for_update().get(pk=elevation_id)
    if made.revoked_at is not None:
        return
    made.revoked_at = utcnow()
    made.save(update_fields=["revoked_at"])
    session = Session.objects.select_for_update().get(pk=made.session_id)
    note(session, [Event("elevation.revoked", actor, {"scope": made.scope})])
