"""Compare the books and the log of the system of record, the ledger, and the rows of sessions and calls.

What must hold, whatever was killed: every job has one session, which ended, and every intended call a
conclusion; the system of record made each business action at most once; a call has one event of success exactly when
the effect was made, or it is on record as unknown; rows say what their streams say.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from agentops.chaos.drilled import ROLE, SPEC
from agentops.chaos.models import Request
from agentops.chaos.queries import unbegun
from agentops.chaos.report import Report
from agentops.kernel.errors import IncidentCode
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import leaf_of
from agentops.registry.drill import Action, Effect
from agentops.runtime.models import Invocation, MoneyWindow, ProcessInstance, Session
from agentops.runtime.process import COMPENSATED, FAILED
from agentops.runtime.states import ENDED, InvocationState
from agentops.runtime.windows import agent_target
from agentops.tenancy.models import Tenant

_I = InvocationState
MADE = frozenset({_I.SUCCEEDED.value, _I.COMPENSATED.value})
OPEN = frozenset({_I.INTENDED.value, _I.AWAITING_APPROVAL.value})
_TOLD = {
    "approval.requested": _I.AWAITING_APPROVAL,
    "approval.rejected": _I.REFUSED,
    "approval.expired": _I.REFUSED,
    "approval.edited": _I.REFUSED,
    "call.refused": _I.REFUSED,
    "call.intended": _I.INTENDED,
    "call.succeeded": _I.SUCCEEDED,
    "call.failed": _I.FAILED,
    "call.unknown": _I.UNKNOWN,
    "call.compensated": _I.COMPENSATED,
}
_FOUND = {"happened": _I.SUCCEEDED, "not_happened": _I.FAILED}
_ENDINGS = {"session.finished": "finished", "session.stopped": "stopped", "session.cancelled": "cancelled"}


@dataclass(frozen=True)
class Found:
    """Everything there is, read once. ``subjects`` maps sessions to the work they are about."""

    sessions: list[Session]
    calls: list[Invocation]
    events: Mapping[UUID, list[LedgerEvent]]
    effects: Sequence[Effect]
    subjects: Mapping[UUID, str]

    def action(self, call: Invocation) -> Action:
        """Return what the system of record knows the call as."""
        return SPEC.action(call.tool, call.arguments, self.subjects[call.session_id])


def audit(report: Report) -> None:
    """Write into the report whatever is wrong."""
    found = _read()
    report.sessions, report.effects = len(found.sessions), len(found.effects)
    report.actions = Counter(effect.action[0] for effect in found.effects)
    report.unknown = sum(call.state == _I.UNKNOWN for call in found.calls)
    report.lost += _lost(found)
    report.duplicated += _duplicated(found)
    report.mismatches += SPEC.faults(list(Tenant.objects.values_list("pk", flat=True)))
    for check in (
        _processes,
        _questions,
        _effects_against_calls,
        _calls_against_streams,
        _sessions_against_streams,
        _streams,
        _sums,
    ):
        report.mismatches += check(found)


def _read() -> Found:
    sessions = list(Session.objects.all())
    streams: dict[UUID, list[LedgerEvent]] = defaultdict(list)
    for event in LedgerEvent.objects.order_by("stream", "position"):
        streams[event.stream].append(event)
    calls = list(Invocation.objects.all())
    subjects = {session.pk: session.subject_id for session in sessions}
    return Found(sessions, calls, streams, SPEC.effects(), subjects)


def _lost(found: Found) -> Iterator[str]:
    for piece in unbegun():
        yield f"the work {piece} has no session"
    for session in found.sessions:
        if session.status not in ENDED:
            yield f"session {session.pk} of {session.subject_id} is {session.status}"
    for call in found.calls:
        if call.state in OPEN:
            yield f"call {call.pk} of {found.action(call)} is {call.state}"


def _processes(found: Found) -> Iterator[str]:
    """No process stays half done or half taken back, unless it was left to a person.

    It is when every worker was lost, and when nobody knows how a step of it ended.
    """
    lost = (IncidentCode.WORKER_LOST, IncidentCode.OUTCOME_UNKNOWN)
    given_up = {session.pk for session in found.sessions if session.stop_code in lost}
    process_of = {tool: spec.name for spec in ROLE.processes for tool in spec.tools}
    ends = {spec.name: {*spec.final, COMPENSATED, FAILED} for spec in ROLE.processes if spec.compensates}
    left = {
        (call.session_id, process_of.get(call.tool)) for call in found.calls if call.undo and call.state == _I.SUCCEEDED
    }
    for instance in ProcessInstance.objects.filter(process__in=ends).exclude(session_id__in=given_up):
        name = f"the process {instance.process} of session {instance.session_id}"
        if instance.state not in ends[instance.process]:
            yield f"{name} stays at {instance.state}"
        if instance.state == COMPENSATED and (instance.session_id, instance.process) in left:
            yield f"{name} is {COMPENSATED}, and a step of it is not"


def _questions(found: Found) -> Iterator[str]:
    """What the agent was asked it has answered, once; what was not answered is no longer open."""
    kept = {str(request.pk): request.answers for request in Request.objects.all()}
    told: Counter[tuple[str, str]] = Counter()
    for events in found.events.values():
        for event in events:
            if event.type in ("approval.asked", "approval.answered"):
                told[event.type, event.refs["request"]] += 1
    for request, answers in kept.items():
        asked, answered = told["approval.asked", request], told["approval.answered", request]
        if not asked == answered == answers:
            yield f"request {request} was asked about {asked} times, answered {answered} times, and has {answers}"


def _duplicated(found: Found) -> Iterator[str]:
    for (action, of), count in Counter(effect.action for effect in found.effects).items():
        if count > 1:
            yield f"{action} of {of} was made {count} times"
    for ref, count in Counter(found.subjects.values()).items():
        if count > 1:
            yield f"the work {ref} has {count} sessions"


def _effects_against_calls(found: Found) -> Iterator[str]:
    """Each success has its effect and the reverse; an effect without one belongs to an unknown call."""
    made = {effect.action: effect for effect in found.effects}
    known: dict[Action, list[Invocation]] = defaultdict(list)
    for call in found.calls:
        known[found.action(call)].append(call)
    for action, effect in made.items():
        calls = [call for call in known[action] if call.state in MADE or call.state == _I.UNKNOWN]
        if len(calls) != 1:
            yield f"the effect {action} belongs to {[(str(c.pk), c.state) for c in known[action]]}"
        elif effect.key not in ("", calls[0].idempotency_key):
            yield f"the effect {action} was made under another key than its call's"
        elif effect.minor is not None and effect.minor != _minor(calls[0]):
            yield f"the effect {action} moved {effect.minor}, and its call was to move {_minor(calls[0])}"
    for action, calls in known.items():
        for call in calls:
            if call.state in MADE and action not in made:
                yield f"call {call.pk} of {action} is {call.state}, and the other side knows nothing of it"


def _minor(call: Invocation) -> int:
    money = call.preview["money"]
    return money[0] if money else 0


def _calls_against_streams(found: Found) -> Iterator[str]:
    told: dict[str, InvocationState] = {}
    successes: Counter[str] = Counter()
    for events in found.events.values():
        for event in events:
            call, state = event.refs.get("invocation", ""), _state_told(event)
            if call and state is not None:
                told[call] = state
                successes[call] += state is _I.SUCCEEDED
    for call in found.calls:
        key = str(call.pk)
        if told.pop(key, None) != call.state:
            yield f"call {key} is {call.state}, and its stream says something else"
        if successes[key] != (call.state in MADE):
            yield f"call {key} is {call.state} after {successes[key]} events of success"
    for key in told:
        yield f"a stream tells of the call {key}, which is not there"


def _state_told(event: LedgerEvent) -> InvocationState | None:
    if event.type == "call.reconciled":
        return _FOUND[event.facts["found"]]
    return _TOLD.get(event.type)


def _sessions_against_streams(found: Found) -> Iterator[str]:
    for session in found.sessions:
        told = ""
        for event in found.events[session.pk]:
            told = _ENDINGS.get(event.type, "" if event.type in _REOPENS else told)
        if told != (session.status if session.status in ENDED else ""):
            yield f"session {session.pk} is {session.status}, and its stream says {told or 'open'}"


_REOPENS = frozenset({"session.claimed", "session.reopened"})


def _streams(found: Found) -> Iterator[str]:
    """Positions without gaps up to the head, and hashes that fit."""
    heads = {session.pk: session.position for session in found.sessions}
    for stream, head in heads.items():
        events = found.events[stream]
        if [event.position for event in events] != list(range(head)):
            yield f"the stream of session {stream} has gaps, or does not end at its head"
        yield from (f"{event}: the leaf hash does not fit" for event in events if not _hash_fits(event))


def _hash_fits(event: LedgerEvent) -> bool:
    return leaf_of(event).hash == bytes(event.leaf_hash)


def _sums(found: Found) -> Iterator[str]:
    """The sums that limits are checked against hold every call that took effect or may have."""
    agents = {session.pk: session.agent_id for session in found.sessions}
    moved: Counter[tuple[str, str]] = Counter()
    for call in _counted(found.calls):
        for target in (call.preview["target"], agent_target(agents[call.session_id])):
            moved[call.money_family, target] += call.preview["money"][0]
    kept: Counter[tuple[str, str]] = Counter()
    for window in MoneyWindow.objects.all():
        kept[window.family, window.target] += window.total_minor
    for key in {*moved, *kept}:
        if moved[key] != kept[key]:
            yield f"the sum of {key} is {kept[key]}, and its calls moved {moved[key]}"


def _counted(calls: Iterable[Invocation]) -> Iterator[Invocation]:
    for call in calls:
        if call.window_day is not None and (call.state in MADE or call.state == _I.UNKNOWN):
            yield call
