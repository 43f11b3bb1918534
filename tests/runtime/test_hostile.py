"""What must not bring a session, or the whole queue, to a standstill: dying workers, lost tools, odd text."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from agentops.agents.models import Agent, Threshold, ToolGrant
from agentops.agents.operations import create_agent
from agentops.gateway.execute import idempotency_key
from agentops.kernel.errors import FailureKind
from agentops.kernel.ids import new_id
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, Malformed, Subject, ToolCall
from agentops.registry.role import RoleSpec
from agentops.registry.tool import CallContext, ToolFailure
from agentops.runtime import doorbell, statements
from agentops.runtime.dispatch import claim, work_session, work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import start_session
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request
from tests.factories.people import Cast
from tests.factories.sums import sums_of_targets
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

DONE = FinalAnswer("All done.", verified=("paid",))
TELL = ToolCall("note", {"text": "Told the customer."})
Install = Callable[..., None]


class Killed(KeyboardInterrupt):
    """The worker's process ends here. Of all that a tool can raise, only this kind is not taken for its failure."""


def pay(minor: int = 500) -> ToolCall:
    return ToolCall("pay", {"account": "a-1", "minor": minor}, "The customer asked for it.")


def begin(toy: Toy, agent: Agent, *script: object, work_id: str = "w-1") -> Session:
    toy.add_work(work_id)
    toy.taken.add(work_id)
    toy.planner = ScriptedPlanner(script)
    return start_session(agent=agent, subject_id=work_id, actor="user:bob")


def work(toy: Toy, agent: Agent, *script: object) -> Session:
    session = begin(toy, agent, *script)
    work_until_quiet()
    session.refresh_from_db()
    return session


def work_and_lose_workers(session: Session, *, most: int) -> int:
    """Let workers claim the session until it has ended, each losing its lease when it stops, and count them."""
    for count in range(1, most + 1):
        held = claim()
        assert held is not None
        with suppress(Killed):
            work_session(held)
        session.refresh_from_db()
        if session.status in ("finished", "stopped"):
            return count
        Session.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        sweep_once()
    raise AssertionError(f"after {most} workers the session is {session.status}")


def approve(cast: Cast) -> ApprovalRequest:
    request = ApprovalRequest.objects.filter(state="pending").get()
    decide_request(
        request_id=request.pk, person=cast.alice, verdict=Verdict.APPROVE, digest=request.digest, now=timezone.now()
    )
    return request


def answer_of(session: Session) -> dict[str, Any]:
    last = LedgerEvent.objects.filter(stream=session.pk).order_by("-position")[0]
    answer: dict[str, Any] = payload_of(session.pk, last.position)["answer"]
    return answer


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts other roles in the place of the present one."""

    def put(*specs: RoleSpec) -> None:
        monkeypatch.setattr(roles, "all_roles", lambda: specs)

    return put


def test_call_that_kills_every_worker_ends_with_a_person(toy: Toy, agent: Agent) -> None:
    session = begin(toy, agent, pay(), DONE)
    toy.vendor.before = [Killed() for _ in range(50)]  # type: ignore[misc]
    work_and_lose_workers(session, most=15)
    assert (session.status, session.stop_code) == ("stopped", "WORKER_LOST")
    assert toy.handed_over == ["WORKER_LOST"]
    assert (Invocation.objects.get(tool="pay").state, sums_of_targets().get().total_minor) == ("unknown", 500)
    assert set(toy.vendor.calls) == {toy.vendor.calls[0]}
    assert len(toy.vendor.calls) == 5


def test_hand_over_that_kills_every_worker_ends_the_session(toy: Toy, agent: Agent) -> None:
    toy.handed_over = _Deadly()
    session = begin(toy, agent, Malformed("?"), Malformed("?"))
    work_and_lose_workers(session, most=15)
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "MODEL_MALFORMED", "no action")
    assert Invocation.objects.get().state == "unknown"
    assert "not be handed over" in answer_of(session)["message"]


class _Deadly(list[str]):
    def append(self, item: str) -> None:
        raise Killed


def test_session_whose_work_is_gone_ends(toy: Toy, agent: Agent) -> None:
    session = begin(toy, agent, TELL, DONE)
    del toy.works["w-1"]
    work_and_lose_workers(session, most=15)
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "INTERNAL", "no action")
    assert "not be handed over" in answer_of(session)["message"]


def test_approved_call_that_cannot_be_continued_ends_with_its_approval_withdrawn(
    toy: Toy, agent: Agent, cast: Cast
) -> None:
    session = begin(toy, agent, pay(5000), DONE)
    work_until_quiet()
    request = approve(cast)
    del toy.works["w-1"]
    work_and_lose_workers(session, most=15)
    request.refresh_from_db()
    assert (request.state, Invocation.objects.get().state) == ("voided", "refused")
    assert toy.vendor.calls == []


def test_answer_of_a_failed_hand_over_does_not_claim_it(toy: Toy, agent: Agent) -> None:
    ToolGrant.objects.filter(tool="hand_over").update(dial="observe")
    session = work(toy, agent, Malformed("?"), Malformed("?"))
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "MODEL_MALFORMED", "no action")
    assert toy.handed_over == []
    assert "was handed to a person" not in answer_of(session)["message"]


def test_tool_version_changed_after_approval_asks_once_more_and_not_for_ever(
    toy: Toy, agent: Agent, cast: Cast, install: Install
) -> None:
    session = work(toy, agent, pay(5000), DONE)
    first = approve(cast)
    spec = toy.spec()
    install(replace(spec, tools=tuple(replace(t, version=2) if t.name == "pay" else t for t in spec.tools)))
    work_until_quiet()
    first.refresh_from_db()
    second = approve(cast)
    assert (first.state, second.tool_version, second.supersedes_id) == ("voided", 2, first.pk)
    work_until_quiet()
    session.refresh_from_db()
    assert session.status == "finished"
    assert len(toy.vendor.done) == 1
    assert Invocation.objects.get().tool_version == 2


def test_successor_counts_although_the_clock_of_its_host_is_behind(
    toy: Toy, agent: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = work(toy, agent, pay(5000), DONE)
    approve(cast)
    toy.vendor.versions["a-1"] += 1
    monkeypatch.setattr("approvals.gate.new_id", lambda: UUID("00000000-0000-7000-8000-000000000001"))
    work_until_quiet()
    approve(cast)
    work_until_quiet()
    session.refresh_from_db()
    assert (session.status, len(toy.vendor.done)) == ("finished", 1)


@pytest.mark.django_db(transaction=True)
def test_call_that_turns_out_to_be_under_way_keeps_its_approval_withdrawn(
    toy: Toy, agent: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other call takes the key between the look and the intent, after the rules have changed."""
    ToolGrant.objects.filter(tool="note").update(dial="ask")
    first = work(toy, agent, TELL, ToolCall("note", {"text": "Something else."}), DONE)
    request = approve(cast)
    ToolGrant.objects.filter(tool="note").update(dial="autonomous")
    key = _key_of_another_call(request)
    monkeypatch.setattr(statements, "STATE_OF_KEY", "SELECT 1 WHERE %(key)s::text IS NULL")
    work_until_quiet()
    first.refresh_from_db()
    request.refresh_from_db()
    call = Invocation.objects.get(pk=request.invocation_id)
    assert (request.state, call.state, first.status) == ("voided", "refused", "finished")
    assert Invocation.objects.get(idempotency_key=key).state == "intended"


def _key_of_another_call(request: ApprovalRequest) -> str:
    call = Invocation.objects.get(pk=request.invocation_id)
    role = roles.get_role("toy")
    tool = role.tool(call.tool)
    assert tool is not None
    assert tool.preview is not None
    context = CallContext(call.tenant_id, call.session_id, "w-1", "ann", timezone.now())
    key = idempotency_key(
        tool=tool, arguments=call.arguments, preview=tool.preview(context, call.arguments), context=context
    )
    call.pk, call.session_id, call.state, call.idempotency_key = new_id(), new_id(), "intended", key
    call.save(force_insert=True)
    return key


def test_tool_that_went_away_during_its_call_leaves_the_outcome_to_a_person(
    toy: Toy, agent: Agent, install: Install
) -> None:
    session = begin(toy, agent, pay(), DONE)
    toy.vendor.on_pay = _die
    held = claim()
    assert held is not None
    with pytest.raises(Killed):
        work_session(held)
    spec = toy.spec()
    install(replace(spec, tools=tuple(t for t in spec.tools if t.name != "pay")))
    Session.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    sweep_once()
    work_until_quiet()
    session.refresh_from_db()
    assert (session.status, session.stop_code) == ("stopped", "OUTCOME_UNKNOWN")
    assert toy.handed_over == ["OUTCOME_UNKNOWN"]
    assert Invocation.objects.get(tool="pay").state == "unknown"


def _die() -> None:
    raise Killed


def test_dial_lowered_during_a_back_off_stops_the_call(toy: Toy, agent: Agent) -> None:
    toy.vendor.before = [ToolFailure(FailureKind.UNAVAILABLE, "Down.")]
    session = work(toy, agent, pay(), TELL, DONE)
    assert session.status == "sleeping"
    ToolGrant.objects.filter(tool="pay").update(dial="observe")
    Session.objects.update(wake_at=timezone.now())
    sweep_once()
    work_until_quiet()
    session.refresh_from_db()
    assert (session.status, session.outcome) == ("finished", "answered")
    assert toy.vendor.done == {}
    assert len(toy.vendor.calls) == 1
    assert (Invocation.objects.get(tool="pay").state, sums_of_targets().get().total_minor) == ("failed", 0)


def test_session_of_a_role_that_was_removed_does_not_hold_up_the_others(
    toy: Toy, agent: Agent, install: Install
) -> None:
    stranded = begin(toy, agent, DONE)
    other = create_agent(
        tenant_id=agent.tenant_id, role=replace(toy.spec(), name="other"), name="Other", actor="user:bob"
    )
    install(replace(toy.spec(), name="other"))
    session = begin(toy, other, TELL, DONE, work_id="w-2")
    toy.add_work("w-3")
    work_until_quiet()
    session.refresh_from_db()
    stranded.refresh_from_db()
    assert (stranded.status, session.status) == ("queued", "finished")
    assert sweep_once() == 1
    assert Session.objects.get(subject_id="w-3").agent_version == other.current_version


def test_role_whose_work_cannot_be_read_does_not_hold_up_the_others(
    toy: Toy, agent: Agent, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(toy.spec(), name="broken", take_subjects=_unreadable)
    create_agent(tenant_id=agent.tenant_id, role=broken, name="A broken one", actor="user:bob")
    install(broken, toy.spec())
    rings: list[str] = []
    monkeypatch.setattr(doorbell, "ring", lambda: rings.append("ring"))
    toy.add_work("w-1")
    assert sweep_once() == 1
    assert rings == ["ring"]


def _unreadable(tenant: UUID, limit: int) -> list[Subject]:
    raise ConnectionError("The desk does not answer.")


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("sh\x00out", {}),
        ToolCall("pay", '{"account": "a-1", "minor": 1, "\\u0000": 1}'),
        ToolCall("pay", '{"account": "a-1", "minor": 1, "\\ud800": 1}'),
        ToolCall("pay", '{"account": "a-1", "minor": 1, "\\u0000": 1.5}'),
        ToolCall("pay", f'{{"account": {"[" * 300}{"]" * 300}, "minor": 1}}'),
        ToolCall("pay", f'{{"account": {"[" * 900}{"]" * 900}, "minor": 1}}'),
        ToolCall("note", '{"text": "\\ud800"}'),
        Malformed("The key \x00 is wrong."),
    ],
)
def test_odd_proposal_is_refused_like_any_other(toy: Toy, agent: Agent, call: object) -> None:
    session = work(toy, agent, call, TELL, DONE)
    assert (session.status, session.stop_code) == ("finished", "")


@pytest.mark.parametrize("words", ["no\x00thing", "half \ud800", "x" * 1_000_000])
def test_odd_words_of_a_vendor_are_recorded_as_far_as_they_can_be(toy: Toy, agent: Agent, words: str) -> None:
    toy.vendor.before = [ToolFailure(FailureKind.CONFLICT, words)]
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, session.stop_code) == ("finished", "")
    failed = LedgerEvent.objects.get(stream=session.pk, type="call.failed")
    assert len(payload_of(session.pk, failed.position)["result"]["message"]) <= 2100


def test_limit_on_something_else_does_not_stand_for_one_on_money(toy: Toy, agent: Agent) -> None:
    """A limit in another currency and one on steps leave the amount itself without any limit."""
    grant = ToolGrant.objects.get(tool="pay")
    Threshold.objects.filter(grant=grant).update(currency="EUR")
    Threshold.objects.create(grant=grant, fact="session.steps", op=">", value=50, effect="ask", words="Long.")
    session = work(toy, agent, pay(90_000), DONE)
    assert session.status == "waiting_approval"
