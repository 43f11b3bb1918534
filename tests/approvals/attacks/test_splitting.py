"""Splitting an amount below the threshold: sums count over calls, sessions and tickets of one customer and day."""

from collections.abc import Sequence

import pytest
from django.test import Client

from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, decide

pytestmark = pytest.mark.django_db

LIMIT = 2500
"""More than this for one customer in one day asks."""


def pays(stage: Stage, *amounts: int, account: str = "a-1", planned: Sequence[object] = ()) -> Session:
    """One session that pays these amounts one after the other."""
    work_id = f"w-{len(stage.toy.works) + 1}"
    stage.toy.add_work(work_id)
    stage.toy.taken.add(work_id)
    calls = [ToolCall("pay", {"account": account, "minor": minor}, "Part of it.") for minor in amounts]
    stage.toy.planner = ScriptedPlanner(
        [ToolCall("look", {"account": account}), *calls, *planned, FinalAnswer("Done.")]
    )
    session = start_session(agent=stage.agent, subject_id=work_id, actor="user:bob")
    work_until_quiet()
    return session


def paid(stage: Stage) -> int:
    return 100_000 - stage.toy.vendor.balances["a-1"]


@pytest.mark.parametrize(
    ("amounts", "without"),
    [
        ((2501,), 0),
        ((2500, 1), 2500),
        ((1250, 1251), 1250),
        ((900, 901, 902), 1801),
        ((1, 2, 3, 2495), 6),
        ((2499, 2), 2499),
    ],
)
def test_parts_count_together_in_a_session(stage: Stage, amounts: tuple[int, ...], without: int) -> None:
    pays(stage, *amounts)
    assert paid(stage) == without
    request = ApprovalRequest.objects.get()
    assert (request.state, request.money_minor) == ("pending", amounts[-1])


def test_parts_count_together_over_sessions(stage: Stage) -> None:
    for amount in (900, 900, 700):
        pays(stage, amount)
    assert (paid(stage), ApprovalRequest.objects.count()) == (2500, 0)
    pays(stage, 1)
    assert (paid(stage), ApprovalRequest.objects.count()) == (2500, 1)


def test_what_waits_is_not_spent_and_what_was_approved_is(stage: Stage, alice: Client) -> None:
    pays(stage, 2400)
    pays(stage, 200)
    request = ApprovalRequest.objects.get()
    decide(alice, request)
    stage.work()
    assert paid(stage) == 2600
    pays(stage, 1)
    assert ApprovalRequest.objects.filter(state="pending").count() == 1
    assert paid(stage) == 2600


def test_money_that_was_paid_back_does_not_make_room(stage: Stage) -> None:
    back = ToolCall("pay_back", {"account": "a-1", "minor": 2500}, "Back.")
    again = ToolCall("pay", {"account": "a-1", "minor": 2499}, "Again.")
    pays(stage, 2500, planned=[back, again])
    assert ApprovalRequest.objects.filter(state="pending").count() == 1


def test_a_rejected_part_is_asked_for_again_when_it_comes_again(stage: Stage, alice: Client) -> None:
    pays(stage, 2400)
    pays(stage, 200)
    decide(alice, ApprovalRequest.objects.get(), "reject", why="Split.")
    stage.work()
    pays(stage, 150)
    assert paid(stage) == 2400
    assert sorted(ApprovalRequest.objects.values_list("state", flat=True)) == ["pending", "rejected"]


@pytest.mark.parametrize("minor", [0, -1, -2500, 10**10])
def test_an_amount_outside_of_the_schema_reaches_nobody(stage: Stage, minor: int) -> None:
    pays(stage, minor)
    assert (paid(stage), ApprovalRequest.objects.count()) == (0, 0)


def test_the_page_says_that_the_sum_of_the_day_asks(stage: Stage, alice: Client) -> None:
    pays(stage, 2400)
    pays(stage, 200)
    request = ApprovalRequest.objects.get()
    body = alice.get(f"/approvals/{request.pk}/").content.decode()
    assert "More than $25.00 for one customer in one day." in body
