"""The case that a session is about: done, not done after all, or handed to a person. Pure."""

from enum import StrEnum

from agentops.registry.tool import Change, Preview
from billing_agent.connectors.checks import target_of
from billing_agent.connectors.effect import Effect, Snapshot, conflict, invalid, missing
from billing_agent.connectors.port import CloseCase, EscalateCase, ReopenCase
from billing_agent.connectors.records import Case

LONGEST_NOTE = 2_000


class CaseStatus(StrEnum):
    """Who has to do something next, as ``models.Case`` has it."""

    OPEN = "open"
    ANSWERED = "answered"
    ESCALATED = "escalated"
    CLOSED = "closed"


def plan_close(snapshot: Snapshot, write: CloseCase) -> Effect:
    """Plan the end of work on a case. What was handed to a person is theirs to close."""
    case = _case(snapshot)
    if case.status == CaseStatus.CLOSED:
        raise conflict(f"Case {case.ref} is closed already.")
    if case.status == CaseStatus.ESCALATED:
        raise conflict(f"Case {case.ref} is with a person, who decides when it is done.")
    note = write.note.strip()
    if len(note) > LONGEST_NOTE:
        raise invalid(f"A note has at most {LONGEST_NOTE} characters.", "note")
    return _set(snapshot, case, CaseStatus.CLOSED, f"Close case {case.ref} of {case.sender}", note)


def plan_reopen(snapshot: Snapshot, write: ReopenCase) -> Effect:
    """Plan that a closed case is not done after all. Its notes stay."""
    case = _case(snapshot)
    if case.status != CaseStatus.CLOSED:
        raise conflict(f"Case {case.ref} is {case.status}, not closed.")
    return _set(snapshot, case, CaseStatus.OPEN, f"Open case {case.ref} of {case.sender} again", "")


def plan_escalation(snapshot: Snapshot, write: EscalateCase) -> Effect:
    """Plan the hand-over to a person. It is always possible, whatever became of the case and however much is said."""
    case = _case(snapshot)
    note = f"{write.reason.strip()}\n\n{write.summary.strip()}".strip()
    return _set(snapshot, case, CaseStatus.ESCALATED, f"Hand case {case.ref} of {case.sender} to a person", note)


def _set(snapshot: Snapshot, case: Case, status: CaseStatus, effect: str, note: str) -> Effect:
    kept = _noted(case.note, note)
    changes = (Change("Status", case.status, status.value), Change("Note", case.note, kept))
    customer = snapshot.customer
    return Effect(
        preview=Preview(
            effect=effect,
            target=f"case:{case.ref}" if customer is None else target_of(customer),
            changes=tuple(change for change in changes if change.before != change.after),
            versions=snapshot.versions(),
        ),
        result={"case_id": case.ref, "status": status.value, "former_status": case.status},
        case={"status": status.value} | ({"note": kept} if kept != case.note else {}),
    )


def _noted(former: str, note: str) -> str:
    """Return the note on top of the former ones. What does not fit is cut at the end, where the oldest is."""
    both = "\n\n".join(text for text in (note, former) if text)
    return both if len(both) <= LONGEST_NOTE else f"{both[: LONGEST_NOTE - 1]}…"


def _case(snapshot: Snapshot) -> Case:
    if snapshot.case is None:
        raise missing("case")
    return snapshot.case
