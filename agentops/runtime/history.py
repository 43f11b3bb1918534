"""Proposals of the past, read from the ledger for ``policy.simulate``.

Sessions of a tenant are read by key in batches and their events by key in pages, so memory stays flat however long the
window is. What counts is each proposal's first decision; what people then decided, and whether the call was taken back,
is read from the same stream. Reads that ran are not among them: their facts are not recorded.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from agentops.agents.queries import Grants, grants_of
from agentops.kernel.ids import first_id
from agentops.ledger.payloads import bodies
from agentops.policy.compliance import PREFIX as PACKS
from agentops.policy.facts import restored
from agentops.policy.rules import Effect, Rule, narrow
from agentops.policy.ruleset import TenantRules
from agentops.policy.simulate import Outcome, Record, RulesOf, fired_then

BEGAN_BEFORE = timedelta(days=30)
"""A session that began longer than this before the window is left out."""

_SESSIONS_AT_ONCE = 50
_EVENTS_AT_ONCE = 4_000
_DECIDED = ("call.intended", "approval.requested", "call.refused")
_OUTCOMES: Mapping[str, Outcome] = {
    "approval.approved": Outcome.APPROVED,
    "approval.rejected": Outcome.REJECTED,
    # What a person changed was not let through as it was; its changed form is a proposal of its own.
    "approval.edited": Outcome.REJECTED,
    "approval.expired": Outcome.EXPIRED,
}
_UNDONE = "call.compensated"

_SESSIONS = """
SELECT id, agent_version_id FROM session
WHERE tenant_id = %(tenant)s AND id > %(after)s AND (finished_at IS NULL OR finished_at >= %(since)s)
ORDER BY id LIMIT %(most)s"""

_EVENTS = """
SELECT e.stream, e.position, e.at >= %(since)s AND e.at < %(until)s, e.type,
  e.refs->>'invocation', e.facts->>'tool', e.facts->>'verdict',
  e.facts ? 'approved_by', p.body
FROM ledger_event e
LEFT JOIN ledger_payload p ON p.stream = e.stream AND p.position = e.position AND e.type = ANY(%(decided)s)
WHERE e.stream = ANY(%(streams)s) AND e.type = ANY(%(types)s)
  AND (e.stream, e.position) > (%(stream)s, %(position)s)
ORDER BY e.stream, e.position LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class _Row:
    stream: UUID
    position: int
    in_window: bool
    type: str
    invocation: str | None
    tool: str | None
    verdict: str | None
    approved: bool
    body: bytes | None


def proposals(*, tenant_id: UUID, since: datetime, until: datetime) -> Iterator[Record]:
    """Yield the proposals that were decided from ``since`` until before ``until``, session by session."""
    for versions in _sessions(tenant_id, since):
        rows: list[_Row] = []
        for row in _events(sorted(versions), since, until):
            if rows and row.stream != rows[0].stream:
                yield from _records(rows, versions)
                rows = []
            rows.append(row)
        if rows:
            yield from _records(rows, versions)


def _sessions(tenant_id: UUID, since: datetime) -> Iterator[dict[UUID, UUID]]:
    """Yield batches of sessions that may have decided something in the window, each with its agent's version."""
    after = first_id(since - BEGAN_BEFORE)
    while True:
        found = _fetch(_SESSIONS, {"tenant": tenant_id, "after": after, "since": since, "most": _SESSIONS_AT_ONCE})
        if found:
            yield dict(found)
        if len(found) < _SESSIONS_AT_ONCE:
            return
        after = found[-1][0]


def _events(streams: Sequence[UUID], since: datetime, until: datetime) -> Iterator[_Row]:
    params: dict[str, Any] = {
        "since": since,
        "until": until,
        "decided": list(_DECIDED),
        "types": [*_DECIDED, *_OUTCOMES, _UNDONE],
        "streams": list(streams),
        "most": _EVENTS_AT_ONCE,
        "stream": UUID(int=0),
        "position": -1,
    }
    while True:
        found = _fetch(_EVENTS, params)
        read = bodies((row[0], row[1], row[-1]) for row in found)
        yield from (_Row(*(*row[:-1], body)) for row, body in zip(found, read, strict=True))
        if len(found) < _EVENTS_AT_ONCE:
            return
        params = {**params, "stream": found[-1][0], "position": found[-1][1]}


def _fetch(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def _records(rows: Iterable[_Row], versions: Mapping[UUID, UUID]) -> Iterator[Record]:
    """Yield the proposals of one stream, with what later became of each."""
    found: list[Record] = []
    by_call: dict[str, int] = {}
    for row in rows:
        known = by_call.get(row.invocation or "")
        if row.type in _DECIDED and known is None:
            record = _record(row, versions[row.stream]) if row.in_window else None
            if record is None:
                continue
            if row.invocation:
                by_call[row.invocation] = len(found)
            found.append(record)
        elif known is not None:
            found[known] = _with_outcome(found[known], row.type)
    yield from found


def _with_outcome(record: Record, event: str) -> Record:
    if event == _UNDONE:
        return replace(record, undone=True)
    outcome = _OUTCOMES.get(event)
    return record if outcome is None else replace(record, outcome=outcome)


def _record(row: _Row, version: UUID) -> Record | None:
    """Return the proposal that an event decided; None when it decided again, or policy had no part in it."""
    body = _body(row.body)
    verdict = body.get("verdict")
    if row.approved or (row.type == "call.refused" and verdict is None):
        return None
    if verdict is None:
        # The payload was erased or spoiled: what was decided still stands in the event.
        effect = _EFFECTS.get(row.verdict or "", Effect.FORBID)
        reasons: tuple[tuple[str, Effect, str], ...] = (("record", effect, "As it was decided then."),)
    else:
        effect = _EFFECTS[verdict["effect"]]
        reasons = tuple((rule, _EFFECTS[name], words) for rule, name, words in verdict["reasons"])
    return Record(
        place=(str(row.stream), row.position),
        invocation=row.invocation or "",
        version=str(version),
        tool=row.tool or "",
        facts=_facts(body),
        effect=effect,
        reasons=reasons,
        outcome=Outcome.OPEN if row.type == "approval.requested" else Outcome.NONE,
    )


def _body(raw: bytes | None) -> dict[str, Any]:
    try:
        found = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


_EFFECTS: Mapping[str, Effect] = {effect.value: effect for effect in Effect}


def _facts(body: Mapping[str, Any]) -> dict[str, Any]:
    kept = body.get("facts")
    if not isinstance(kept, dict):
        return {}
    facts = restored(kept, body.get("arguments") or {})
    tool = facts.get("tool", {})
    if "write" not in tool and "tier" in tool:
        # The first form of the record did not say it twice.
        facts["tool"] = {**tool, "write": tool["tier"] != "read"}
    return facts


def under_present_grants(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records as if the call were proposed under what the agent's version may do now."""
    versions: dict[str, Grants] = {}
    known: dict[tuple[str, str, str | None], dict[str, Any]] = {}
    for record in records:
        key = (record.version, record.tool, record.facts.get("money", {}).get("currency"))
        if key not in known:
            if record.version not in versions:
                versions[record.version] = grants_of(UUID(record.version))
            known[key] = _grant_facts(versions[record.version], record.tool, key[2])
        yield replace(record, facts={**record.facts, "grant": known[key]})


def _grant_facts(grants: Grants, tool: str, currency: str | None) -> dict[str, Any]:
    grant = grants.by_tool.get(tool)
    if grant is None:
        return {"present": False, "dial": "", "bounded_here": False}
    found = grant.facts(currency=currency)
    return {"present": True, "dial": found.dial, "bounded_here": found.bounded_here}


def present_rules(tenant: TenantRules) -> RulesOf:
    """Return the rules that decide today about a record's call, with ``tenant`` as the tenant's own.

    Compliance packs are not among them: what they found then, they find again.
    """
    found_then = fired_then(lambda rule: rule.startswith(PACKS))
    versions: dict[str, Grants] = {}
    cache: dict[tuple[Any, ...], tuple[Rule, ...]] = {}

    def rules_of(record: Record) -> tuple[Rule, ...]:
        tool, grant = record.facts.get("tool", {}), record.facts["grant"]
        key = (record.version, record.tool, *tool.values(), *grant.values())
        found = cache.get(key)
        if found is None:
            if record.version not in versions:
                versions[record.version] = grants_of(UUID(record.version)).under(tenant)
            rules = versions[record.version].rules_for({**tool, "name": record.tool})
            found = cache[key] = narrow(rules, {"tool": tool, "grant": grant})
        return (*found, *found_then(record))

    return rules_of
