"""A past to simulate: sessions of a support desk with the events that a real one leaves, written with COPY."""

import copy
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from agentops.agents.models import AgentVersion
from agentops.agents.operations import create_agent
from agentops.kernel.canonical import canonical_bytes, dumps
from agentops.kernel.ids import new_id
from agentops.ledger.bodies import stored
from agentops.policy.facts import recorded
from agentops.registry.role import RoleSpec
from agentops.tenancy.models import Tenant
from benchmarks.runtime_base import conninfo

A_SESSION = 5
"""Proposals of one session: four that ran, and one that a person was asked about."""

_ADDRESS = {
    "address1": "12 Harbour Road",
    "address2": "",
    "city": "Portland",
    "state": "OR",
    "country": "USA",
    "zip": "97201",
}
_METHOD = {"payment_method_id": "credit_card_1234567", "kind": "credit_card", "brand": "visa", "last_four": "4242"}
_ITEMS = [
    {
        "item_id": f"100829223{n}",
        "product_id": f"952345687{n}",
        "name": name,
        "price_minor": price,
        "options": [["colour", "blue"], ["size", "large"]],
    }
    for n, (name, price) in enumerate((("Mug", 1200), ("Lamp", 4550), ("Kettle", 3999), ("Tray", 850)))
]
LOOKED_UP: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    (
        "lookup_customer",
        {},
        {
            "customer_id": "dana_ruiz_1234",
            "first_name": "Dana",
            "last_name": "Ruiz",
            "email": "dana.ruiz@example.com",
            "address": _ADDRESS,
            "payment_methods": [_METHOD],
            "order_ids": ["#W0871", "#W0955", "#W1042"],
            "older_orders": 0,
        },
    ),
    (
        "lookup_order",
        {"order_id": "#W1042"},
        {
            "order_id": "#W1042",
            "status": "delivered",
            "currency": "USD",
            "address": _ADDRESS,
            "items": _ITEMS,
            "fulfilments": [{"tracking_ids": ["1Z999AA10123456784"], "item_ids": [item["item_id"] for item in _ITEMS]}],
            "payments": [{"kind": "payment", "amount_minor": 10599, "payment_method_id": "credit_card_1234567"}],
            "refundable_minor": 10599,
        },
    ),
    (
        "search_knowledge_base",
        {"query": "refund chipped item"},
        {
            "results": [
                {
                    "id": f"kb-{n}",
                    "title": "Damaged items",
                    "passage": "Items that arrive damaged are refunded in full. " * 6,
                    "score": 90 - n,
                }
                for n in range(3)
            ]
        },
    ),
)
"""What the session has looked up before it proposes, as its tools return it."""

_COLUMNS = "stream, position, at, tenant_id, type, actor, refs, facts, payload_digest, leaf_hash"
_SESSION = (
    "id, tenant_id, agent_version_id, agent_id, role, role_version, workstream, planner, subject_kind, subject_id,"
    " title, requester, customer_id, status, stop_code, outcome, wanted, taken_by, priority, rank_at, lease_owner,"
    " fence, position, steps, writes, attempts, gates, worked_ms, input_tokens, output_tokens, cost_micro,"
    " reserved_micro, created_by, created_at, finished_at"
)
Event = tuple[str, dict[str, Any], dict[str, str], dict[str, Any] | None]


def make_agent(role: RoleSpec) -> AgentVersion:
    """Make a tenant with an agent of the role, and return the agent's version."""
    tenant = Tenant.objects.create(slug="history", name="History")
    version = create_agent(tenant_id=tenant.pk, role=role, name="Support", actor="benchmark").current_version
    assert version is not None
    return version


def record(version: AgentVersion, proposals: int, facts: dict[str, Any]) -> int:
    """Record so many proposals like the one with these facts, in the last days, and return how many there are."""
    tenant, began = version.agent.tenant_id, datetime.now(UTC) - timedelta(days=2)
    sessions = [new_id() for _ in range(proposals // A_SESSION)]
    with psycopg.connect(conninfo(), autocommit=True) as plain:
        with plain.cursor() as cursor, cursor.copy(f"COPY session ({_SESSION}) FROM STDIN") as copied:
            for session in sessions:
                copied.write_row(_session(session, version, began))
        with plain.cursor() as cursor, cursor.copy(f"COPY ledger_event ({_COLUMNS}) FROM STDIN") as copied:
            for n, session in enumerate(sessions):
                for position, (kind, told, refs, body) in enumerate(_events(n, facts)):
                    digest = None if body is None else hashlib.sha256(canonical_bytes(body)).digest()
                    row = (session, position, began, tenant, kind, "agent:Support v1", dumps(refs), dumps(told), digest)
                    copied.write_row((*row, bytes(32)))
        with plain.cursor() as cursor:
            rows = cursor.copy("COPY ledger_payload (stream, position, body) FROM STDIN")
            with rows as copied:
                for n, session in enumerate(sessions):
                    for position, (_, _, _, body) in enumerate(_events(n, facts)):
                        if body is not None:
                            copied.write_row((session, position, stored(canonical_bytes(body))))
        plain.execute("ANALYZE")
    return len(sessions) * A_SESSION


def _session(session: UUID, version: AgentVersion, at: datetime) -> tuple[Any, ...]:
    texts = ("ticket", str(session), "Chipped mug", "dana.ruiz@example.com", "dana_ruiz_1234")
    state = ("finished", "", "refunded", "", "", 1, at, "", 1, 14, 7, 5, 0, 1, 900, 0, 0, 0, 0)
    who = (session, version.agent.tenant_id, version.pk, version.agent_id, "support", 1, "", "playbook")
    return (*who, *texts, *state, "benchmark", at, at)


def _events(n: int, facts: dict[str, Any]) -> Iterator[Event]:
    """Yield what one session leaves: reads, calls that ran, one that was asked, one that was undone."""
    yield "session.opened", {"role": "support"}, {"subject": f"T-{n}"}, {"text": "A mug arrived chipped."}
    yield "session.claimed", {"fence": 1}, {}, None
    read = {"arguments": {"order_id": "#W1042"}, "context": {"history": 0}, "result": LOOKED_UP[1][2]}
    yield "call.read", {"tool": "lookup_order", "tool_ms": 3}, {}, read
    for which in range(A_SESSION):
        call = str(new_id())
        asked = which == A_SESSION - 1
        effect = "ask" if asked else "allow"
        minor = 100 + (n * 37 + which * 911) % 20_000
        kind = "approval.requested" if asked else "call.intended"
        told = {"tool": "issue_refund", "verdict": effect, "key": hashlib.sha256(call.encode()).hexdigest()}
        yield kind, told, {"invocation": call}, _body(facts, minor, effect, n)
        if asked:
            decided = "approval.rejected" if n % 3 == 0 else "approval.approved"
            yield decided, {"tool": "issue_refund"}, {"invocation": call}, None
            if n % 3 == 0:
                break
            again = {**told, "approved_by": "user:alice"}
            yield "call.intended", again, {"invocation": call}, _body(facts, minor, effect, n)
        yield "call.succeeded", {"tool": "issue_refund"}, {"invocation": call}, {"result": {"receipt": call}}
        if which == 1 and n % 10 == 0:
            yield "call.compensated", {"by": call}, {"invocation": call}, None
    yield "session.finished", {"outcome": "refunded"}, {}, None


def _body(facts: dict[str, Any], minor: int, effect: str, n: int) -> dict[str, Any]:
    mine = copy.copy(facts)
    mine["money"] = {**facts["money"], "minor": minor, "customer_day_minor": minor + n % 7 * 100}
    mine["rate"] = {**facts["rate"], "tool_hour": n % 30, "first_target": n % 4 == 0}
    reasons = [["dial.bounded", "allow", "Within the limits set for this tool."]]
    if effect == "ask":
        reasons.insert(0, ["threshold.issue_refund.1", "ask", "More than $25.00 for one customer in one day."])
    arguments = {**facts["arguments"], "amount_minor": minor}
    return {
        "arguments": arguments,
        "context": {"history": 4, "sections": {"goal": 120, "policy": 900, "results": 4_200}},
        "rationale": "The mug arrived chipped, and the knowledge base says that damaged items are refunded in full.",
        "facts": recorded({**mine, "arguments": arguments}),
        "verdict": {"effect": effect, "reasons": reasons},
        "preview": {
            "effect": f"Refund {minor} cents to Dana Ruiz for order #W1042",
            "target": "customer:dana_ruiz_1234",
            "changes": [["Refundable", "10599", str(10_599 - minor)], ["Refunded", "0", str(minor)]],
            "versions": {"order:1042": 3},
            "money": [minor, "USD"],
        },
    }
