"""The written-out list of the role's tools."""

from dataclasses import replace

from agentops.registry.tool import ToolSpec
from sre_agent.connectors import CLOUDWATCH_KEY, KUBERNETES_KEY, PAGERDUTY_KEY, is_embedded
from sre_agent.tools.alerts import ALERTS
from sre_agent.tools.incidents import INCIDENT_WRITES
from sre_agent.tools.lookups import LOOKUPS, READ_INCIDENT, READ_LOGS, READ_METRICS
from sre_agent.tools.nodes import NODES
from sre_agent.tools.people import LIST_ON_CALL, PAGE_PERSON, PEOPLE_READS, PEOPLE_WRITES, WITHDRAW_PAGE
from sre_agent.tools.services import SERVICES

PLATFORM_WRITES = frozenset(tool.name for tool in (*SERVICES, *NODES))
"""What changes services and nodes."""

_OBSERVES = (READ_LOGS, READ_METRICS)
_CALLS = (LIST_ON_CALL, PAGE_PERSON, WITHDRAW_PAGE)
_RUNS = tuple(tool for tool in (*LOOKUPS, *SERVICES, *NODES) if tool not in (READ_INCIDENT, *_OBSERVES))


def _with_key(tool: ToolSpec) -> ToolSpec:
    """Return the tool as the system behind it needs it: a vendor is asked with the tenant's own credential."""
    for tools, setting, key in (
        (_RUNS, "SRE_PLATFORM", KUBERNETES_KEY),
        (_OBSERVES, "SRE_OBSERVATORY", CLOUDWATCH_KEY),
        (_CALLS, "SRE_PAGER", PAGERDUTY_KEY),
    ):
        if tool in tools and not is_embedded(setting):
            return replace(tool, secret=key)
    return tool


TOOLS = tuple(
    _with_key(tool) for tool in (*LOOKUPS, *PEOPLE_READS, *SERVICES, *NODES, *ALERTS, *INCIDENT_WRITES, *PEOPLE_WRITES)
)
