"""What models cost today, against the limits."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentops.kernel.ids import new_id
from agentops.registry.planner import Usage
from agentops.runtime.models import SpendDay
from tests.console.conftest import DONE, TELL, Stage
from tests.console.operators import queries_of, read

URL = "/operations/spend/"


def spend(stage: Stage, scope: str, spent: int, reserved: int = 0, days: int = 0) -> None:
    SpendDay.objects.create(
        id=new_id(), tenant_id=stage.cast.tenant.pk, scope=scope, day=(timezone.now() - timedelta(days=days)).date(),
        spent_micro=spent, reserved_micro=reserved, tokens=1200, calls=3,
    )  # fmt: skip


def limit(stage: Stage, tenant: int | None, agent: int | None) -> None:
    stage.cast.tenant.max_day_micro = tenant
    stage.cast.tenant.save()
    stage.agent.max_day_micro = agent
    stage.agent.save()


def test_day_without_spending_or_limits(stage: Stage, alice: Client) -> None:
    words = read(alice, URL)
    assert "North Goods, all of it no limit – – – 0 0" in words
    assert "Payer no limit – – – 0 0" in words


def test_day_against_its_limits_with_what_is_set_aside_apart(stage: Stage, alice: Client) -> None:
    limit(stage, 10_000_000, 4_000_000)
    spend(stage, "tenant", 5_000_000, 250_000)
    spend(stage, f"agent:{stage.agent.pk}", 3_000_000, 250_000)
    spend(stage, "workstream:toy", 3_000_000)
    spend(stage, "tenant", 9_000_000, days=1)
    page = alice.get(URL).content.decode()
    words = read(alice, URL)
    assert "North Goods, all of it 52 % over 50 % $5.00 $0.25 $10.00 3 1,200" in words
    assert "Payer 81 % over 80 % $3.00 $0.25 $4.00 3 1,200" in words
    assert "toy no limit $3.00 – – 3 1,200" in words
    assert re.findall(r'class="fill" width="(\d+)"', page) == ["500", "750"]
    assert re.findall(r'class="held" width="(\d+)"', page) == ["525", "812"]
    assert page.count('class="mark" x="498"') == page.count('class="mark" x="798"') == 2


@pytest.mark.parametrize(
    ("micro", "spent", "words"),
    [
        (2_000_000, 980_000, "49 %"),
        (2_000_000, 1_000_000, "50 % over 50 %"),
        (2_000_000, 1_600_000, "80 % over 80 %"),
        (2_000_000, 2_000_000, "100 % limit reached"),
        (2_000_000, 5_000_000, "250 % limit reached"),
        (0, 0, "100 % limit reached"),
    ],
)
def test_marks(stage: Stage, alice: Client, micro: int, spent: int, words: str) -> None:
    limit(stage, micro, None)
    spend(stage, "tenant", spent)
    found = re.search(r"all of it (.*?) (\$|–)", read(alice, URL))
    assert found
    assert found[1] == words


def test_what_a_session_costs_arrives(stage: Stage, alice: Client) -> None:
    stage.work(TELL, DONE, usage=Usage(model="scripted", input_tokens=100, output_tokens=20, cost_micro=125_000))
    words = read(alice, URL)
    assert "Payer no limit $0.25 – – 2 240" in words


def test_outsider_sees_their_own_day(stage: Stage, charlie: Client) -> None:
    spend(stage, "tenant", 5_000_000)
    words = read(charlie, URL)
    assert "South Goods, all of it no limit – – – 0 0" in words
    assert "$5.00" not in words


def test_one_query_count_for_one_and_for_thirty(stage: Stage, bob: Client) -> None:
    spend(stage, "workstream:a", 1)
    one = queries_of(bob, URL)
    for n in range(60):
        spend(stage, f"workstream:b-{n}", 1)
    assert queries_of(bob, URL) == one
    assert "The dearest 50 of 61." in read(bob, URL)
