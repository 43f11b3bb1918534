"""What a fresh SRE agent may do, as data: autonomy settings, limits, rules, queues and budget.

It looks freely and writes down what it finds. What changes the platform runs within limits that ask: the share of
capacity that is away, how urgent the incident is, a freeze, a change shortly before.
"""

from agentops.registry.role import Budget, GrantDefault, QueueDefault, Rule, ThresholdDefault
from agentops.registry.tool import Dial
from sre_agent.changes import PLATFORM

CHANGES, INCIDENTS = "sre-changes", "sre-incidents"

MOST_SHARE_PCT = 25
MOST_URGENT_ASKS = 1
QUIET_MINUTES = 30

CAPACITY = ThresholdDefault(
    fact="measures.capacity_share_pct",
    op=">",
    value=MOST_SHARE_PCT,
    effect="ask",
    words="More than 25 % of a capacity would be away; that needs a person.",
)

_READS = (
    "read_incident",
    "list_services",
    "describe_service",
    "read_logs",
    "read_metrics",
    "list_deploys",
    "list_nodes",
    "verify_change",
    "list_on_call",
    "list_runbooks",
)
_BOUNDED = (
    "restart_service",
    "halt_restart",
    "scale_service",
    "roll_back",
    "run_runbook",
    "drain_node",
    "uncordon_node",
)
_ASK = ("stop_service", "delete_replica")
_SOFT = (
    "silence_alert",
    "unsilence_alert",
    "open_incident",
    "withdraw_incident",
    "update_incident",
    "resolve_incident",
    "reopen_incident",
    "escalate_incident",
    "page_person",
    "withdraw_page",
    "draft_status_update",
    "discard_status_update",
)

GRANTS = (
    *(GrantDefault(tool, Dial.AUTONOMOUS) for tool in _READS),
    *(GrantDefault(tool, Dial.BOUNDED, (CAPACITY,)) for tool in _BOUNDED),
    *(GrantDefault(tool, Dial.ASK) for tool in _ASK),
    *(GrantDefault(tool, Dial.AUTONOMOUS) for tool in _SOFT),
)

QUEUES = (
    QueueDefault(CHANGES, "SRE: changes", "Changes of services and nodes."),
    QueueDefault(INCIDENTS, "SRE: incidents", "Incidents, alerts, calls to people and status updates."),
)

BUDGET = Budget(max_steps=40, max_seconds=7_200, max_cost_micro=3_000_000)

_MADE_UP = ["request", "computed", "third", "untrusted", "nowhere"]
_TAKES_BACK = ("halt_restart", "roll_back", "uncordon_node")
_TAKES_AWAY = ("restart_service", "scale_service", "stop_service", "delete_replica", "drain_node", "run_runbook")
_SHORTLY_AFTER = {"fact": "measures.minutes_since_disruption", "op": "<", "value": QUIET_MINUTES}
_AWAY = {"fact": "measures.capacity_share_pct", "op": ">", "unit": "%"}

RULES: tuple[Rule, ...] = (
    {
        "id": "sre-capacity",
        "tools": list(PLATFORM),
        "when": [{**_AWAY, "value": MOST_SHARE_PCT}],
        "effect": "ask",
        "queue": CHANGES,
        "words": "More than 25 % of a capacity would be away.",
    },
    {
        "id": "sre-urgent",
        "tools": list(PLATFORM),
        "when": [{"fact": "measures.incident_priority", "op": "<=", "value": MOST_URGENT_ASKS}],
        "effect": "ask",
        "queue": CHANGES,
        "words": "The incident or what is changed is of priority 0 or 1.",
    },
    {
        "id": "sre-freeze",
        "tools": list(PLATFORM),
        "when": [{"fact": "measures.change_freeze", "op": "=", "value": 1}],
        "effect": "ask",
        "queue": CHANGES,
        "people": 2,
        "words": "A change freeze is on.",
    },
    {
        "id": "sre-too-soon",
        "tools": list(_TAKES_AWAY),
        "when": [_SHORTLY_AFTER, {**_AWAY, "value": 0}],
        "effect": "forbid",
        "words": "Capacity was taken away here less than 30 minutes ago; take that back, or wait.",
    },
    {
        "id": "sre-soon-after",
        "tools": list(_TAKES_BACK),
        "when": [_SHORTLY_AFTER],
        "effect": "ask",
        "queue": CHANGES,
        "words": "Capacity was taken away here less than 30 minutes ago.",
    },
    {
        "id": "sre-replicas",
        "tools": ["scale_service"],
        "when": [{"fact": "origin.replicas", "op": "one of", "value": _MADE_UP}],
        "effect": "ask",
        "queue": CHANGES,
        "words": "The number of replicas is not one that ran before.",
    },
    {
        "id": "sre-two-people",
        "tools": list(_ASK),
        "when": [],
        "effect": "ask",
        "queue": CHANGES,
        "people": 2,
        "words": "This stops or deletes something, so two people decide.",
    },
)
"""What limits on a grant cannot say, as rules of the tenant that employs such an agent: see docs/design/policy.md."""
