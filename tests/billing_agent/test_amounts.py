"""Amounts at every door: what a call, a form, a rule or an admin writes is right or refused in words, never rounded."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agentops.agents.models import Threshold, ToolGrant
from agentops.gateway.prepare import Refusal, checked_arguments
from agentops.llm.scripted import ScriptedPlanner
from agentops.policy.rule_check import BadRules, House, read
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.registry.tool import ToolSpec
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.operations import employ_agent, start_session
from agentops.tenancy.models import Membership, Role
from approvals.models import ApprovalRequest
from billing_agent import models
from billing_agent.policy import QUEUES
from billing_agent.role import ROLE
from billing_agent.tools import TOOLS
from tests.factories.billing import Desk, make_desk
from tests.factories.people import make_cast

pytestmark = pytest.mark.django_db
BIG = 2**63

# What stands in the JSON of a call, and the minor units that it is; None: it is refused.
IN_JSON: dict[str, int | None] = {
    "4820": 4820,
    "0.30000000000000004": None,
    "19.999": None,
    "100.5": None,
    "100.0": None,
    "1e2": None,
    "1e400": None,
    "-1e400": None,
    "NaN": None,
    "Infinity": None,
    '"1,000"': None,
    '"1.000"': None,
    '"１００"': None,
    '"4820"': None,
    "true": None,
    "null": None,
    "-0": None,
    "-4820": None,
    str(BIG): None,
    "1" * 400: None,
}
# What is typed where minor units are asked for.
TYPED_MINOR: dict[str, int | None] = {
    "4820": 4820,
    " 4820 ": 4820,
    "0.1+0.2": None,
    "19.999": None,
    "100.5": None,
    "1e400": None,
    "NaN": None,
    "1,000": None,
    "1.000": None,
    "1_000": None,
    "1 000": None,
    "１００": None,
    "٣": None,
    "0x10": None,
    str(BIG): None,
    "1" * 400: None,
}
# What is typed where an amount with decimals is asked for, by currency.
TYPED_MAJOR: dict[tuple[str, str], int | None] = {
    ("0.30", "USD"): 30,
    ("20", "USD"): 2000,
    ("0.1+0.2", "USD"): None,
    ("19.999", "USD"): None,
    ("1e400", "USD"): None,
    ("NaN", "USD"): None,
    ("1,000", "USD"): None,
    ("1.000", "USD"): None,
    ("1 000", "USD"): None,
    ("１００", "USD"): None,
    ("-0", "USD"): None,
    ("-1", "USD"): None,
    (str(BIG), "USD"): None,
    ("100", "JPY"): 100,
    ("100.5", "JPY"): None,
    ("100.0", "JPY"): None,
    ("1.000", "JPY"): None,
    ("1.000", "KWD"): 1000,
}


@pytest.fixture
def desk() -> Desk:
    return make_desk()


@pytest.fixture
def bob(desk: Desk) -> Client:
    user = User.objects.create_superuser("bob", "bob@example.com", "bob")
    Membership.objects.create(tenant=desk.tenant, user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    return client


MOVES = [tool for tool in TOOLS if "amount_minor" in tool.input_schema["properties"]]


@pytest.mark.parametrize("written", IN_JSON)
@pytest.mark.parametrize("tool", MOVES, ids=lambda tool: tool.name)
def test_an_amount_in_a_call(tool: ToolSpec, written: str) -> None:
    raw = json.dumps({**tool.examples[0], "amount_minor": "@"}).replace('"@"', written)
    found = checked_arguments(tool, raw)
    expected = IN_JSON[written]
    if expected is None:
        assert isinstance(found, Refusal)
        assert found.message
    else:
        assert not isinstance(found, Refusal)
        assert (found["amount_minor"], type(found["amount_minor"])) == (expected, int)


@pytest.mark.parametrize("written", IN_JSON)
def test_a_price_in_the_items_of_an_invoice(written: str) -> None:
    tool = next(tool for tool in TOOLS if tool.name == "generate_invoice")
    item = {**tool.examples[0]["items"][0], "unit_minor": "@"}
    raw = json.dumps({**tool.examples[0], "items": [item]}).replace('"@"', written)
    found = checked_arguments(tool, raw)
    assert isinstance(found, Refusal) == (IN_JSON[written] is None)


@pytest.mark.parametrize("typed", TYPED_MINOR)
def test_the_price_of_a_plan_in_admin(desk: Desk, bob: Client, typed: str) -> None:
    form = {"tenant": desk.tenant.pk, "ref": "new", "name": "New", "interval": "year", "currency": "USD"}
    answer = bob.post(reverse("admin:billing_agent_plan_add"), {**form, "amount_minor": typed})
    plan = models.Plan.objects.filter(ref="new").first()
    assert (None if plan is None else plan.amount_minor) == TYPED_MINOR[typed]
    assert answer.status_code == (200 if plan is None else 302)
    assert plan is not None or answer.context["adminform"].form.errors["amount_minor"]


@pytest.mark.parametrize("typed", TYPED_MINOR)
def test_a_limit_of_a_grant_in_admin(desk: Desk, bob: Client, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr(roles, "all_roles", lambda: (ROLE,))
    employ_agent(tenant_id=desk.tenant.pk, role=ROLE, name="Billing", actor="user:bob")
    grant = ToolGrant.objects.get(tool="reverse_credit")
    rows = {"TOTAL_FORMS": "1", "INITIAL_FORMS": "0", "MIN_NUM_FORMS": "0", "MAX_NUM_FORMS": "1000"}
    limit = {"fact": "money.minor", "op": ">", "value": typed, "currency": "USD", "effect": "ask", "words": "Much."}
    form: dict[str, Any] = {"dial": "bounded"}
    form |= {f"thresholds-{name}": value for name, value in rows.items()}
    form |= {f"thresholds-0-{name}": value for name, value in limit.items()}
    answer = bob.post(reverse("admin:agentops_toolgrant_change", args=[grant.pk]), form)
    made = Threshold.objects.filter(grant=grant).first()
    assert (None if made is None else made.value) == TYPED_MINOR[typed]
    assert answer.status_code == (200 if made is None else 302)


def test_the_amount_of_a_call_that_an_approver_changes(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    cast = make_cast(queue="billing-money")
    desk = make_desk(cast.tenant)
    give = ToolCall("apply_credit", {"amount_minor": 6000, "currency": "USD", "reason": "The outage."}, "Owed.")
    planner = ScriptedPlanner([ToolCall("lookup_customer_360", {}), give, FinalAnswer("Done.")])
    role = replace(ROLE, playbook=lambda: planner)
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    agent = employ_agent(tenant_id=cast.tenant.pk, role=role, name="Billing", actor="user:bob")
    models.Case.objects.update(body="Please give us a credit of $60.00.", taken_at=desk.case.received_at)
    start_session(agent=agent, subject_id="case-1", actor="user:bob")
    work_until_quiet()
    request, alice = ApprovalRequest.objects.get(), Client()
    alice.force_login(cast.alice)
    there = reverse("approval_edit", args=[request.pk])
    page = alice.get(there).context["page"]
    form = {name: str(page.form[name].value() or "") for name in page.form.fields}
    form |= {"digest": page.digest, "shown": page.shown, "rationale": "Less is owed."}
    for typed, expected in sorted(TYPED_MINOR.items(), key=lambda row: row[1] is not None):
        if typed == " 4820 ":
            continue
        with subtests.test(typed):
            answer = alice.post(there, {**form, "arg-amount_minor": typed})
            request.refresh_from_db()
            assert (answer.status_code, request.state) == ((422, "pending") if expected is None else (302, "voided"))
    work_until_quiet()
    assert ApprovalRequest.objects.get(state="pending").arguments["amount_minor"] == 4820


@pytest.mark.parametrize(("typed", "currency"), TYPED_MAJOR)
def test_the_amount_of_a_dispute_in_admin(desk: Desk, bob: Client, typed: str, currency: str) -> None:
    charge = models.Charge.objects.create(
        tenant=desk.tenant,
        customer=desk.dana,
        ref="ch-1",
        method_ref="card-1",
        amount_minor=10**15,
        currency=currency,
        status="succeeded",
        at=desk.case.received_at,
    )
    form = {"ref": "dp-1", "charge": charge.pk, "reason": "fraudulent", "opened_at_0": "2026-11-10"}
    answer = bob.post(reverse("admin:billing_agent_dispute_add"), {**form, "opened_at_1": "08:00", "amount": typed})
    dispute = models.Dispute.objects.first()
    assert (None if dispute is None else dispute.amount_minor) == TYPED_MAJOR[typed, currency]
    assert answer.status_code == (200 if dispute is None else 302)


@pytest.mark.parametrize(("typed", "currency"), TYPED_MAJOR)
def test_an_amount_in_a_rule(typed: str, currency: str) -> None:
    house = House(TOOLS, frozenset(queue.slug for queue in QUEUES))
    amount = {"fact": "money.minor", "op": ">", "value": typed, "unit": currency}
    rule = {"id": "r", "tools": ["apply_credit"], "when": [amount], "effect": "ask", "words": "Much."}
    text = json.dumps({"rules": [rule]})
    if TYPED_MAJOR[typed, currency] is None and not typed.startswith("-"):
        with pytest.raises(BadRules, match="is not readable"):
            read(text, house)
    elif typed == "-1":
        with pytest.raises(BadRules):
            read(text, house)
    else:
        assert read(text, house)["rules"][0]["when"] == [amount]


@pytest.mark.parametrize("value", [50, 50.0, 0.30000000000000004])
def test_an_amount_in_a_rule_is_text(value: object) -> None:
    house = House(TOOLS, frozenset(queue.slug for queue in QUEUES))
    amount = {"fact": "money.minor", "op": ">", "value": value, "unit": "USD"}
    rule = {"id": "r", "tools": ["apply_credit"], "when": [amount], "effect": "ask", "words": "Much."}
    with pytest.raises(BadRules):
        read(json.dumps({"rules": [rule]}), house)
