"""What the billing role declares for the fault drill: scripts that its tools take, and an eye for what is wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint
from agentops.kernel.errors import FailureKind
from agentops.registry.drill import Piece, Verdict
from agentops.registry.planner import FinalAnswer, Observation, ObservationStatus, PlanContext, Subject, ToolCall
from agentops.registry.role import RoleSpec
from agentops.registry.tool import CallContext, OutcomeUnknown, ToolFailure
from agentops.tenancy.models import Tenant
from billing_agent.drill import DRILL
from billing_agent.drill.log import OPERATIONS, action_of, effects, faults
from billing_agent.drill.scripts import CHANGED_TO, REJECTED, SCRIPTS, edited, scripts_for, steps_of, verdict_on
from billing_agent.drill.staging import HAND_OVER, ScriptPlanner
from billing_agent.intake import load_subject, take_subjects, waiting_subjects
from billing_agent.models import Credit, Operation
from billing_agent.role import ROLE
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db
CASE = "j-000001"


@pytest.fixture
def tenant() -> Tenant:
    made = make_tenant()
    DRILL.prepare(made.pk)
    return made


def feed(tenant: Tenant, script: str, case: str = CASE, *, by_hand: bool = False) -> None:
    DRILL.feed([Piece(tenant.pk, case, script, by_hand)])


def call(tenant: Tenant, tool: str, arguments: dict[str, Any], *, key: str, role: RoleSpec = ROLE) -> dict[str, Any]:
    """Do a call as the gateway does: preview, then what was previewed."""
    spec = role.tool(tool)
    assert spec is not None
    spec.checks_input.validate(arguments)
    context = CallContext(tenant.pk, uuid4(), CASE, f"cu_{CASE}", utcnow(), idempotency_key=key)
    if spec.preview is not None:
        context = replace(context, expected_versions=spec.preview(context, arguments).versions)
    return dict(spec.run(context, arguments))


def drilled(attempts: Callable[[str], int]) -> RoleSpec:
    return replace(ROLE, tools=tuple(DRILL.way(tool, attempts) for tool in ROLE.tools))


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_is_carried_out_and_known_by_what_it_asked_for(tenant: Tenant, script: str) -> None:
    feed(tenant, script)
    wanted = []
    for number, (tool, arguments) in enumerate(steps_of(script, CASE)):
        call(tenant, tool, arguments, key=f"key-{number}")
        if ROLE.tool(tool).is_write:  # type: ignore[union-attr]
            wanted.append((action_of(tool, arguments, CASE), f"key-{number}"))
    assert [(effect.action, effect.key) for effect in effects()] == wanted
    assert len({action for action, _ in wanted}) == len(wanted)
    assert faults([tenant.pk]) == []
    assert all(DRILL.made(action) for action, _ in wanted)
    assert not DRILL.made(("ApplyCredit", f"{CASE} 1"))


def test_every_write_is_known_by_an_operation() -> None:
    assert {tool.name for tool in ROLE.tools if tool.is_write} == set(OPERATIONS)


def test_every_crash_point_has_scripts() -> None:
    used = {script for point in CrashPoint for script in scripts_for(point)}
    assert used == set(SCRIPTS)


def test_work_by_hand_is_not_taken_in(tenant: Tenant) -> None:
    feed(tenant, "credit")
    feed(tenant, "void", "j-000002", by_hand=True)
    assert [subject.id for subject in waiting_subjects(tenant.pk, 9)] == [CASE]
    assert [subject.id for subject in take_subjects(tenant.pk, 9)] == [CASE]
    by_hand = load_subject(tenant.pk, "j-000002")
    assert by_hand is not None
    assert (by_hand.title, by_hand.customer_id) == ("void", "cu_j-000002")
    assert by_hand.text == "Please void in_j-000002_open."


def test_amount_says_what_the_person_does() -> None:
    assert verdict_on("refund_charge", {"amount_minor": REJECTED}) is Verdict.REJECTED
    assert verdict_on("void_invoice", {"invoice_id": "in_1"}) is Verdict.APPROVED
    assert edited("refund_charge", {"charge_id": "ch_1", "amount_minor": 888}) == {
        "charge_id": "ch_1",
        "amount_minor": CHANGED_TO,
    }


def test_way_fails_as_often_as_the_script_says(tenant: Tenant) -> None:
    feed(tenant, "credit_back_busy")
    counts: dict[str, int] = {}

    def attempts(key: str) -> int:
        counts[key] = counts.get(key, 0) + 1
        return counts[key]

    role = drilled(attempts)
    steps = dict(steps_of("credit_back_busy", CASE))
    given = call(tenant, "apply_credit", steps["apply_credit"], key="key-1", role=role)
    back = {"credit_id": given["credit_id"], "reason": "A mistake"}
    for kind in (FailureKind.RATE_LIMIT, FailureKind.UNAVAILABLE):
        with pytest.raises(ToolFailure) as refused:
            call(tenant, "reverse_credit", back, key="key-2", role=role)
        assert refused.value.kind is kind
    assert [effect.action[0] for effect in effects()] == ["ApplyCredit"]
    call(tenant, "reverse_credit", back, key="key-2", role=role)
    assert [effect.action[0] for effect in effects()] == ["ApplyCredit", "ReverseCredit"]


@pytest.mark.parametrize(("word", "made"), [("broken_before", 0), ("broken_after", 1)])
def test_answer_is_lost_before_or_after_the_effect(tenant: Tenant, word: str, made: int) -> None:
    script = {"broken_before": "broken", "broken_after": "charge_broken"}[word]
    feed(tenant, script)
    tool, arguments = next(step for step in steps_of(script, CASE) if step[0] in SCRIPTS[script].faults)
    with pytest.raises(OutcomeUnknown):
        call(tenant, tool, arguments, key="key-1", role=drilled(lambda _: 1))
    assert len(effects()) == made


def test_record_without_its_operation_and_the_reverse_are_found(tenant: Tenant) -> None:
    feed(tenant, "credit")
    call(tenant, "apply_credit", dict(steps_of("credit", CASE))["apply_credit"], key="key-1")
    assert faults([tenant.pk]) == []
    Operation.objects.filter(key="key-1").update(key="key-2")
    assert sorted(faults([tenant.pk])) == [
        "a credit was made by the operation key-1, which is not in the log",
        "an entry of the books was made by the operation key-1, which is not in the log",
        "the operation key-2 left 0 times a credit",
    ]


def test_second_record_of_an_operation_and_books_that_do_not_balance_are_found(tenant: Tenant) -> None:
    feed(tenant, "credit")
    call(tenant, "apply_credit", dict(steps_of("credit", CASE))["apply_credit"], key="key-1")
    again = Credit.objects.get(operation_key="key-1")
    again.pk, again.ref = None, "cr_again"
    again.save(force_insert=True)
    assert faults([tenant.pk]) == [
        f"Customer cu_{CASE} has credit of $9.00 by the books and of $18.00 by what is left of their credits.",
        "the operation key-1 left 2 times a credit",
    ]


def context(script: str, *history: tuple[str, ObservationStatus]) -> PlanContext:
    subject = Subject("case", CASE, script, SCRIPTS[script].request(CASE), "x@example.com", f"cu_{CASE}", utcnow())
    seen = tuple(Observation(step, tool, {}, status, {}) for step, (tool, status) in enumerate(history))
    return PlanContext(uuid4(), "", "", subject, ROLE.tools, seen, utcnow())


OK, FAILED = ObservationStatus.OK, ObservationStatus.FAILED
LOOKED, GIVEN = ("lookup_customer_360", OK), ("apply_credit", OK)


def test_planner_follows_its_script_and_ends() -> None:
    first = ScriptPlanner().propose(context("credit")).proposal
    assert isinstance(first, ToolCall)
    assert (first.tool, first.arguments) == ("lookup_customer_360", {})
    last = ScriptPlanner().propose(context("credit", LOOKED, GIVEN, ("send_email", OK))).proposal
    assert last == FinalAnswer("Done.")


def test_planner_hands_over_only_what_has_nothing_to_be_taken_back() -> None:
    over = ScriptPlanner().propose(context("credit", LOOKED, ("apply_credit", FAILED))).proposal
    assert isinstance(over, ToolCall)
    assert over.tool == HAND_OVER
    stuck = ScriptPlanner().propose(context("credit", LOOKED, GIVEN, ("send_email", FAILED))).proposal
    assert stuck == FinalAnswer("The case cannot be finished.")
