"""The facts of a proposal, as canonical JSON: everything that a rule may look at, and nothing else (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentops.policy.flow import ROWS, STAYS_IN, Flowing
from agentops.registry.tool import Preview, ToolSpec

MEASURES = ("capacity_share_pct", "incident_priority", "minutes_since_disruption", "change_freeze")
"""The integers of ``Preview.measures``: the share of a capacity that the call takes away, in per cent; the priority of
the incident that it belongs to, 0 for the most urgent; the whole minutes since something last disturbed the same
target, NEVER_DISRUPTED when nothing ever did; 1 when a change freeze covers the target now, else 0. A fact is -1 where
the tool says nothing."""

NEVER_DISRUPTED = 1_000_000

FORM = 4
"""The form of recorded facts. Form 1 has no number, and knew only tool, grant, steps, writes, target and money; form 2
knew nothing of people, and of money only one customer's day; form 3 knew two measures, of capacity and incidents."""

NOT_KNOWN = -1
UNRATED: Mapping[str, Any] = {
    "tool_hour": 0,
    "target_hour": 0,
    "tenant_hour": 0,
    "first_target": False,
    "unusual": False,
    "ask": False,
    "forbid": False,
}
UNREVIEWED: Mapping[str, Any] = {"forbid": False, "ask": False, "findings": []}


@dataclass(frozen=True)
class GrantFacts:
    """What the agent's version was given for this tool. ``bounded_here``: a threshold covers this call."""

    dial: str
    bounded_here: bool


@dataclass(frozen=True)
class SessionFacts:
    """Counters of the session so far, its priority (0 low to 3 urgent), and whether a person proposed the call."""

    steps: int
    writes: int
    priority: int = 1
    by_person: bool = False


@dataclass(frozen=True)
class Spent:
    """Money around the call, in minor units of its currency.

    ``customer_day`` is what tools of the same money family have already moved for the same target on the tenant's
    business day, ``customer_30_days`` what they have on that day and the 29 before it, ``agent_day`` what the agent has
    with them on that day for whomever; the call's own amount is added to each. ``usual`` is the median of earlier
    calls, None when too few.
    """

    customer_day: int = 0
    customer_30_days: int = 0
    agent_day: int = 0
    usual: int | None = None


NOTHING_SPENT = Spent()


@dataclass(frozen=True)
class Switches:
    """``frozen``: an operator has switched the tool off. ``elevated``: the session may use the tool's scope."""

    frozen: bool
    elevated: bool


@dataclass(frozen=True)
class Proposed:
    """One proposed call and everything that is known around it.

    ``preview`` is None for a read. ``rate`` is in the form of UNRATED. ``requester_benefits``: whoever asked for it is
    the customer.
    """

    tool: ToolSpec
    grant: GrantFacts | None
    session: SessionFacts
    preview: Preview | None
    arguments: Mapping[str, Any]
    switches: Switches
    spent: Spent = NOTHING_SPENT
    flow: Flowing = STAYS_IN
    rate: Mapping[str, Any] = field(default_factory=lambda: UNRATED)
    requester_benefits: bool = False


def facts_of(call: Proposed) -> dict[str, Any]:
    """Return the facts of one proposed call, without its risk and what packs say, which are computed from them."""
    grant, session, preview = call.grant, call.session, call.preview
    measures = preview.measures if preview is not None else {}
    return {
        "tool": _tool(call.tool, call.switches),
        "grant": {
            "present": grant is not None,
            "dial": grant.dial if grant else "",
            "bounded_here": grant.bounded_here if grant else False,
        },
        "session": {
            "steps": session.steps,
            "writes": session.writes,
            "priority": session.priority,
            "by_person": session.by_person,
        },
        "people": {"requester_benefits": call.requester_benefits},
        "target": preview.target if preview is not None else "",
        "money": _money(preview, call.spent),
        "measures": {name: measures.get(name, NOT_KNOWN) for name in MEASURES},
        "rate": call.rate,
        "flow": call.flow.facts,
        "compliance": UNREVIEWED,
        "arguments": call.arguments,
    }


def _tool(tool: ToolSpec, switches: Switches) -> dict[str, Any]:
    return {
        "name": tool.name,
        "version": tool.version,
        "tier": tool.tier.value,
        "write": tool.is_write,
        "destructive": tool.destructive,
        "irreversible": tool.irreversible,
        "undoable": tool.undo_call is not None,
        "data_class": tool.data_class.value,
        "capability": tool.flow.capability,
        "sends": tool.flow.sends.value,
        "frozen": switches.frozen,
        "elevated": switches.elevated,
    }


def _money(preview: Preview | None, spent: Spent) -> dict[str, Any]:
    money = preview.money if preview is not None else None
    if money is None:
        return {"present": False}
    return {
        "present": True,
        "minor": money.minor,
        "currency": money.currency,
        "customer_day_minor": spent.customer_day + money.minor,
        "customer_30_days_minor": spent.customer_30_days + money.minor,
        "agent_day_minor": spent.agent_day + money.minor,
        "usual_minor": NOT_KNOWN if spent.usual is None else spent.usual,
    }


# What is left out of a record of this form. A value that changes here, or a name that comes, is another form: older
# records must be read with the table that they were written with.
_MEASURES_3 = MEASURES[:2]
_USUAL_2: Mapping[str, Mapping[str, Any]] = {
    "tool": {
        "destructive": False,
        "irreversible": False,
        "undoable": True,
        "frozen": False,
        "elevated": True,
        "sends": "nowhere",
    },
    "session": {"priority": 1, "by_person": False},
    "measures": dict.fromkeys(_MEASURES_3, NOT_KNOWN),
    "rate": UNRATED,
    "flow": {**dict.fromkeys(ROWS, False), "chosen": False, "untrusted": False},
    "compliance": UNREVIEWED,
}
_USUAL_3: Mapping[str, Mapping[str, Any]] = {**_USUAL_2, "people": {"requester_benefits": False}}
_USUAL: Mapping[str, Mapping[str, Any]] = {**_USUAL_3, "measures": dict.fromkeys(MEASURES, NOT_KNOWN)}
_USUAL_OF: Mapping[int, Mapping[str, Mapping[str, Any]]] = {2: _USUAL_2, 3: _USUAL_3, FORM: _USUAL}


def recorded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts as the ledger keeps them: without what is as usual, and the arguments, which stand beside."""
    kept: dict[str, Any] = {"form": FORM}
    for name, group in facts.items():
        usual = _USUAL.get(name)
        if name == "arguments":
            continue
        if name == "risk":
            # A factor's words follow from its name, its points and the version (``policy.risk.table``).
            kept[name] = {**group, "factors": [factor[:2] for factor in group["factors"]]}
            continue
        if usual is None:
            kept[name] = group
            continue
        unusual = {key: value for key, value in group.items() if key not in usual or value != usual[key]}
        if unusual:
            kept[name] = unusual
    return kept


def restored(kept: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that ``recorded`` made ``kept`` of, the factors of the risk without their words.

    An older form stays without what it did not know.
    """
    facts: dict[str, Any] = {**kept, "arguments": arguments}
    for name, usual in _USUAL_OF.get(facts.pop("form", 1), {}).items():
        facts[name] = {**usual, **kept.get(name, {})}
    return facts
