"""A tenant's compliance packs at work: what they forbid is refused with its place, what they review asks a person."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.policy.models import RuleSet
from agentops.policy.operations import activate_rule_set, save_rule_set
from agentops.policy.ruleset import NO_RULES
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.house import house_of
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, start_session
from agentops.runtime.trying import Base, try_on_history
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request
from support_agent import models
from support_agent.role import ROLE
from tests.factories.people import Cast, make_cast
from tests.factories.support import make_shop

pytestmark = pytest.mark.django_db

BANNED = {"id": "guarantee", "phrases": ["we guarantee"], "words": "Nothing is guaranteed."}
PACK: dict[str, Any] = {
    "name": "advice",
    "version": 2,
    "banned": [BANNED],
    "reviews": [{"id": "personal", "phrases": ["we recommend"], "words": "Advice is read first.", "queue": "refunds"}],
}
BAD = "Hello,\nwe gu\u200barantee a new mug."
GOOD = "Hello,\na new mug is on its way."
ADVICE = "Hello,\nWe  recommend the steel mug."


@pytest.fixture
def cast() -> Cast:
    found = make_cast(queue="refunds")
    make_shop(found.tenant)
    return found


def run(monkeypatch: pytest.MonkeyPatch, cast: Cast, *bodies: str, pack: dict[str, Any] = PACK) -> Session:
    """Let the real role answer the shop's ticket with these replies, under the pack."""
    steps = [*(ToolCall("send_reply", {"body": body}) for body in bodies), FinalAnswer("Done.")]
    role = replace(ROLE, playbook=lambda: ScriptedPlanner(steps))
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    tenant = cast.tenant.pk
    agent = employ_agent(tenant_id=tenant, role=role, name="Support", actor="user:bob")
    house = house_of(tenant)
    text = json.dumps({"rules": [], "packs": [pack]})
    made = save_rule_set(tenant_id=tenant, text=text, note="Advice.", house=house, actor="user:bob")
    activate_rule_set(rule_set_id=made.pk, instead_of=None, house=house, actor="user:eve")
    models.Ticket.objects.update(taken_at=datetime(2026, 11, 1, tzinfo=UTC), body="My mug broke. What now?")
    session = start_session(agent=agent, subject_id="T-1", actor="user:bob")
    work_until_quiet()
    session.refresh_from_db()
    return session


def sent() -> list[str]:
    return [call.arguments["body"] for call in Invocation.objects.filter(tool="send_reply", state="succeeded")]


def test_banned_phrase_is_refused_with_its_place_and_the_mended_reply_goes(
    monkeypatch: pytest.MonkeyPatch, cast: Cast
) -> None:
    session = run(monkeypatch, cast, BAD, GOOD)
    assert (session.status, sent()) == ("finished", [GOOD])
    refused = LedgerEvent.objects.get(stream=session.pk, type="call.refused")
    body = payload_of(session.pk, refused.position)
    words = 'Nothing is guaranteed. Found in body, at character 8: "we gu<U+200B>arantee".'
    assert words in body["result"]["message"]
    assert body["facts"]["rules"] == {"digest": RuleSet.objects.get(active=True).digest}
    start, end = BAD.index("we"), BAD.index(" a new")
    finding = ["advice", 2, "guarantee", "body", start, end, words, "forbid"]
    assert body["facts"]["compliance"] == {"forbid": True, "findings": [finding]}
    assert ["pack.advice.guarantee", "forbid", words] in body["verdict"]["reasons"]
    assert not ApprovalRequest.objects.exists()


def test_recommendation_asks_in_the_packs_queue_and_goes_when_approved(
    monkeypatch: pytest.MonkeyPatch, cast: Cast
) -> None:
    session = run(monkeypatch, cast, ADVICE)
    request = ApprovalRequest.objects.get(session_id=session.pk)
    assert (request.queue.slug, request.state, sent()) == ("refunds", "pending", [])
    words = 'Advice is read first. Found in body, at character 8: "We  recommend".'
    assert ["pack.advice.personal", "ask", words] in request.reasons
    assert request.facts["compliance"]["findings"] == [
        ["advice", 2, "personal", "body", 7, 7 + len("We  recommend"), words, "ask"]
    ]
    decide_request(
        request_id=request.pk,
        person=cast.alice,
        verdict=Verdict.APPROVE,
        digest=request.digest,
        reason="",
        now=timezone.now(),
    )
    work_until_quiet()
    assert sent() == [ADVICE]


@pytest.mark.parametrize("base", Base)
def test_what_packs_found_stays_found_when_other_rules_are_tried(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, base: Base
) -> None:
    run(monkeypatch, cast, BAD, ADVICE)
    found = try_on_history(tenant_id=cast.tenant.pk, rules=NO_RULES, days=1, base=base).summary
    assert (found.total, found.changed) == (2, 0)
    assert (found.rules["pack.advice.guarantee"].fired, found.rules["pack.advice.personal"].fired) == (1, 1)


def test_pack_with_other_phrases_lets_the_reply_go(monkeypatch: pytest.MonkeyPatch, cast: Cast) -> None:
    other = {**PACK, "banned": [{**BANNED, "phrases": ["we promise"]}]}
    assert run(monkeypatch, cast, BAD, pack=other).status == "finished"
    assert sent() == [BAD]
