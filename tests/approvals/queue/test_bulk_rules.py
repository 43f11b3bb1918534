"""Approving together, rule by rule: whatever is not known is approved alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentops.registry.flow import UNDECLARED, Argument, Flow, Kind, Sends
from agentops.registry.tool import DataClass, Tier, ToolSpec
from approvals.bulk_rules import MOST_TOGETHER, Candidate, why_alone, why_not_together

TAG = ToolSpec(
    name="tag",
    version=1,
    owner="tests",
    description="Tag a ticket.",
    input_schema={},
    output_schema={},
    tier=Tier.WRITE_SOFT,
    auth_scope="tickets:tag",
    data_class=DataClass.INTERNAL,
    run=lambda context, arguments: {},
    flow=Flow("tag", arguments={"": Argument(Kind.LABEL)}),
)
GOOD = Candidate(
    queue_allows=True,
    decidable=True,
    level=1,
    people=1,
    moves_money=False,
    sends="nowhere",
    tool="tag",
    specs=(TAG,),
)


def with_tool(**values: Any) -> Candidate:
    return replace(GOOD, specs=(replace(TAG, **values),))


def with_argument(kind: Kind) -> Candidate:
    return with_tool(flow=Flow("tag", arguments={"x": Argument(kind)}))


def test_reversible_harmless_request_of_a_queue_that_allows_it_is_approved_with_others() -> None:
    assert why_alone(GOOD) == ""
    assert why_not_together([GOOD] * MOST_TOGETHER) == ""


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (replace(GOOD, queue_allows=False), "queue does not let"),
        (replace(GOOD, decidable=False), "not decide it now"),
        (replace(GOOD, level=2), "not reversible"),
        (replace(GOOD, level=3), "not reversible"),
        (replace(GOOD, people=2), "more than one person"),
        (replace(GOOD, moves_money=True), "moves money"),
        (with_tool(money_family="payment"), "moves money"),
        (with_tool(tags=("money",)), "moves money"),
        (with_argument(Kind.AMOUNT), "moves money"),
        (replace(GOOD, sends="subject"), "leaves the house"),
        (replace(GOOD, sends="outside"), "leaves the house"),
        (with_tool(flow=Flow("tag", sends=Sends.SUBJECT)), "leaves the house"),
        (with_tool(flow=Flow("tag", sends=Sends.OUTSIDE)), "leaves the house"),
        (with_tool(tags=("outbound",)), "leaves the house"),
        (with_argument(Kind.TARGET), "leaves the house"),
        (with_tool(tags=("permissions",)), "gives a permission"),
        (with_argument(Kind.ROLE), "gives a permission"),
        (with_argument(Kind.SECRET), "gives a permission"),
        (with_argument(Kind.CODE), "gives a permission"),
        (with_tool(flow=UNDECLARED), "Nobody declared"),
        (replace(GOOD, specs=()), "not known any more"),
        (replace(GOOD, specs=(TAG, replace(TAG, tags=("money",)))), "moves money"),
    ],
)
def test_each_rule_keeps_a_request_apart(candidate: Candidate, words: str) -> None:
    assert words in why_alone(candidate)


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        (list, "None of them"),
        (lambda: [GOOD] * (MOST_TOGETHER + 1), "At most 10"),
        (lambda: [GOOD, replace(GOOD, tool="merge")], "one tool"),
    ],
)
def test_each_rule_of_the_set(candidates: Callable[[], list[Candidate]], words: str) -> None:
    assert words in why_not_together(candidates())
