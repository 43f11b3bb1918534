"""The end of a session (pure): write down what was done, resolve or hand over, and say honestly what is left.

Each of these is proposed once, whatever becomes of it, so a session that cannot do them ends all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentops.registry.offline.attempts import Attempt, status_of
from agentops.registry.offline.ending import Work, cut, final, summary
from agentops.registry.offline.outcomes import Handed, Outcome, Said
from agentops.registry.planner import Observation, ObservationStatus, Proposal, ToolCall

MOST_REASON, MOST_TEXT = 300, 1_500
_SUBJECT = "incident"


@dataclass
class Report:
    """What is told at the end: the changes with what became of them, what was found, and what is left."""

    attempts: list[Attempt] = field(default_factory=list)
    found: list[Said] = field(default_factory=list)
    left: list[Handed] = field(default_factory=list)

    def say(self, words: str, source: str) -> None:
        """Note something that was read, and where."""
        self.found.append(Said(words, source))

    def leave(self, about: str, why: str) -> None:
        """Note something for a person."""
        self.left.append(Handed(about, why))

    @property
    def work(self) -> Work:
        """As the words that playbooks share take it."""
        others: tuple[Outcome, ...] = (*self.found, *self.left)
        return Work(tuple(self.attempts), others)

    @property
    def words(self) -> str:
        """Everything, for whoever goes on."""
        found = "\n".join(f"Found: {each.words} ({each.source})." for each in self.found)
        return cut(f"{found}\n{summary(self.work)}".strip() or "Nothing is known.", MOST_TEXT)


def handed_over(history: Sequence[Observation], granted: frozenset[str], report: Report, reason: str) -> Proposal:
    """Return the escalation, and after it the answer that ends the session."""
    status = status_of(history, "escalate_incident")
    if status is None and "escalate_incident" in granted:
        arguments = {"reason": cut(reason, MOST_REASON), "summary": report.words}
        return ToolCall("escalate_incident", arguments, "What is left is for a person.")
    report.leave("the incident", reason)
    return final(report.work, _SUBJECT, unsent=False, escalated=status is ObservationStatus.OK)


def resolved(
    history: Sequence[Observation], granted: frozenset[str], report: Report, cause: str, remedy: str
) -> Proposal:
    """Return the call that resolves the incident, and after it the answer that ends the session.

    An incident that may not be resolved is handed over.
    """
    status = status_of(history, "resolve_incident")
    if status is None and "resolve_incident" in granted:
        arguments = {"cause": cut(cause, MOST_TEXT), "remedy": cut(remedy, MOST_TEXT)}
        return ToolCall("resolve_incident", arguments, "It is over: the figures are sound and no alert fires.")
    if status is ObservationStatus.OK:
        return final(report.work, _SUBJECT, unsent=False, escalated=False)
    return handed_over(history, granted, report, "It seems to be over, but could not be resolved.")


def noted(
    history: Sequence[Observation], granted: frozenset[str], words: str, *, mitigated: bool, why: str
) -> ToolCall | None:
    """Return the call that writes down what is known, None when it was made among ``history``."""
    is_tried = any(seen.tool == "update_incident" and not seen.is_edited for seen in history)
    if is_tried or "update_incident" not in granted:
        return None
    known: dict[str, object] = {"summary": cut(words, MOST_TEXT)}
    if mitigated:
        known["mitigated"] = True
    return ToolCall("update_incident", known, why)
