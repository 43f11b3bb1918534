"""A session as a state machine over its ledger stream (pure).

``EVENTS`` is the whole machine: which event may follow in which status, and where it leads the session and the call
it is about. ``replay`` runs a stream through it and returns what the projection rows have to say. The runtime does
not run on this module, so it is a second opinion: the audit after crash tests (``agentops.runtime.audit``), the
seeded simulation and the tests of the loop all ask it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from agentops.kernel.errors import IncidentCode
from agentops.runtime import gates
from agentops.runtime.account import Account, Call, Check, MachineEvent, Process, require, undisturbed
from agentops.runtime.states import (
    ENDED,
    InvocationState,
    SessionStatus,
    Wish,
    require_invocation_transition,
    require_transition,
)

_S, _I = SessionStatus, InvocationState
_NEW, _QUEUED, _RUNNING = frozenset({None}), frozenset({_S.QUEUED}), frozenset({_S.RUNNING})
_LIVE = frozenset(SessionStatus) - ENDED
_ANY = frozenset(SessionStatus)
_ASKED, _PARKED = frozenset({_S.WAITING_APPROVAL}), frozenset({_S.WAITING_PERSON})
_UNDECIDED = frozenset({_S.WAITING_APPROVAL, _S.QUEUED, _S.SLEEPING})
_FRESH, _OPEN, _GONE = frozenset({None}), frozenset({_I.AWAITING_APPROVAL}), frozenset({_I.INTENDED})
_UNSETTLED, _DONE = frozenset({_I.INTENDED, _I.UNKNOWN}), frozenset({_I.SUCCEEDED})


@dataclass(frozen=True)
class Rule:
    """One row: the statuses an event may come in, and the status it leads to (None: it stays).

    ``call`` are the states that the call of ``refs["invocation"]`` may be in (None: not yet on record) and
    ``call_to`` where it goes; without ``call`` the event is about no call.
    """

    source: frozenset[SessionStatus | None]
    target: SessionStatus | None = None
    call: frozenset[InvocationState | None] = frozenset()
    call_to: InvocationState | None = None


# fmt: off
EVENTS: dict[str, Rule] = {
    # event                        session from        to                   call from            to
    "session.opened":              Rule(_NEW,          _S.QUEUED),
    "session.claimed":             Rule(_QUEUED,       _S.RUNNING),
    "session.handed_on":           Rule(_RUNNING,      _S.QUEUED),
    "session.preempted":           Rule(_RUNNING,      _S.QUEUED),
    "session.frozen":              Rule(_RUNNING,      _S.QUEUED),
    "session.lease_expired":       Rule(_RUNNING,      _S.QUEUED),
    "session.sleeping":            Rule(_RUNNING,      _S.SLEEPING),
    "session.woken":               Rule(frozenset({_S.SLEEPING}), _S.QUEUED),
    "session.stopping":            Rule(_RUNNING),
    "session.finished":            Rule(_RUNNING,      _S.FINISHED),
    "session.stopped":             Rule(_LIVE,         _S.STOPPED),
    "session.cancelled":           Rule(_LIVE,         _S.CANCELLED),
    "session.reopened":            Rule(ENDED,         _S.QUEUED),
    "session.pause_requested":     Rule(_RUNNING),
    # Of a session that nobody holds while a call is under way, a worker first finds out what became of that.
    "session.take_over_requested": Rule(_LIVE),
    "session.cancel_requested":    Rule(_LIVE),
    "session.paused":              Rule(_LIVE,         _S.PAUSED),
    "session.taken_over":          Rule(_LIVE,         _S.PAUSED),
    "session.resumed":             Rule(frozenset({_S.PAUSED}), _S.QUEUED),
    "session.handed_back":         Rule(frozenset({_S.PAUSED}), _S.QUEUED),
    "session.priority_changed":    Rule(_LIVE),
    "person.proposed":             Rule(frozenset({_S.PAUSED}), _S.QUEUED),
    "person.asked":                Rule(_RUNNING,      _S.WAITING_PERSON),
    "person.answered":             Rule(_PARKED,       _S.QUEUED),
    "question.expired":            Rule(_PARKED,       _S.QUEUED),
    "question.overtaken":          Rule(_PARKED,       _S.QUEUED),
    "model.malformed":             Rule(_RUNNING),
    "budget.warned":               Rule(_ANY),
    "elevation.given":             Rule(_LIVE),
    "elevation.revoked":           Rule(_ANY),
    "process.began":               Rule(_RUNNING),
    "process.moved":               Rule(_RUNNING),
    "process.failed":              Rule(_RUNNING),
    "process.compensated":         Rule(_RUNNING),
    "call.read":                   Rule(_RUNNING),
    "call.read_failed":            Rule(_RUNNING),
    "approval.requested":          Rule(_RUNNING,      _S.WAITING_APPROVAL, _FRESH | _OPEN,      _I.AWAITING_APPROVAL),
    "approval.voted":              Rule(_ASKED,        None,                _OPEN,               _I.AWAITING_APPROVAL),
    "approval.given":              Rule(_ASKED,        None,                _OPEN,               _I.AWAITING_APPROVAL),
    "approval.taken_back":         Rule(_ASKED,        None,                _OPEN,               _I.AWAITING_APPROVAL),
    "approval.asked":              Rule(_ASKED,        _S.QUEUED,           _OPEN,               _I.AWAITING_APPROVAL),
    "approval.answered":           Rule(_RUNNING,      _S.WAITING_APPROVAL, _OPEN,               _I.AWAITING_APPROVAL),
    "approval.approved":           Rule(_ASKED,        _S.QUEUED,           _OPEN,               _I.AWAITING_APPROVAL),
    "approval.edited":             Rule(_ASKED,        _S.QUEUED,           _OPEN,               _I.REFUSED),
    "approval.rejected":           Rule(_ASKED,        _S.QUEUED,           _OPEN,               _I.REFUSED),
    # Also while a question about the call waits for a worker: nothing is left waiting because nobody answers.
    "approval.expired":            Rule(_UNDECIDED,    _S.QUEUED,           _OPEN,               _I.REFUSED),
    "approval.voided":             Rule(_LIVE,         None,                _OPEN,               _I.AWAITING_APPROVAL),
    "call.refused":                Rule(_LIVE,         None,                _OPEN,               _I.REFUSED),
    "call.intended":               Rule(_RUNNING,      None,                _FRESH | _OPEN,      _I.INTENDED),
    "call.retried":                Rule(_RUNNING,      None,                _GONE,               _I.INTENDED),
    "call.succeeded":              Rule(_RUNNING,      None,                _GONE,               _I.SUCCEEDED),
    "call.failed":                 Rule(_LIVE,         None,                _GONE,               _I.FAILED),
    "call.unknown":                Rule(_LIVE,         None,                _GONE,               _I.UNKNOWN),
    "call.reconciled":             Rule(_ANY,          None,                _UNSETTLED,          None),
    "call.compensated":            Rule(_ANY,          None,                _DONE,               _I.COMPENSATED),
}
# fmt: on


def replay(events: Iterable[MachineEvent]) -> Account:
    """Return what a session's whole stream adds up to. Raises IllegalTransition at the first event that may not be."""
    account = Account()
    for event in events:
        advance(account, event)
    return account


def advance(account: Account, event: MachineEvent) -> None:
    """Move ``account`` by one event. Raises IllegalTransition, after which ``account`` is of no further use."""
    rule = EVENTS.get(event.type)
    require(rule is not None, event, "is no event of a session")
    assert rule is not None  # noqa: S101 - required above
    require(account.status in rule.source, event, f"may not come while the session is {account.status}")
    check = _CHECKS.get(event.type)
    # A proposal that is refused before it is put on record is about no call.
    if rule.call and (event.type != "call.refused" or "invocation" in event.refs):
        _move_call(account, event, rule)
    if check is not None:
        check(account, event)
    if rule.target is not None:
        _move_session(account, event, rule.target)
    account.position += 1
    account.tokens += event.facts.get("input_tokens", 0) + event.facts.get("output_tokens", 0)
    account.cost_micro += event.facts.get("cost_micro", 0)


def _move_session(account: Account, event: MachineEvent, target: SessionStatus) -> None:
    before = account.status
    if before is not None and before is not target:
        require_transition(before, target)
    if before is SessionStatus.WAITING_PERSON:
        account.question = ""
    if target in ENDED:
        require(not account.unfinished, event, "may not come while a call is unfinished")
        account.taken_by, account.reopened = "", False
    if target in ENDED or target is SessionStatus.PAUSED:
        # Carried out, or too late. In every other status the wish waits for whoever takes the session next.
        account.wanted = Wish.NONE
    if target is not SessionStatus.PAUSED:
        account.paused_for = ""
    account.status = target


def _move_call(account: Account, event: MachineEvent, rule: Rule) -> None:
    id_ = event.refs.get("invocation", "")
    call = account.calls.get(id_)
    before = call.state if call else None
    require(bool(id_), event, "names no call")
    require(before in rule.call, event, f"may not come while its call is {before}")
    after = rule.call_to or (_I.SUCCEEDED if event.facts.get("found") == "happened" else _I.FAILED)
    if before is not None and before is not after:
        require_invocation_transition(before, after)
    if call is None:
        require(not account.unfinished, event, "may not come while another call is unfinished")
        call = account.calls[id_] = Call(after)
    call.state = after
    if after in (_I.FAILED, _I.REFUSED):
        call.key = ""


def _opened(account: Account, event: MachineEvent) -> None:
    require(account.position == 0, event, "is not the first event")


def _claimed(account: Account, event: MachineEvent) -> None:
    account.fence += 1
    require(event.facts.get("fence") == account.fence, event, f"does not carry the fence {account.fence}")


def _stopping(account: Account, event: MachineEvent) -> None:
    code = event.facts.get("code", "")
    require(bool(code), event, "has no code")
    # While a stopping session takes back what it did, an undo may fail, which matters more than why it stops.
    again = account.stop_code and code != IncidentCode.UNDO_FAILED
    require(not again, event, f"comes although the session is stopping for {account.stop_code}")
    account.stop_code = code


def _finished(account: Account, event: MachineEvent) -> None:
    require(not account.stop_code, event, f"comes although the session is stopping for {account.stop_code}")


def _stopped(account: Account, event: MachineEvent) -> None:
    account.stop_code = account.stop_code or event.facts.get("code", "")
    require(bool(account.stop_code), event, "has no code")
    require(event.facts.get("code") == account.stop_code, event, f"has another code than {account.stop_code}")
    # Only what nobody may go on with stops where it waits; all else stops in a worker's hands, or in the queue.
    worked = account.status in (SessionStatus.RUNNING, SessionStatus.QUEUED)
    erased = event.facts.get("erased") is True
    require(worked or erased, event, f"may not come while the session is {account.status}")


def _reopened(account: Account, _event: MachineEvent) -> None:
    account.stop_code, account.reopened = "", True


def _wished(wish: Wish) -> Check:
    def check(account: Account, event: MachineEvent) -> None:
        account.wanted = wish
        if wish is Wish.TAKE_OVER:
            account.taken_by = event.actor
        if account.status is not SessionStatus.RUNNING:
            under_way = any(call.state is _I.INTENDED for call in account.calls.values())
            require(under_way, event, "leaves to a worker what could be done at once")
            _move_session(account, event, SessionStatus.QUEUED)

    return check


def _paused(account: Account, event: MachineEvent) -> None:
    """A worker gives a session up to a person when one wants it, or does its steps, or when it is unusual."""
    if account.status is SessionStatus.RUNNING:
        unusual = event.facts.get("code") == IncidentCode.ANOMALY
        asked = account.wanted in (Wish.PAUSE, Wish.TAKE_OVER) or bool(account.taken_by)
        require(asked or unusual, event, "was not asked for")
        require(event.facts.get("for", "") == account.taken_by, event, f"is not for {account.taken_by or 'nobody'}")
    account.paused_for = event.facts.get("code", "")


def _taken_over(account: Account, event: MachineEvent) -> None:
    account.taken_by, account.paused_for = event.actor, ""


def _cancelled(account: Account, event: MachineEvent) -> None:
    if account.status is SessionStatus.RUNNING:
        require(account.wanted is Wish.CANCEL or account.reopened, event, "was not asked for")
    account.stop_code = event.facts.get("code") or IncidentCode.CANCELLED.value


def _given_back(account: Account, _event: MachineEvent) -> None:
    account.taken_by = ""


def _proposed(account: Account, event: MachineEvent) -> None:
    require(bool(account.taken_by), event, "comes although nobody took the session over")


def _asked(account: Account, event: MachineEvent) -> None:
    undisturbed(account, event)
    account.question = _question_of(event)


def _answered(account: Account, event: MachineEvent) -> None:
    require(account.question == _question_of(event), event, "is not about the open question")


def _question_of(event: MachineEvent) -> str:
    question = str(event.refs.get("question") or event.facts.get("question") or "")
    require(bool(question), event, "names no question")
    return question


def _refused(account: Account, event: MachineEvent) -> None:
    """A call that is withdrawn while people are asked, by a freeze, leaves nothing to wait for."""
    if account.status is SessionStatus.WAITING_APPROVAL and "invocation" in event.refs:
        _move_session(account, event, SessionStatus.QUEUED)


def _intended(account: Account, event: MachineEvent) -> None:
    undisturbed(account, event)
    call, key = account.calls[event.refs["invocation"]], event.facts.get("key", "")
    require(call.decision not in gates.OPEN, event, "comes although nobody has decided")
    if event.facts.get("approved_by"):
        require(call.decision == "approved", event, "claims an approval that does not stand")
    require(all(not key or other.key != key for other in account.calls.values()), event, "uses a key that is taken")
    call.key = key


def _compensated(account: Account, event: MachineEvent) -> None:
    by = account.calls.get(str(event.facts.get("by") or event.refs.get("by") or ""))
    require(by is not None and by.state is _I.SUCCEEDED, event, "names no call that succeeded")


def _began(account: Account, event: MachineEvent) -> None:
    name = event.facts["process"]
    require(name not in account.processes, event, f"comes although {name} has begun")
    account.processes[name] = Process(event.facts["to"])


def _moved(account: Account, event: MachineEvent) -> None:
    process = _process_of(account, event)
    require(not process.failed, event, "comes although the process has failed")
    require(event.facts.get("from") == process.state, event, f"does not start at {process.state}")
    process.state = event.facts["to"]


def _failed(account: Account, event: MachineEvent) -> None:
    process = _process_of(account, event)
    process.state, process.failed = event.facts.get("to", process.state), True


def _taken_back(account: Account, event: MachineEvent) -> None:
    process = _process_of(account, event)
    require(process.failed, event, "comes although the process has not failed")
    process.state, process.failed = event.facts.get("to", process.state), False


def _process_of(account: Account, event: MachineEvent) -> Process:
    process = account.processes.get(event.facts["process"])
    require(process is not None, event, "is about a process that has not begun")
    assert process is not None  # noqa: S101 - required above
    return process


# What an event has to say beyond the statuses: facts that must fit, and what else it changes.
_CHECKS: dict[str, Check] = {
    "session.opened": _opened,
    "session.claimed": _claimed,
    "session.stopping": _stopping,
    "session.finished": _finished,
    "session.stopped": _stopped,
    "session.reopened": _reopened,
    "session.pause_requested": _wished(Wish.PAUSE),
    "session.take_over_requested": _wished(Wish.TAKE_OVER),
    "session.cancel_requested": _wished(Wish.CANCEL),
    "session.paused": _paused,
    "session.taken_over": _taken_over,
    "session.cancelled": _cancelled,
    "session.handed_back": _given_back,
    "person.proposed": _proposed,
    "person.asked": _asked,
    "person.answered": _answered,
    "question.expired": _answered,
    "question.overtaken": _answered,
    **gates.CHECKS,
    "call.refused": _refused,
    "call.intended": _intended,
    "call.retried": undisturbed,
    "call.compensated": _compensated,
    "process.began": _began,
    "process.moved": _moved,
    "process.failed": _failed,
    "process.compensated": _taken_back,
}
