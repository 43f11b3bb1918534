"""From what is known to the write that ends a trouble (pure). It raises NotYetKnown while something has to be read."""

from agentops.registry.offline.outcomes import Change
from agentops.registry.planner import Proposal, ToolCall
from sre_agent.playbook import people
from sre_agent.playbook.closing import Report, handed_over, noted, resolved
from sre_agent.playbook.desk import Desk
from sre_agent.playbook.diagnosing import Diagnosis, Evidence, diagnosed
from sre_agent.playbook.facts import Incident, Service
from sre_agent.playbook.finding import relevant
from sre_agent.playbook.quoting import quoted
from sre_agent.playbook.remedies import remedy

MOST_LOOKS = 3
"""So often the incident is read while an alert fires although the figures are sound."""
PASSED = "Unknown: it was over before anything was changed."


def begin(desk: Desk, report: Report) -> Proposal:
    """Return the next proposal before anything was changed since ``desk.since``."""
    incident, services = desk.incident(), desk.services()
    found = relevant(services, incident)
    if not found:
        return _nothing_bad(desk, incident, report)
    root = found[0]
    report.say(root.words, "list_services")
    told = _tell_people(desk, incident, root)
    if told is not None:
        return told
    if len(found) > 1:
        report.say(f"also bad: {', '.join(each.ref for each in found[1:])}", "list_services")
    evidence = _read(desk, root)
    troubles = diagnosed(evidence)
    for each in troubles:
        report.say(f"{each.trouble}: {'; '.join(each.because)}", "metrics, logs and deploys")
    if evidence.details.claimed_by:
        report.leave(root.ref, "Another incident is being worked on it.")
        return handed_over(desk.history, desk.granted, report, f"Another incident is being worked on {root.ref}.")
    if len(troubles) != 1:
        return _unknown(desk, evidence, troubles, report)
    return _act(desk, troubles[0], evidence, report)


def _act(desk: Desk, trouble: Diagnosis, evidence: Evidence, report: Report) -> Proposal:
    change = remedy(trouble, evidence)
    if change.tool not in desk.granted:
        report.leave(change.about, "The agent may not do that.")
        return handed_over(desk.history, desk.granted, report, f"The agent may not do {change.tool}.")
    book = change.arguments.get("runbook")
    if book is not None and book not in desk.runbooks():
        report.leave(change.about, "There is no such procedure.")
        return handed_over(desk.history, desk.granted, report, f"There is no procedure {book}.")
    rows = desk.history[desk.since :]
    note = noted(
        rows, desk.granted, report.words, mitigated=False, why=f"Whoever decides about {change.about} can read why."
    )
    return note or ToolCall(change.tool, change.arguments, _why(change, trouble))


def _why(change: Change, trouble: Diagnosis) -> str:
    return f"{trouble.trouble.value[:1].upper()}{trouble.trouble.value[1:]}: {'; '.join(trouble.because)}."


def _tell_people(desk: Desk, incident: Incident, root: Service) -> ToolCall | None:
    return people.called(desk, incident, people.failing(root)) or people.drafted(desk, incident, root)


def _read(desk: Desk, root: Service) -> Evidence:
    """Return everything that tells of a service. Raises NotYetKnown for what has not been read, and CannotKnow."""
    return Evidence(
        service=root,
        lines=desk.lines(root.ref),
        points=desk.points(root.ref),
        deploys=desk.deploys(root.ref),
        details=desk.details(root.ref),
        releases=desk.releases(root.ref),
        nodes=desk.nodes(),
    )


def _unknown(desk: Desk, evidence: Evidence, troubles: tuple[Diagnosis, ...], report: Report) -> Proposal:
    root = evidence.service
    errors = [line.text for line in evidence.lines if line.level == "error"]
    if errors:
        report.say(f"the log of {root.ref} says, {quoted(errors[0])}", "read_logs")
    if troubles:
        report.leave(root.ref, "Two causes are possible, and what ends one of them can make the other one worse.")
        return handed_over(desk.history, desk.granted, report, f"What is wrong with {root.ref} is ambiguous.")
    report.leave(root.ref, "It is bad, and none of the known troubles explains it.")
    return handed_over(desk.history, desk.granted, report, f"What is wrong with {root.ref} is not known.")


def _nothing_bad(desk: Desk, incident: Incident, report: Report) -> Proposal:
    report.say("the figures of every service are sound", "list_services")
    looked_often(desk, incident)
    if incident.fires:
        report.leave("the alerts", "They fire although the figures are sound.")
        return handed_over(desk.history, desk.granted, report, "An alert fires although all figures are sound.")
    return resolved(desk.history, desk.granted, report, PASSED, "Nothing was changed.")


def looked_often(desk: Desk, incident: Incident) -> None:
    """Ask for the incident again while an alert fires, MOST_LOOKS times in all. Raises NotYetKnown."""
    if incident.fires and len(desk.times("read_incident")) < MOST_LOOKS:
        desk.read_again()
