"""After a write on the platform (pure): look whether it helped, take it back where it did not, and come to an end."""

from collections.abc import Sequence

from agentops.registry.offline.looking import CannotKnow
from agentops.registry.planner import Proposal, ToolCall
from sre_agent.playbook.closing import Report, handed_over, noted, resolved
from sre_agent.playbook.desk import Desk
from sre_agent.playbook.facts import Service
from sre_agent.playbook.finding import relevant
from sre_agent.playbook.moves import End, Move, attempt
from sre_agent.playbook.remedies import Judgement, compared, left_after, opposite
from sre_agent.playbook.working import PASSED, begin, looked_often

MOST_REMEDIES = 2


def follow(desk: Desk, moves: Sequence[Move], report: Report) -> Proposal:
    """Return the next proposal after the last of ``moves``."""
    report.attempts = [attempt(move) for move in moves]
    for move in moves:
        if not move.takes_back:
            report.say(str(move.seen.arguments.get("reason", "")).rstrip("."), "read before the change")
    last, later = moves[-1], desk.after(moves[-1].after)
    match last.end:
        case End.DONE:
            return _done(later, moves, report)
        case End.CHANGED:
            return _changed(later, last, report)
        case End.UNKNOWN:
            _look_at(later, last, report)
            report.leave(last.target, "Whether the last change took effect has to be looked up by a person.")
    return handed_over(desk.history, desk.granted, report, f"{last.seen.tool} of {last.target}: {last.words}")


def _done(later: Desk, moves: Sequence[Move], report: Report) -> Proposal:
    last = moves[-1]
    try:
        sound, problems = later.verdict(last.target)
    except CannotKnow:
        report.leave(last.target, "Whether the last change helped could not be verified.")
        return handed_over(later.history, later.granted, report, f"{last.seen.tool} could not be verified.")
    if last.takes_back:
        how = "which was verified" if sound else f"and it is not sound: {' '.join(problems)}"
        report.leave(last.target, f"A change that did not help was taken back, {how}.")
        return handed_over(later.history, later.granted, report, f"{moves[-2].seen.tool} did not help.")
    if not sound:
        return _failed(later, last, problems, report)
    report.say(f"{last.target} holds what it had to after {last.seen.tool}", "verify_change")
    return _settled(later, moves, report)


def _failed(later: Desk, last: Move, problems: Sequence[str], report: Report) -> Proposal:
    """Take a change back that did not help; leave one that helped a little, or that is still under way."""
    told = compared(_before(later, last), _present(later, last))
    report.say(f"{' '.join(problems)} {told.words}", "verify_change")
    back = opposite(last.seen)
    rolling = _is_rolling(later, last)
    keeps = told.judgement is Judgement.BETTER or (told.judgement is Judgement.SAME and rolling)
    if not keeps and back is not None and back[0] in later.granted:
        tool, arguments = back
        return ToolCall(tool, arguments, f"{last.seen.tool} did not help: {' '.join(problems)}"[:500])
    why = "It is better than before, so it was left." if keeps else "There is nothing that takes it back."
    report.leave(last.target, f"After {last.seen.tool} it is not sound. {why}")
    return handed_over(later.history, later.granted, report, f"{last.seen.tool} did not end it.")


def _changed(later: Desk, last: Move, report: Report) -> Proposal:
    """Somebody else is at work. What is sound by now is left alone, and what is not is theirs."""
    if _version(later, last) == last.seen.arguments.get("seen_version"):
        return handed_over(
            later.history, later.granted, report, f"{last.seen.tool} of {last.target} is not possible now."
        )
    incident, services = later.incident(), later.services()
    if relevant(services, incident):
        report.leave(last.target, "Somebody else has changed it meanwhile.")
        reason = f"Somebody else changes {last.target}, and it is not sound."
        return handed_over(later.history, later.granted, report, reason)
    looked_often(later, incident)
    if incident.fires:
        return handed_over(later.history, later.granted, report, "An alert fires although all figures are sound.")
    return resolved(later.history, later.granted, report, PASSED, "Somebody else changed it; the agent did not.")


def _settled(later: Desk, moves: Sequence[Move], report: Report) -> Proposal:
    """The last change helped: write that down, and resolve, or work what else there is."""
    last, done = moves[-1], [move for move in moves if move.end is End.DONE]
    note = noted(
        later.history[later.since :], later.granted, report.words, mitigated=True, why=f"{last.target} is sound again."
    )
    if note is not None:
        return note
    if not later.times("read_incident"):
        later.read_again()
    incident = later.incident()
    if incident.fires:
        if relevant(later.services(), incident):
            return _another(later, done, report)
        looked_often(later, incident)
        report.leave("the alerts", "They fire although the figures are sound.")
        return handed_over(later.history, later.granted, report, "An alert fires although all figures are sound.")
    for move in done:
        report.leave(move.target, left_after(move.seen.tool, move.seen.arguments))
    cause = "; ".join(str(move.seen.arguments.get("reason", "")) for move in done)
    remedy = "; ".join(f"{move.seen.tool} of {move.target}" for move in done)
    return resolved(later.history, later.granted, report, cause, remedy)


def _another(later: Desk, done: Sequence[Move], report: Report) -> Proposal:
    if len(done) < MOST_REMEDIES:
        return begin(later, report)
    report.leave("the incident", "What was done helped where it was done; something else is bad.")
    return handed_over(later.history, later.granted, report, "There is more than one trouble.")


def _look_at(later: Desk, last: Move, report: Report) -> None:
    try:
        services = later.services()
    except CannotKnow:
        return
    service = services.get(last.target.partition(":")[2])
    if service is not None:
        report.say(f"{service.words}, release {service.release}", "list_services")


def _before(later: Desk, last: Move) -> Service | None:
    """Return the service as it was read last before the write."""
    earlier = Desk(later.history[: last.after - 1], later.granted)
    rows = earlier.times("list_services")
    if not rows:
        return None
    return Desk(rows[-1:], later.granted).services().get(_compared_by(later, last))


def _version(later: Desk, last: Move) -> int | None:
    """Return the version of what the write was about, as it is now."""
    kind, _, name = last.target.partition(":")
    if kind == "node":
        return next((node.version for node in later.nodes() if node.ref == name), None)
    service = later.services().get(name)
    return None if service is None else service.version


def _present(later: Desk, last: Move) -> Service | None:
    return later.services().get(_compared_by(later, last))


def _is_rolling(later: Desk, last: Move) -> bool:
    service = _present(later, last)
    return service is not None and service.rolling


def _compared_by(later: Desk, last: Move) -> str:
    """Return the service by which a write is judged: for a node, the one whose logs were read last before."""
    kind, _, name = last.target.partition(":")
    if kind == "service":
        return name
    read = Desk(later.history[: last.after], later.granted).times("read_logs")
    return str(read[-1].result.get("service", "")) if read else ""
