"""Why a decision is refused, and the checks that everything people do with a request shares.

Each refusal says what to do instead.
"""

from datetime import datetime

from agentops.kernel.errors import AgentOpsError
from agentops.runtime.ports import ApprovalState
from approvals.models import ApprovalRequest


class NotAllowed(AgentOpsError):
    """The person may not decide this queue."""

    code = "NOT_ALLOWED"
    next_step = "Ask an admin for the queue's permission, or leave it to somebody who has it."


class Excluded(NotAllowed):
    """The person, or whoever they decide for, has a part in what is asked."""

    code = "EXCLUDED"
    next_step = "Leave it to somebody who has no part in it."


class NotDelegated(NotAllowed):
    """Nobody, or not this person, lets the decider decide for them now."""

    code = "NOT_DELEGATED"
    next_step = "Decide in your own name, or ask for a delegation that covers this queue."


class SamePerson(NotAllowed):
    """Several people must approve, and one of these two has done so already, in whichever name."""

    code = "SAME_PERSON"
    next_step = "Leave it to somebody else: each approval must be another person's."


class AlreadyClosed(AgentOpsError):
    """The request was decided, expired or withdrawn before this decision."""

    code = "ALREADY_CLOSED"
    next_step = "See what happened on the request's page."


class DigestBroken(AlreadyClosed):
    """The stored request is not what its digest was made of: somebody wrote to it behind the program's back."""

    code = "DIGEST_BROKEN"
    next_step = "Nothing was carried out. Tell whoever runs the database; the agent may propose it anew."


class ChangedSince(AgentOpsError):
    """The decision was about something else than what the request now says."""

    code = "CHANGED_SINCE"
    next_step = "Read the request again and decide anew."


class NeedsReason(AgentOpsError):
    """A rejection without a reason."""

    code = "NEEDS_REASON"
    next_step = "Say in a word why, so that the agent and the customer can be told."


class NeedsAcknowledgement(AgentOpsError):
    """Something irreversible was approved without saying, or wrongly saying, what it is about."""

    code = "NEEDS_ACKNOWLEDGEMENT"
    next_step = "Look it up in the request and type it."


class NeedsStepUp(AgentOpsError):
    """Something irreversible was approved without a fresh second factor."""

    code = "NEEDS_STEP_UP"
    next_step = "Confirm with your passkey or authenticator app, and approve again."


class AlreadyDecided(AgentOpsError):
    """The person has decided this already, the other way, and it waits for other people."""

    code = "ALREADY_DECIDED"
    next_step = "Ask somebody else who may decide this queue, or cancel the session."


class TooLate(AlreadyClosed):
    """An approval that cannot be taken back: it has been handed over, or it was somebody else's."""

    code = "TOO_LATE"
    next_step = "See on the request's page what became of it; some effects can be undone."


def require_open(request: ApprovalRequest, now: datetime) -> None:
    """Raise AlreadyClosed for a request, locked by the caller, that nobody waits for any more."""
    if request.state != ApprovalState.PENDING:
        raise AlreadyClosed(f"This request was already {request.state}.")
    if now >= request.expires_at:
        raise AlreadyClosed("This request has expired.")


def require_shown(request: ApprovalRequest, digest: str) -> None:
    """Raise ChangedSince unless ``digest``, that of the page the person read, is the request's."""
    if digest != request.digest:
        raise ChangedSince("The request is not what you were shown.")
