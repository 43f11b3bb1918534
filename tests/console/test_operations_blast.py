"""The page of the blast radius: every tool, its worst call and its control, and what the agents here may do today."""

import re
from dataclasses import replace

import pytest
from django.test import Client

from agentops.agents.models import Agent, Threshold, ToolGrant
from agentops.agents.operations import create_agent
from agentops.registry import roles
from agentops.tenancy.models import Tenant
from tests.console.conftest import Stage
from tests.console.operators import freeze_by, queries_of, read, words_of

URL = "/operations/blast-radius/"


def row(client: Client, tool: str, **params: str) -> str:
    """The words of a tool's row."""
    page = client.get(URL, params).content.decode()
    found = re.search(rf'<tr data-row>\s*<th scope="row"><span class="mono">{tool}</span>.*?</tr>', page, re.S)
    assert found is not None, words_of(page)
    return words_of(found[0])


def another(stage: Stage, name: str, tenant: Tenant | None = None) -> Agent:
    tenant = tenant or stage.cast.tenant
    return create_agent(tenant_id=tenant.pk, role=roles.get_role("toy"), name=name, actor="user:bob")


def grant_of(agent: Agent, tool: str) -> ToolGrant:
    assert agent.current_version is not None
    return agent.current_version.grants.get(tool=tool)


def test_every_tool_is_there_with_worst_call_and_control(stage: Stage, bob: Client) -> None:
    words = read(bob, URL)
    total = len(stage.toy.spec().tools)
    assert f"{total} of {total} tools." in words
    assert row(bob, "pay") == (
        "pay hard write, financial, money: payment can be paid back empties the account"
        " more than $25 for one customer in one day asks runs within limits"
        " More than $25.00 for one customer in one day. runs within limits Payer v1"
    )
    assert row(bob, "look") == (
        "look reads, financial changes nothing reads somebody else's balance the account must be the customer's"
        " runs runs Payer v1"
    )


def test_page_is_one_of_the_operations(stage: Stage, bob: Client) -> None:
    page = bob.get(URL).content.decode()
    assert f'<a href="{URL}" aria-current="page">Blast radius</a>' in page
    assert f'<a href="{URL}">Blast radius</a>' in bob.get("/operations/").content.decode()
    assert bob.post(URL).status_code == 405


def test_live_dial_stands_beside_the_default(stage: Stage, bob: Client) -> None:
    grant = grant_of(stage.agent, "pay")
    ToolGrant.objects.filter(pk=grant.pk).update(dial="ask")
    assert row(bob, "pay").endswith("More than $25.00 for one customer in one day. asks (changed) Payer v1")
    grant.thresholds.all().delete()
    Threshold.objects.create(
        grant=grant, fact="money.minor", op=">", value=5, currency="USD", effect="ask", words="<b>More</b> than 5."
    )
    ToolGrant.objects.filter(pk=grant.pk).update(dial="bounded")
    assert row(bob, "pay").endswith("runs within limits (changed) Payer v1 <b>More</b> than 5.")
    assert "<b>More</b>" not in bob.get(URL).content.decode()
    grant.delete()
    assert row(bob, "pay").endswith("not granted (changed) Payer v1")


def test_freezes_show_at_what_they_cover(stage: Stage, bob: Client) -> None:
    another(stage, "Second")
    freeze_by(bob, where=f"agent:{stage.agent.pk}", tool="pay")
    assert row(bob, "pay").endswith("frozen Payer v1 runs within limits Second v1")
    assert row(bob, "note").endswith("Payer v1 runs Second v1")
    freeze_by(bob, tool="note")
    assert row(bob, "note").endswith("frozen Payer v1 frozen Second v1")


def test_frozen_tool_shows_without_an_agent(stage: Stage, bob: Client) -> None:
    Agent.objects.update(is_active=False)
    assert row(bob, "pay").endswith("no agent")
    freeze_by(bob, tool="pay")
    assert row(bob, "pay").endswith("frozen")
    assert row(bob, "note").endswith("no agent")


@pytest.mark.parametrize(
    ("params", "tools"),
    [
        ({}, ["look", "pay", "pay_back", "note", "hand_over"]),
        ({"tier": "read"}, ["look"]),
        ({"tier": "write-hard"}, ["pay"]),
        ({"role": "toy", "tier": "write-soft"}, ["pay_back", "note", "hand_over"]),
        ({"role": "nobody", "tier": "fly"}, ["look", "pay", "pay_back", "note", "hand_over"]),
        ({"q": "EMPTIES account"}, ["pay"]),
        ({"q": "struck out", "tier": "write-soft"}, ["note", "hand_over"]),
        ({"q": "\x00<script>"}, []),
    ],
)
def test_filters_narrow_the_list(stage: Stage, bob: Client, params: dict[str, str], tools: list[str]) -> None:
    page = bob.get(URL, params).content.decode()
    assert re.findall(r'<th scope="row"><span class="mono">(\w+)</span>', page) == tools
    assert ("No tool matches." in page) is (not tools)
    assert "<script>" not in page.partition("<main")[2]


def test_filter_by_role(stage: Stage, bob: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = stage.toy.spec()
    monkeypatch.setattr(roles, "all_roles", lambda: (toy, replace(toy, name="other", title="Other agent")))
    words = read(bob, URL, role="other")
    assert "5 of 10 tools." in words
    assert row(bob, "pay", role="other").endswith("no agent")
    assert row(bob, "pay", role="toy").endswith("Payer v1")


def test_other_tenants_agents_and_freezes_do_not_show(stage: Stage, bob: Client, charlie: Client) -> None:
    another(stage, "Stranger", stage.cast.other)
    freeze_by(bob, tool="pay")
    assert row(charlie, "pay").endswith("runs within limits Stranger v1")
    assert "Stranger" not in read(bob, URL)


def test_one_query_count_for_one_agent_and_for_twenty(stage: Stage, bob: Client) -> None:
    one = queries_of(bob, URL)
    for number in range(20):
        another(stage, f"Agent {number:02}")
    assert queries_of(bob, URL) <= one + 1
    words = read(bob, URL)
    assert "Agent 19 v1" in words
    assert "Payer v1" not in words
    assert "1 more agent of this tenant is not shown." in words
