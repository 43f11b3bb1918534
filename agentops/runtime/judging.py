"""The verdict on a prepared call, and the facts it rests on."""

from collections.abc import Mapping
from typing import Any

from agentops.gateway.prepare import Prepared, Refusal
from agentops.policy.compliance import Finding, findings_of, review_facts
from agentops.policy.engine import Verdict, decide
from agentops.policy.facts import Proposed, SessionFacts, Spent, Switches, facts_of, recorded
from agentops.policy.flow import STAYS_IN, Flowing, flow_of, leaves_or_changes
from agentops.policy.leaves import declared, leaves_of
from agentops.policy.risk import risk_of
from agentops.registry.flow import Argument, Kind, Sends
from agentops.runtime.brief import elevations_of
from agentops.runtime.rates import NOT_RATED, Rate
from agentops.runtime.windows import NOTHING_MOVED, Moved
from agentops.runtime.work import Work


def refusal_by(verdict: Verdict) -> Refusal:
    """Return what a planner is told of a verdict that stands in the way."""
    return Refusal("POLICY", verdict.reasons[0].words, "Do something else, or hand over.")


def judged(verdict: Verdict, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the ledger keeps of a decision."""
    return {"facts": recorded(facts), "verdict": verdict.as_json()}


def judge(
    work: Work,
    prepared: Prepared,
    *,
    moved: Moved = NOTHING_MOVED,
    trusted: bool = False,
    rate: Rate = NOT_RATED,
    flow: Mapping[str, Any] | None = None,
    benefits: bool = False,
) -> tuple[Verdict, dict[str, Any]]:
    """Return the verdict on a prepared call and the facts it rests on.

    ``moved`` are the sums without the call. ``flow`` are the facts under ``flow`` when they are known already: while a
    session waits for a person it is told nothing new. ``benefits``: whoever asked for it is the customer.
    """
    tool, preview, held = prepared.tool, prepared.preview, work.held
    money = preview.money if preview else None
    grant = work.grants.by_tool.get(tool.name)
    call = Proposed(
        tool=tool,
        grant=grant.facts(currency=money.currency if money else None) if grant else None,
        session=SessionFacts(held.steps, held.writes, held.priority, trusted),
        preview=preview,
        arguments=prepared.arguments,
        switches=Switches(
            frozen=work.brief.freeze_of(tool.name) is not None,
            elevated=not tool.elevated or tool.auth_scope in elevations_of(held.id),
        ),
        spent=Spent(moved.customer_day, moved.customer_30_days, moved.agent_day, usual=rate.usual_minor),
        flow=_flow_of(work, prepared, trusted=trusted) if flow is None else STAYS_IN,
        rate=rate.facts,
        requester_benefits=benefits,
    )
    facts = facts_of(call)
    if flow is not None:
        facts["flow"] = flow
    risk = risk_of(facts)
    findings = _findings_of(work, prepared, risk.score)
    facts |= {"risk": risk.as_facts(), "compliance": review_facts(findings)}
    if work.grants.tenant.digest:
        facts["rules"] = {"digest": work.grants.tenant.digest}
    rules = work.brief.rules_for(facts)
    return decide(facts, (*rules, *(finding.as_rule for finding in findings)) if findings else rules), facts


_WORDS = frozenset({Kind.TEXT, Kind.LABEL, Kind.VALUE})
_ANY_TEXT = Argument(Kind.TEXT)
"""A value that nobody declared may be words."""


def _findings_of(work: Work, prepared: Prepared, risk: int) -> tuple[Finding, ...]:
    """What the tenant's compliance packs say about the texts that the call would send out, whoever wrote them."""
    packs, flow = work.grants.tenant.packs, prepared.tool.flow
    if not packs or flow.sends is Sends.NOWHERE:
        return ()
    texts = (
        (path, value)
        for path, value in leaves_of(prepared.arguments)
        if isinstance(value, str) and declared(path, flow.arguments, _ANY_TEXT).kind in _WORDS
    )
    return findings_of(texts, packs, tool=prepared.tool.name, risk=risk)


def _flow_of(work: Work, prepared: Prepared, *, trusted: bool) -> Flowing:
    tool = prepared.tool
    if trusted:
        return Flowing(tool.flow.capability, (), frozenset())
    if not leaves_or_changes(tool):
        return STAYS_IN
    tracing = work.tracing
    return flow_of(
        tool, prepared.arguments, evidence=tracing.evidence, plan=tracing.plan, always=tracing.always, done=tracing.done
    )
