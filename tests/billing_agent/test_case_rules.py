from typing import Any

import pytest

from billing_agent.connectors.case_rules import plan_close, plan_escalation, plan_reopen
from billing_agent.connectors.port import CloseCase, EscalateCase, ReopenCase
from billing_agent.connectors.records import Case
from tests.billing_agent.subscribers import DELETED, refusal, rows, snapshot

CLOSE = CloseCase("Refunded one month.")
ESCALATE = EscalateCase("Disputed amount", "The customer was billed twice.")


def case(status: str = "open", note: str = "") -> Case:
    return Case("case_1", "dana@example.com", "Billed twice", status, note, 2)


def about(found: Case | None, **fields: Any) -> Any:
    return snapshot(**{"subscription": None, "case": found} | fields)


@pytest.mark.parametrize("status", ["open", "answered"])
def test_a_case_is_closed_with_a_note_on_top_of_the_former_ones(status: str) -> None:
    effect = plan_close(about(case(status, "Looked into it.")), CLOSE)
    note = "Refunded one month.\n\nLooked into it."
    assert effect.case == {"status": "closed", "note": note}
    assert effect.preview.effect == "Close case case_1 of dana@example.com"
    assert effect.preview.target == "customer:cu_dana"
    assert effect.preview.versions == {"customer:cu_dana": 4, "case:case_1": 2}
    assert rows(effect) == [("Status", status, "closed"), ("Note", "Looked into it.", note)]
    assert effect.result == {"case_id": "case_1", "status": "closed", "former_status": status}


def test_a_case_is_closed_without_a_note() -> None:
    effect = plan_close(about(case()), CloseCase(" "))
    assert effect.case == {"status": "closed"}
    assert rows(effect) == [("Status", "open", "closed")]


def test_a_case_of_nobody_who_is_known_is_named_itself() -> None:
    assert plan_close(about(case(), customer=None), CLOSE).preview.target == "case:case_1"


@pytest.mark.parametrize(
    ("found", "write", "expected"),
    [
        (case("closed"), CLOSE, ("CONFLICT", "Case case_1 is closed already.", None)),
        (case("escalated"), CLOSE, ("CONFLICT", "Case case_1 is with a person, who decides when it is done.", None)),
        (case(), CloseCase("x" * 2_001), ("VALIDATION", "A note has at most 2000 characters.", "note")),
        (None, CLOSE, ("NOT_FOUND", "There is no such case of this customer.", None)),
    ],
)
def test_a_case_is_not_closed(found: Case | None, write: CloseCase, expected: tuple[str, str, str | None]) -> None:
    assert refusal(lambda: plan_close(about(found), write)) == expected


def test_a_closed_case_is_opened_again_and_keeps_its_note() -> None:
    effect = plan_reopen(about(case("closed", "Refunded one month.")), ReopenCase())
    assert effect.case == {"status": "open"}
    assert effect.preview.effect == "Open case case_1 of dana@example.com again"
    assert effect.result == {"case_id": "case_1", "status": "open", "former_status": "closed"}


@pytest.mark.parametrize("status", ["open", "answered", "escalated"])
def test_only_a_closed_case_is_opened_again(status: str) -> None:
    words = f"Case case_1 is {status}, not closed."
    assert refusal(lambda: plan_reopen(about(case(status)), ReopenCase())) == ("CONFLICT", words, None)
    assert refusal(lambda: plan_reopen(about(None), ReopenCase()))[0] == "NOT_FOUND"


@pytest.mark.parametrize("status", ["open", "answered", "escalated", "closed"])
def test_a_case_can_always_be_handed_to_a_person(status: str) -> None:
    effect = plan_escalation(about(case(status), customer=DELETED), ESCALATE)
    assert effect.case == {"status": "escalated", "note": "Disputed amount\n\nThe customer was billed twice."}
    assert effect.preview.effect == "Hand case case_1 of dana@example.com to a person"
    assert effect.result == {"case_id": "case_1", "status": "escalated", "former_status": status}


def test_a_hand_over_that_says_too_much_is_cut_where_the_oldest_is() -> None:
    effect = plan_escalation(about(case(note="old " * 400)), EscalateCase("Why", "y" * 1_000))
    note = effect.case["note"]
    assert len(note) == 2_000
    assert note.startswith("Why\n\n" + "y" * 1_000)
    assert note.endswith("…")


def test_without_a_case_nothing_is_handed_over() -> None:
    assert refusal(lambda: plan_escalation(about(None), ESCALATE))[0] == "NOT_FOUND"
