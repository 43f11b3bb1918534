"""The draft of a post-mortem, from what is on record. Pure: the same record gives the same text.

Everything that somebody else wrote is escaped: in running text and tables mark by mark, commands and outputs in fences
that nothing inside them ends. Blanks are left for what people alone know.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sre_agent.entries import CALL, VERIFIED, Entry, Figures, Told
from sre_agent.plain_markdown import cell, fenced, line, link, quoted

_RESOLVED, _REOPENED = "resolved", "reopened"
_UNKNOWN = "not known whether it was done"


def draft(incident: Told, entries: Sequence[Entry], figures: Figures) -> str:
    """Return the Markdown of a post-mortem's draft."""
    calls = [entry for entry in entries if entry.kind == CALL]
    parts = [
        f"# Post-mortem: {line(incident.title)}",
        f"A draft from the record of incident {line(incident.ref)}. What people know beside it is theirs to add.",
        "## Summary",
        quoted(incident.summary) or "Nobody has written one.",
        "## Impact",
        _impact(incident, figures),
        "## Timeline",
        _timeline(entries, figures),
        "## Actions",
        *(_actions(calls, figures) or ["Nothing was done."]),
        "## Verification",
        _verification(entries, figures),
        "## Cause",
        quoted(incident.cause) or "It is not known.",
        "## Remedy",
        quoted(_remedy(entries)) or "None is on record.",
        "## Evidence",
        _evidence(entries, figures),
        "## What nobody knows",
        _listed(_open_questions(incident, entries, figures)) or "Nothing that the record tells.",
        "## Follow-ups",
        "| What | Who | Until |\n|---|---|---|\n| | | |\n| | | |\n| | | |",
    ]
    return "\n\n".join(parts) + "\n"


def _impact(incident: Told, figures: Figures) -> str:
    ended = incident.resolved_at
    failed = "not known" if figures.failed_requests is None else f"{figures.failed_requests:,}"
    services = ", ".join(line(service) for service in figures.services) or "not known"
    facts = [
        ("Priority", f"P{incident.priority}"),
        ("Services", services),
        ("Began", _moment(incident.opened_at, figures)),
        ("Mitigated", _moment(incident.mitigated_at, figures) if incident.mitigated_at else "–"),
        ("Ended", _moment(ended, figures) if ended else f"not over ({line(incident.status)})"),
        ("Duration", _duration(ended - incident.opened_at) if ended else "–"),
        ("Failed requests", failed),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts)])


def _timeline(entries: Iterable[Entry], figures: Figures) -> str:
    rows = [
        f"| {_moment(entry.at, figures)} | {cell(entry.actor)} | {cell(entry.words)} |{_more(entry, figures)}"
        for entry in entries
    ]
    head = [f"| Time ({cell(figures.zone_name)}) | Who | What | |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else "Nothing is on record."


def _more(entry: Entry, figures: Figures) -> str:
    return f" {link('step', figures.base_url + entry.url)} |" if entry.url else " |"


def _actions(calls: Sequence[Entry], figures: Figures) -> list[str]:
    return [part for number, entry in enumerate(calls, 1) for part in _action(number, entry, figures)]


def _action(number: int, entry: Entry, figures: Figures) -> list[str]:
    allowed = ", ".join(line(person) for person in entry.approvers) or "nobody was asked"
    facts = [f"At {_moment(entry.at, figures)}", f"by {line(entry.actor)}", f"allowed by: {allowed}"]
    parts = [f"### {number}. {line(entry.words)}", "; ".join(facts) + "."]
    if entry.command:
        parts += ["Command:", fenced(entry.command)]
    if entry.output:
        parts += ["Output:", fenced(entry.output)]
    if entry.undo:
        parts += ["Taken back by:", fenced(entry.undo)]
    return parts


def _verification(entries: Iterable[Entry], figures: Figures) -> str:
    found = [entry for entry in entries if entry.kind == VERIFIED]
    return _listed(f"{_moment(entry.at, figures)}: {line(entry.words)}" for entry in found) or "Nothing was verified."


def _remedy(entries: Iterable[Entry]) -> str:
    """Return the last words about what ended it, nothing when it was opened again since."""
    ends = [entry for entry in entries if entry.kind in (_RESOLVED, _REOPENED)]
    return ends[-1].words if ends and ends[-1].kind == _RESOLVED else ""


def _evidence(entries: Iterable[Entry], figures: Figures) -> str:
    linked = [entry for entry in entries if entry.url]
    return (
        _listed(
            f"{link('step', figures.base_url + entry.url)} {_moment(entry.at, figures)}: {line(entry.words)}"
            for entry in linked
        )
        or "There is none."
    )


def _open_questions(incident: Told, entries: Sequence[Entry], figures: Figures) -> Iterable[str]:
    if incident.resolved_at is None:
        yield f"How it ends: the incident is {line(incident.status)}."
    if not incident.cause:
        yield "Why it came about."
    if figures.failed_requests is None:
        yield "How many requests failed."
    if not figures.services:
        yield "Which services it concerned."
    for entry in entries:
        if entry.kind == CALL and entry.became == _UNKNOWN:
            yield f"Whether this was done: {line(entry.words)}"
    verified = [entry for entry in entries if entry.kind == VERIFIED]
    if verified and not verified[-1].sound:
        yield f"Whether it helped: {line(verified[-1].words)}"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {each}" for each in lines)


def _moment(at: datetime, figures: Figures) -> str:
    local = at.astimezone(figures.zone)
    return f"{local:%Y-%m-%d %H:%M:%S} {local:%z}"


def _duration(lasted: timedelta) -> str:
    minutes, seconds = divmod(int(lasted.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        " ".join(f"{number} {unit}" for number, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if number)
        or "0 s"
    )
