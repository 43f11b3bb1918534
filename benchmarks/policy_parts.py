"""The parts of the policy benchmark: a typical decision, the check of its arguments, and the past made anew.

The typical proposal is a refund of the support desk: a request, three look-ups before it, five arguments, a limit on
the grant and a tenant with rules of its own.
"""

import resource
import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

from agentops.agents.queries import Grants, grants_of
from agentops.kernel.money import Money
from agentops.policy.engine import Verdict, decide
from agentops.policy.evidence import Evidence
from agentops.policy.facts import GrantFacts, Proposed, SessionFacts, Spent, Switches, facts_of
from agentops.policy.flow import flow_of
from agentops.policy.plan import plan_of
from agentops.policy.risk import risk_of
from agentops.policy.rules import Rule, narrow
from agentops.policy.ruleset import TenantRules, compiled
from agentops.registry.schemas import violations
from agentops.registry.tool import Preview, ToolSpec
from agentops.runtime.trying import Base, try_on_history
from benchmarks import policy_history
from benchmarks.runtime_base import BenchmarkFailed, scratch_database
from support_agent.role import ROLE

T = TypeVar("T")
SAMPLES = 400
_FEWEST_RULES = 14
TOOL = ROLE.tool("issue_refund")
ARGUMENTS: dict[str, Any] = {
    "order_id": "#W1042",
    "amount_minor": 1200,
    "currency": "USD",
    "payment_method_id": "credit_card_1234567",
    "reason": "The mug arrived chipped.",
}
OTHER_ARGUMENTS: dict[str, Any] = {
    "order_id": "#W7",
    "amount_minor": 7,
    "currency": "EUR",
    "payment_method_id": "gift_card_7",
    "reason": "Another call.",
}
REQUEST = (
    "Chipped mug in order #W1042\nHello, the blue mug of my order #W1042 arrived chipped. I would like a refund of"
    " $12.00 for it, please. The other three things are fine, thank you for packing them so well. Dana Ruiz"
)
TENANT = {
    "rules": [
        {
            "id": f"rule-{n}",
            "tools": ["tier:write-hard"],
            "when": [
                {"fact": "money.customer_day_minor", "op": ">", "value": f"{100 + n}.00", "unit": "USD"},
                {"fact": "rate.unusual", "op": "=", "value": bool(n % 2)},
            ],
            "effect": "ask",
            "words": "Much money for one customer in one day.",
        }
        for n in range(4)
    ]
    + [
        {
            "id": "refund-reason",
            "tools": ["issue_refund"],
            "when": [
                {"fact": "arguments.amount_minor", "op": ">", "value": 100_000},
                {"fact": "origin.reason", "op": "=", "value": "untrusted"},
            ],
            "effect": "forbid",
            "words": "Too much for a reason that somebody else wrote.",
        }
    ]
}


def run_parts(only: frozenset[str], *, proposals: int) -> dict[str, Any]:
    """Return the figures of the parts that are wanted."""
    figures: dict[str, Any] = {}
    if "validate" in only:
        figures |= _validate(_tool())
    if only & {"decide", "simulate"}:
        with scratch_database():
            version = policy_history.make_agent(ROLE)
            grants = grants_of(version.pk).under(compiled(TENANT, "benchmark"))
            if "decide" in only:
                figures |= _decide(_tool(), grants)
            if "simulate" in only:
                figures |= _simulate(version.agent.tenant_id, policy_history.record(version, proposals, _facts(grants)))
    return figures


def _tool() -> ToolSpec:
    if TOOL is None:
        raise BenchmarkFailed("the support role has no tool that refunds")
    return TOOL


def _validate(tool: ToolSpec) -> dict[str, Any]:
    checker = tool.checks_input
    if violations(checker, ARGUMENTS):
        raise BenchmarkFailed("the typical arguments are not valid")
    rounds = 2_000
    taken = []
    for _ in range(SAMPLES // 10):
        began = time.perf_counter()
        for _ in range(rounds):
            violations(checker, ARGUMENTS)
        taken.append((time.perf_counter() - began) / rounds)
    return {"validate_us": _us(taken)}


def _decide(tool: ToolSpec, grants: Grants) -> dict[str, Any]:
    """The median over decisions of which each has its own evidence: nothing that one found out helps the next.

    What was read is put into forms once, when a first call has to be decided, and is then there for the others: that is
    ``evidence_us``, for all that three look-ups returned. It is brought about here by another call's values.
    """
    plan = plan_of(REQUEST, ROLE.intents)
    rules = _rules(_facts(grants), grants)
    if len(rules) < _FEWEST_RULES:
        raise BenchmarkFailed(f"only {len(rules)} rules can fire")
    evidence_taken, taken = [], []
    verdicts: set[str] = set()
    for _ in range(SAMPLES):
        evidence, seconds = _timed(lambda: _taken_in(tool, plan))
        evidence_taken.append(seconds)
        verdict, seconds = _timed(lambda known=evidence: _verdict(tool, known, plan, rules))
        taken.append(seconds)
        verdicts.add(verdict.effect.value)
    facts = _facts(grants)
    _, only_rules = _timed(lambda: [decide(facts, rules) for _ in range(1_000)])
    return {
        "decide_us": _us(taken),
        "decide_p95_us": round(statistics.quantiles(taken, n=20)[-1] * 1e6, 1),
        "rules_us": round(only_rules * 1e3, 1),
        "evidence_us": _us(evidence_taken),
        "rules": len(rules),
        "verdict": ",".join(sorted(verdicts)),
    }


def _verdict(tool: ToolSpec, evidence: Evidence, plan: frozenset[str], rules: tuple[Rule, ...]) -> Verdict:
    return decide(_facts_of(tool, evidence, plan), rules)


def _facts_of(tool: ToolSpec, evidence: Evidence, plan: frozenset[str]) -> dict[str, Any]:
    flow = flow_of(tool, ARGUMENTS, evidence=evidence, plan=plan)
    call = Proposed(
        tool=tool,
        grant=GrantFacts("bounded", bounded_here=True),
        session=SessionFacts(4, 0),
        preview=Preview("Refund $12.00", "customer:dana_ruiz_1234", money=Money(1200, "USD")),
        arguments=ARGUMENTS,
        switches=Switches(frozen=False, elevated=True),
        spent=Spent(usual=1500),
        flow=flow,
    )
    facts = facts_of(call)
    facts["risk"] = risk_of(facts).as_facts()
    return facts


def _facts(grants: Grants) -> dict[str, Any]:
    if "issue_refund" not in grants.tools:
        raise BenchmarkFailed("the agent may not refund")
    return _facts_of(_tool(), _evidence(), plan_of(REQUEST, ROLE.intents))


def _rules(facts: dict[str, Any], grants: Grants) -> tuple[Rule, ...]:
    """The rules as the runtime keeps them for this tool."""
    return narrow(grants.rules_for(facts["tool"]), {"tool": facts["tool"], "grant": facts["grant"]})


def _evidence() -> Evidence:
    """What the session was told before it proposes: the request, the customer, the order, the knowledge base."""
    evidence = Evidence(REQUEST)
    for step, (name, arguments, result) in enumerate(policy_history.LOOKED_UP, start=1):
        tool = ROLE.tool(name)
        if tool is None or violations(tool.checks_output, result):
            raise BenchmarkFailed(f"{name} does not return what was read")
        evidence.read(step=step, tool=name, flow=tool.flow, arguments=arguments, result=result)
    return evidence


def _taken_in(tool: ToolSpec, plan: frozenset[str]) -> Evidence:
    evidence = _evidence()
    flow_of(tool, OTHER_ARGUMENTS, evidence=evidence, plan=plan)
    return evidence


def _simulate(tenant_id: Any, recorded: int) -> dict[str, Any]:
    figures: dict[str, Any] = {"proposals": recorded}
    rules: TenantRules = compiled(TENANT, "benchmark")
    for base, name in ((Base.THEN, "simulate_then_s"), (Base.NOW, "simulate_now_s")):
        before, worked = _memory_mb(), time.process_time()
        tried, seconds = _timed(lambda base=base: try_on_history(tenant_id=tenant_id, rules=rules, days=30, base=base))
        if tried.summary.total != recorded:
            raise BenchmarkFailed(f"{tried.summary.total} of {recorded} proposals were read")
        figures[name] = round(seconds * 100_000 / recorded, 2)
        figures[f"{name.removesuffix('_s')}_cpu_s"] = round((time.process_time() - worked) * 100_000 / recorded, 2)
        figures[f"{name.removesuffix('_s')}_grew_mb"] = round(_memory_mb() - before, 1)
    figures["simulate_100k_s"] = max(figures["simulate_then_s"], figures["simulate_now_s"])
    return figures


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def _us(taken: list[float]) -> float:
    return round(statistics.median(taken) * 1e6, 1)


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
