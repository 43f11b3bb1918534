"""A role's default rules come into the rule set of whoever employs its first agent, and nothing of theirs is lost."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent
from agentops.policy.models import RuleSet
from agentops.policy.operations import activate_rule_set, save_rule_set, withdraw_rule_set
from agentops.policy.queries import rules_of_tenant
from agentops.policy.rule_check import BadRules
from agentops.registry import roles
from agentops.registry.role import RoleSpec, Rule
from agentops.runtime.house import house_of
from agentops.runtime.opening import CannotOpen, open_tenant
from agentops.runtime.operations import employ_agent
from tests.factories.people import Cast
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


def rule(name: str, value: str = "10.00", **changes: Any) -> Rule:
    amount = {"fact": "money.minor", "op": ">", "value": value, "unit": "USD"}
    return {"id": name, "tools": ["pay"], "when": [amount], "effect": "ask", "words": "It is much.", **changes}


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch, toy: Toy) -> RoleSpec:
    """The toy role with a default rule, and another role like it with one of its own."""
    first = replace(toy.spec(), rules=(rule("toy-large"),))
    second = replace(first, name="twin", title="Twin", rules=(rule("twin-large", "20.00"),))
    monkeypatch.setattr(roles, "all_roles", lambda: (first, second))
    return first


Employ = Callable[..., Agent]


@pytest.fixture
def employ(cast: Cast) -> Employ:
    def act(role: RoleSpec, name: str = "Payer") -> Agent:
        return employ_agent(tenant_id=cast.tenant.pk, role=role, name=name, actor="user:bob")

    return act


def active(cast: Cast) -> list[str]:
    """Return the ids of the rules that hold."""
    found = RuleSet.objects.filter(tenant=cast.tenant, active=True).first()
    return [] if found is None else [each["id"] for each in found.document["rules"]]


def activate(cast: Cast, *rules: Rule) -> RuleSet:
    house, text = house_of(cast.tenant.pk), json.dumps({"rules": rules})
    made = save_rule_set(tenant_id=cast.tenant.pk, text=text, note="Ours.", house=house, actor="user:bob")
    standing = RuleSet.objects.filter(tenant=cast.tenant, active=True).first()
    instead_of = None if standing is None else standing.pk
    return activate_rule_set(rule_set_id=made.pk, instead_of=instead_of, house=house, actor="user:bob")


def test_the_first_agent_brings_its_rules_and_it_is_on_record(ruled: RoleSpec, employ: Employ, cast: Cast) -> None:
    employ(ruled)
    version = RuleSet.objects.get()
    assert (version.number, version.active, version.made_by, version.activated_by) == (1, True, "user:bob", "user:bob")
    assert version.note == "The default rules of the role Toy are added."
    assert version.document == {"rules": list(ruled.rules)}
    told = LedgerEvent.objects.filter(facts__model="RuleSet")
    assert sorted((event.type, event.actor) for event in told) == [
        ("config.added", "user:bob"),
        ("config.changed", "user:bob"),
    ]
    assert len(rules_of_tenant(cast.tenant.pk).rules) == 1


def test_a_role_without_rules_leaves_a_tenant_without(toy: Toy, employ: Employ) -> None:
    employ(roles.get_role("toy"))
    assert not RuleSet.objects.exists()


def test_rules_of_two_roles_stand_together(ruled: RoleSpec, employ: Employ, cast: Cast) -> None:
    employ(ruled)
    employ(roles.get_role("twin"), "Other")
    assert active(cast) == ["toy-large", "twin-large"]
    assert list(RuleSet.objects.order_by("number").values_list("active", flat=True)) == [False, True]


def test_rules_of_the_tenant_stay_as_they_are(
    ruled: RoleSpec, employ: Employ, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    employ(replace(ruled, rules=()))
    own = activate(cast, rule("ours", effect="forbid"), rule("toy-large", "99.00"))
    twin = replace(roles.get_role("twin"), rules=(rule("toy-large"), rule("twin-large", "20.00")))
    monkeypatch.setattr(roles, "all_roles", lambda: (ruled, twin))
    employ(twin, "Other")
    merged = RuleSet.objects.get(active=True)
    assert merged.document["rules"] == [*own.document["rules"], rule("twin-large", "20.00")]
    own.refresh_from_db()
    assert (own.active, own.number, merged.number) == (False, 1, 2)


def test_a_second_agent_of_the_role_brings_back_nothing_that_was_taken_out(
    ruled: RoleSpec, employ: Employ, cast: Cast
) -> None:
    employ(ruled)
    activate(cast, rule("ours"))
    employ(ruled, "Second")
    assert active(cast) == ["ours"]


def test_after_a_withdrawal_the_first_agent_of_another_role_brings_its_own_alone(
    ruled: RoleSpec, employ: Employ, cast: Cast
) -> None:
    employ(ruled)
    withdraw_rule_set(rule_set_id=RuleSet.objects.get().pk, actor="user:bob")
    employ(roles.get_role("twin"), "Other")
    assert active(cast) == ["twin-large"]


def test_an_agent_does_not_work_without_its_rules(ruled: RoleSpec, employ: Employ, cast: Cast) -> None:
    employ(replace(ruled, rules=()))
    activate(cast, rule("ours", "20.00", effect="forbid"))
    with pytest.raises(BadRules, match="ours"):
        employ(roles.get_role("twin"), "Other")
    assert list(Agent.objects.values_list("name", flat=True)) == ["Payer"]
    assert active(cast) == ["ours"]
    with pytest.raises(CannotOpen, match="do not go together"):
        open_tenant(slug="north", name="North Goods", timezone="", roles=[roles.get_role("twin")])


def test_opening_a_tenant_brings_the_rules_of_its_roles(ruled: RoleSpec) -> None:
    opened = open_tenant(slug="east", name="East Goods", timezone="", roles=[ruled, roles.get_role("twin")])
    merged = RuleSet.objects.get(active=True)
    assert (merged.tenant, merged.made_by) == (opened.tenant, "command:open_tenant")
    assert [each["id"] for each in merged.document["rules"]] == ["toy-large", "twin-large"]
    open_tenant(slug="east", name="East Goods", timezone="", roles=[ruled])
    assert RuleSet.objects.get(active=True) == merged
