"""The page of the blast radius: what the registry declares, beside what the tenant's agents may do today."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from agentops.agents.models import Agent, ToolGrant
from agentops.console.marks import Filter, Option
from agentops.console.operations import queries
from agentops.console.operations.presenters import AgentDial, BlastLine, BlastPage, BlastRole, Standing
from agentops.console.operations.standing import tabs_of
from agentops.registry import roles
from agentops.registry.blast_radius import TIERS, BlastRow, rows_of
from agentops.registry.tool import Dial
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Freeze

MOST_TEXT = 200


def blast_page(reader: Reader, standing: Standing, params: Mapping[str, str]) -> BlastPage:
    """Return the tools that the filters let through. The same number of queries however many agents there are."""
    rows = rows_of(roles.all_roles())
    titles = {row.role: row.role_title for row in rows}
    tiers = {tier.value: words for tier, words in TIERS.items()}
    role, tier = _offered(params.get("role", ""), titles), _offered(params.get("tier", ""), tiers)
    query = params.get("q", "").strip()[:MOST_TEXT]
    shown = [row for row in rows if role in ("", row.role) and tier in ("", row.tier.value) and _holds(row, query)]
    agents, agents_total = queries.agents_with_grants(reader.tenant.pk)
    freezes, _ = queries.active_freezes(reader.tenant.pk)
    return BlastPage(
        tabs=tabs_of(standing, "blast_radius"),
        query=query,
        filters=[_filter("role", "Role", "Any role", titles, role), _filter("tier", "Kind", "Any kind", tiers, tier)],
        filtered=bool(role or tier),
        clear_url="?",
        roles=[
            BlastRole(title=titles[name], lines=[_line(row, agents, freezes) for row in found])
            for name, found in groupby(shown, key=lambda row: row.role)
        ],
        shown=len(shown),
        total=len(rows),
        agents_left=agents_total - len(agents),
    )


def _offered(value: str, offered: Mapping[str, str]) -> str:
    return value if value in offered else ""


def _filter(name: str, label: str, nothing: str, offered: Mapping[str, str], chosen: str) -> Filter:
    options = [Option(value, words, value == chosen) for value, words in offered.items()]
    return Filter(name, label, [Option("", nothing, not chosen), *options])


def _holds(row: BlastRow, query: str) -> bool:
    words = f"{row.tool} {row.worst} {row.stopped_by} {row.data_class} {row.money_family}".casefold()
    return all(word in words for word in query.casefold().split())


def _line(row: BlastRow, agents: Sequence[Agent], freezes: Sequence[Freeze]) -> BlastLine:
    concerned = [freeze for freeze in freezes if freeze.tool in ("", row.tool)]
    return BlastLine(
        tool=row.tool,
        kind=TIERS[row.tier],
        undo=row.reversibility,
        data=row.data_class.value + (f", money: {row.money_family}" if row.money_family else ""),
        worst=row.worst,
        stopped_by=row.stopped_by,
        default=row.default,
        limits=row.limits,
        agents=[_agent(row, agent, concerned) for agent in agents if agent.role == row.role],
        frozen=any(freeze.agent_id is None for freeze in concerned),
    )


def _agent(row: BlastRow, agent: Agent, freezes: Sequence[Freeze]) -> AgentDial:
    grant = _grant(agent, row.tool)
    limits = [] if grant is None else sorted(threshold.words for threshold in grant.thresholds.all())
    same_limits = limits == sorted(row.limits)
    does = row.does(None if grant is None else Dial(grant.dial), limited=bool(limits))
    number = agent.current_version.number if agent.current_version else 0
    return AgentDial(
        agent=f"{agent.name} v{number}",
        does=does,
        limits=() if same_limits else limits,
        changed=does != row.default or not same_limits,
        frozen=any(freeze.agent_id in (None, agent.pk) for freeze in freezes),
    )


def _grant(agent: Agent, tool: str) -> ToolGrant | None:
    version = agent.current_version
    return None if version is None else next((grant for grant in version.grants.all() if grant.tool == tool), None)
