"""Calls to people: whoever is on call, and nobody twice while they have not answered. Pure."""

from datetime import timedelta

from agentops.registry.preview_parts import TextChange
from agentops.registry.tool import Change, Preview
from sre_agent.connectors.desk_effect import RESOLVED, Desk, DeskEffect, PageNow, Written, clipped, said
from sre_agent.connectors.effect import conflict, invalid, missing
from sre_agent.connectors.port import PagePerson, WithdrawPage
from sre_agent.connectors.records import OnCall

LEVELS = (1, 2, 3)
WAIT = timedelta(minutes=15)
"""So long somebody has to answer before they are called about the same incident again."""
MOST_WORDS = 500


def plan_page(desk: Desk, write: PagePerson) -> DeskEffect:
    """Plan a call to whoever is on call at a level, or at the next one where somebody is. Raises ToolFailure."""
    incident = desk.the_incident()
    if write.level not in LEVELS:
        raise invalid("A level is 1, 2 or 3.", "level")
    words = said(write.words, "words", most=MOST_WORDS)
    if incident.status == RESOLVED:
        raise conflict(f"Incident {incident.ref} is resolved, so nobody is called about it.")
    level = _level(desk, write.level)
    called = _whom(desk, level)
    instead = "" if level == write.level else f"; nobody is on call at level {write.level}"
    preview = Preview(
        effect=f"Call {called.person} (level {level}) about incident {incident.ref}{instead}",
        target=f"incident:{incident.ref}",
        changes=(Change("Called", "", f"{called.person} (level {level})"),),
        versions={f"incident:{incident.ref}": incident.version},
        measures={"incident_priority": incident.priority},
        parts=(TextChange("Words", "", words),),
    )
    ref = desk.new_ref("PG")
    note = Written("changed", clipped(f"Called {called.person} (level {level}{instead}): {words}"))
    made = {
        "ref": ref,
        "person": called.person,
        "contact": called.contact,
        "words": words,
        "paged_at": desk.now,
    }
    return DeskEffect(preview, {"page_id": ref, "person": called.person}, (note,), new_page=made)


def plan_withdrawal(desk: Desk, write: WithdrawPage) -> DeskEffect:
    """Plan that somebody who was called is told that it is no longer needed. Raises ToolFailure."""
    incident, page = desk.the_incident(), desk.page
    if page is None:
        raise missing("page", "page_id")
    if page.withdrawn:
        raise conflict(f"Page {page.ref} is withdrawn already.", "page_id")
    preview = Preview(
        effect=f"Tell {page.person} that they are no longer needed for incident {incident.ref}",
        target=f"page:{page.ref}",
        changes=(Change("Withdrawn", "no", "yes"),),
        versions={f"page:{page.ref}": page.version},
        measures={"incident_priority": incident.priority},
    )
    note = Written("changed", f"Told {page.person} that they are no longer needed.")
    return DeskEffect(preview, {"page_id": page.ref}, (note,), page={"withdrawn_at": desk.now})


def _level(desk: Desk, wanted: int) -> int:
    """Return the level that is called: the wanted one, else the next above, else the nearest below."""
    staffed = {each.level for each in desk.on_call}
    order: tuple[int, ...] = (*range(wanted, LEVELS[-1] + 1), *range(wanted - 1, 0, -1))
    for level in order:
        if level in staffed:
            return level
    raise conflict("Nobody is on call now. Hand the incident to a person instead, with escalate_incident.", "level")


def _whom(desk: Desk, level: int) -> OnCall:
    """Return the first at a level who was not called a moment ago. Raises ToolFailure CONFLICT."""
    waiting = {page.person: page for page in sorted(desk.pages, key=lambda page: page.paged_at) if _waits(desk, page)}
    there = [each for each in desk.on_call if each.level == level]
    free = [each for each in there if each.person not in waiting]
    if free:
        return free[0]
    page = waiting[there[0].person]
    raise conflict(
        f"{page.person} was called about this at {page.paged_at:%H:%M} UTC and has not answered yet."
        f" Wait until {page.paged_at + WAIT:%H:%M} UTC, or call another level.",
        "level",
    )


def _waits(desk: Desk, page: PageNow) -> bool:
    return not page.acknowledged and not page.withdrawn and desk.now < page.paged_at + WAIT
