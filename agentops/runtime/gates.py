"""What the machine of a session requires of the requests that its calls wait for (pure).

A request is pending until people decide; one that is given may still be taken back, and nothing follows from it yet.
"""

from agentops.runtime.account import Account, Call, Check, MachineEvent, require, undisturbed
from agentops.runtime.states import SessionStatus

PENDING, GIVEN = "pending", "given"
OPEN = frozenset({PENDING, GIVEN})
"""What a call has to wait in."""


def _requested(account: Account, event: MachineEvent) -> None:
    undisturbed(account, event)
    call = account.calls[event.refs["invocation"]]
    require(call.decision in ("", "voided"), event, f"comes although an earlier request is {call.decision}")
    call.request, call.decision, call.asked = event.refs.get("request", ""), PENDING, False
    account.gates += 1


def _about(account: Account, event: MachineEvent, *decisions: str) -> Call:
    """Return the call that the event is about, whose request has to stand at one of ``decisions``."""
    call = account.calls[event.refs["invocation"]]
    require(call.request == event.refs.get("request"), event, "is about another request")
    require(call.decision in decisions, event, f"is about what is {call.decision}")
    return call


def _voted(account: Account, event: MachineEvent) -> None:
    _about(account, event, PENDING)


def _given(account: Account, event: MachineEvent) -> None:
    _about(account, event, PENDING).decision = GIVEN


def _taken_back(account: Account, event: MachineEvent) -> None:
    _about(account, event, GIVEN).decision = PENDING


def _approved(account: Account, event: MachineEvent) -> None:
    _about(account, event, PENDING, GIVEN).decision = "approved"


def _decided(account: Account, event: MachineEvent) -> None:
    call = _about(account, event, PENDING)
    # Time alone goes on while a question to the agent waits for a worker.
    waits = account.status is SessionStatus.WAITING_APPROVAL or call.asked
    require(waits, event, "comes although nobody is asked to decide")
    call.decision, call.asked = event.type.partition(".")[2], False


def _asked(account: Account, event: MachineEvent) -> None:
    _about(account, event, PENDING).asked = True


def _answered(account: Account, event: MachineEvent) -> None:
    undisturbed(account, event)
    call = _about(account, event, PENDING)
    require(call.asked, event, "answers what nobody asked")
    call.asked = False


def _voided(account: Account, event: MachineEvent) -> None:
    call = _about(account, event, PENDING, GIVEN, "approved")
    call.decision, call.asked = "voided", False


CHECKS: dict[str, Check] = {
    "approval.requested": _requested,
    "approval.voted": _voted,
    "approval.given": _given,
    "approval.taken_back": _taken_back,
    "approval.asked": _asked,
    "approval.answered": _answered,
    "approval.approved": _approved,
    "approval.edited": _decided,
    "approval.rejected": _decided,
    "approval.expired": _decided,
    "approval.voided": _voided,
}
