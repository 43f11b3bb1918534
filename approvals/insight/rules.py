"""A suggestion to admins which limit would stop a question that people always answer with yes.

It changes nothing. A tenant's rules can only ask or forbid, so what is loosened is the grant of the agent's version.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Prefetch, Q
from django.urls import reverse

from agentops.agents.models import Agent, AgentVersion, Threshold, ToolGrant
from agentops.kernel.money import Money
from agentops.registry.roles import UnknownRole, get_role
from agentops.runtime.ports import ApprovalState
from approvals.insight.rule_math import Evidence, Outcome, Past, evidence_of
from approvals.models import Act, ActKind, ApprovalRequest, Decision, Regret, Verdict

MOST = 200
FIXED = frozenset({"outbound", "permissions"})
"""Tags of tools for which nothing is ever suggested."""

_DIAL_ASK, _NO_LIMITS, _THRESHOLD = "dial.ask", "bounded.without_limits", "threshold."
_DAY, _WRITES = "money.customer_day_minor", "session.writes"
_RISING = frozenset({">", ">="})


@dataclass(frozen=True)
class Proposal:
    """What would stop the question, in words, with the evidence and where an admin can change it.

    ``now`` is the limit that asks today, ``then`` the one that would not. ``url`` leads to the grant in the admin.
    """

    tool: str
    agent: str
    rule: str
    now: str
    then: str
    evidence: Evidence
    url: str

    @property
    def bound_percent(self) -> str:
        """The share that may be wrong all the same, in per cent."""
        return f"{self.evidence.bound * 100:.1f} %"


def proposal_for(request: ApprovalRequest, *, tags: Collection[str] = ()) -> Proposal | None:
    """Return what would stop asking for calls like this one, None when there is too little evidence or it must ask.

    ``tags`` are those of the tool. Never for what cannot be undone, leaves the house, changes permissions or touches a
    target for the first time, and never beyond the largest value that was seen.
    """
    rule = _the_rule(request)
    if not rule or _must_ask(request, tags):
        return None
    grant = _grant_of(request)
    if grant is None:
        return None
    row = _row_of(grant, rule)
    if rule.startswith(_THRESHOLD) and row is None:
        return None
    fact = row.fact if row else _DAY if request.money_minor is not None else _WRITES
    value = _measured(request.facts, fact)
    if value is None:
        return None
    evidence = evidence_of(_history(request, rule, fact), value)
    if evidence is None or (row is not None and row.value >= evidence.most):
        return None
    return Proposal(
        tool=request.tool,
        agent=str(grant.version),
        rule=rule,
        now=_limit_words(row.fact, row.op, row.value, row.currency) if row else _DIALS[rule],
        then=_then(fact, row, evidence.most, request.money_currency),
        evidence=evidence,
        url=reverse("admin:agentops_toolgrant_change", args=[grant.pk]),
    )


def tags_of(request: ApprovalRequest) -> frozenset[str]:
    """Return the tags of a request's tool; of one that nobody knows any more those for which nothing is suggested."""
    agent = Agent.objects.filter(tenant_id=request.tenant_id, versions=request.agent_version_id).first()
    if agent is None:
        return FIXED
    try:
        tools = get_role(agent.role).tools
    except UnknownRole:
        return FIXED
    return next((frozenset(tool.tags) for tool in tools if tool.name == request.tool), FIXED)


_DIALS = {_DIAL_ASK: "Dial: ask.", _NO_LIMITS: "Dial: bounded, without a limit that covers the call."}


def _the_rule(request: ApprovalRequest) -> str:
    """Return the one rule of the grant that asks. Where anything else asks too, loosening it would stop nothing."""
    if len(request.asks) != 1:
        return ""
    rule: str = request.asks[0]
    return rule if rule in _DIALS or rule.startswith(f"{_THRESHOLD}{request.tool}.") else ""


def _must_ask(request: ApprovalRequest, tags: Collection[str]) -> bool:
    facts: Mapping[str, Any] = request.facts
    tool = facts.get("tool", {})
    return (
        request.irreversible
        or not facts
        or tool.get("sends", "nowhere") != "nowhere"
        or tool.get("destructive", False)
        or bool(FIXED.intersection(tags))
        or facts.get("rate", {}).get("first_target", False)
    )


def _grant_of(request: ApprovalRequest) -> ToolGrant | None:
    """Return the grant of the version with which the agent works now: that is the one to change."""
    agent = Agent.objects.filter(tenant_id=request.tenant_id, versions=request.agent_version_id).first()
    if agent is None or agent.current_version_id is None:
        return None
    grants = ToolGrant.objects.filter(version_id=agent.current_version_id, tool=request.tool)
    return grants.select_related("version__agent").prefetch_related("thresholds").first()


def _row_of(grant: ToolGrant, rule: str) -> Threshold | None:
    """Return the limit that a rule ``threshold.<tool>.<n>`` stands for, None when it is no such rule or is gone."""
    if not rule.startswith(_THRESHOLD):
        return None
    number = rule.rpartition(".")[2]
    rows = sorted(grant.thresholds.all(), key=lambda row: row.pk)
    if not number.isdecimal() or not 1 <= int(number) <= len(rows):
        return None
    row = rows[int(number) - 1]
    return row if row.effect == "ask" and row.op in _RISING else None


def _history(request: ApprovalRequest, rule: str, fact: str) -> list[Past]:
    """Return the last decided calls that the same rule asked about, of the same agent, never the first of a target."""
    versions = AgentVersion.objects.filter(agent__versions=request.agent_version_id).values("pk")
    rows = ApprovalRequest.objects.filter(
        tenant_id=request.tenant_id,
        tool=request.tool,
        tier=request.tier,
        money_currency=request.money_currency,
        agent_version_id__in=versions,
        closed_at__isnull=False,
    ).annotate(
        edited=Exists(Act.objects.filter(request=OuterRef("pk"), kind=ActKind.EDITED)),
        regretted=Exists(Regret.objects.filter(request=OuterRef("pk"))),
    )
    rows = rows.filter(Q(state__in=[ApprovalState.APPROVED, ApprovalState.REJECTED]) | Q(edited=True))
    people = Prefetch("decisions", Decision.objects.filter(verdict=Verdict.APPROVE, taken_back_at=None))
    newest = rows.filter(asks=[rule]).only("state", "facts").prefetch_related(people).order_by("-closed_at")[:MOST]
    found = []
    for past in newest:
        value = _measured(past.facts, fact)
        known = not past.facts.get("rate", {}).get("first_target", False)
        if known and value is not None:
            voters = frozenset(decision.person_id for decision in past.decisions.all())
            found.append(Past(value, _outcome(past), voters))
    return found


def _outcome(past: ApprovalRequest) -> Outcome:
    if getattr(past, "edited", False):
        return "edited"
    if past.state == ApprovalState.REJECTED:
        return "rejected"
    return "regretted" if getattr(past, "regretted", False) else "approved"


def _measured(facts: Mapping[str, Any], fact: str) -> int | None:
    group, _, name = fact.partition(".")
    value = facts.get(group, {}).get(name)
    return value if type(value) is int else None


_NAMES = {
    "money.minor": "amount of the call",
    _DAY: "amounts for one customer in one day",
    "session.steps": "steps of the session",
    _WRITES: "writes of the session so far",
}


def _limit_words(fact: str, op: str, value: int, currency: str) -> str:
    amount = str(Money(value, currency)) if currency else str(value)
    more = "more than" if op == ">" else "at least"
    return f"Ask when {_NAMES[fact]}: {more} {amount} ({fact} {op} {value}{f' {currency}' if currency else ''})."


def _then(fact: str, row: Threshold | None, most: int, currency: str) -> str:
    limit = _limit_words(fact, ">", most, currency if fact.startswith("money.") else "")
    return limit if row else f"Dial: bounded, with the limit: {limit}"
