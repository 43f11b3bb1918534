"""``has:`` finds by what is unusual in the facts, and rows say it."""

from typing import Any

import pytest
from django.test import Client

from agentops.policy.facts import recorded
from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, queue_url

pytestmark = pytest.mark.django_db

USUAL: dict[str, Any] = {
    "flow": {"untrusted": False, "chosen": False, "unplanned": False, "leaves": []},
    "rate": {"first_target": False, "unusual": False},
    "money": {"present": False},
}
FACTS: dict[str, dict[str, Any]] = {
    "none": {},
    "usual": recorded(USUAL),
    "untrusted": recorded({**USUAL, "flow": {"untrusted": True, "leaves": []}}),
    "first": recorded({**USUAL, "rate": {"first_target": True}}),
    "often": recorded({**USUAL, "rate": {"unusual": True}}),
    "unplanned": recorded({**USUAL, "flow": {"unplanned": True, "leaves": []}}),
}


@pytest.fixture
def marked(stage: Stage) -> dict[str, str]:
    """The code of a request with each kind of facts."""
    codes = {}
    for number, (name, facts) in enumerate(FACTS.items()):
        request = stage.ask(5000 + number)
        ApprovalRequest.objects.filter(pk=request.pk).update(facts=facts)
        codes[name] = request.code
    return codes


def test_marks_are_found(marked: dict[str, str], alice: Client) -> None:
    def found(query: str) -> set[str]:
        page = alice.get(queue_url(q=query)).context["page"]
        codes = {row.id for group in page.groups for row in group.rows}
        return {name for name, code in marked.items() if code in codes}

    assert found("has:anomaly") == {"untrusted", "first", "often", "unplanned"}
    assert found("has:untrusted") == {"untrusted"}
    assert found("has:first") == {"first"}
    assert found("has:nonsense") == set(FACTS)
    body = alice.get(queue_url()).content.decode()
    for words in ("untrusted origin", "first-time target", "unusually often", "not asked for", "high risk"):
        assert words in body
