"""What happened in an incident, in order: alerts, notes, calls to people, status updates, and what was done."""

import json
import shlex
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Sum
from django.urls import reverse

from agentops.registry.call_record import call_record
from agentops.registry.made import Became, ToldCall
from agentops.tenancy.zones import zone_of
from sre_agent.entries import ALERT, CALL, PAGE, STATUS, VERIFIED, Entry, Figures
from sre_agent.estate.values import TICK_S
from sre_agent.models import Alert, Incident, Note, Page, Sample, StatusUpdate

__all__ = ["Entry", "entries", "figures_of"]

ROLE, VERIFY = "sre", "verify_change"
MOST_ALERTS, MOST_NOTES, MOST_ROWS = 50, 500, 200
MOST_OUTPUT = 4_000

_SAYS = frozenset({Note.Kind.FOUND, Note.Kind.RESOLVED, Note.Kind.ESCALATED, Note.Kind.REOPENED})
"""Notes of a call that say more than the call's own entry does."""
_WORDS = {
    Became.WAITS: "waits for people",
    Became.REFUSED: "refused",
    Became.UNDER_WAY: "under way",
    Became.DONE: "done",
    Became.FAILED: "failed",
    Became.UNKNOWN: "not known whether it was done",
    Became.UNDONE: "done, and taken back",
}


def entries(tenant_id: UUID, incident: Incident) -> list[Entry]:
    """Return what happened in an incident, the earliest first. An incident of another tenant has nothing."""
    if incident.tenant_id != tenant_id:
        return []
    calls = call_record().of_subject(tenant_id, ROLE, incident.ref, reads=(VERIFY,))
    found = [
        *_alerts(incident),
        *_notes(incident, {call.key: call for call in calls if call.key}),
        *_rows(incident, _made_by(calls)),
        *map(_call, calls),
    ]
    return sorted(found, key=lambda entry: entry.at)


def figures_of(incident: Incident, now: datetime) -> Figures:
    """Return what a post-mortem counts of an incident: its services, and how many of their requests failed."""
    told = incident.alerts.exclude(service="").order_by("service").values_list("service", flat=True).distinct()
    services = tuple(sorted({*told, incident.service} - {""}))
    seen = Sample.objects.filter(
        tenant_id=incident.tenant_id,
        service__in=services,
        at__gte=incident.opened_at,
        at__lte=incident.resolved_at or now,
    )
    failed = seen.aggregate(sum=Sum(F("requests") * F("errors_pm")))["sum"]
    name = incident.tenant.timezone
    zone = zone_of(name)
    return Figures(
        zone=zone,
        zone_name=zone.key,
        services=services,
        failed_requests=None if failed is None else failed * TICK_S // 1_000,
    )


def _alerts(incident: Incident) -> Iterable[Entry]:
    rows = incident.alerts.order_by("priority", "began_at", "id")
    shown = list(rows[:MOST_ALERTS])
    for alert in shown:
        about = f" of {alert.service}" if alert.service else ""
        named = f"{alert.rule}{about}"
        yield Entry(alert.began_at, alert.source, ALERT, f"P{alert.priority} {named} fires: {alert.words}")
        if alert.ended_at is not None:
            yield Entry(alert.ended_at, alert.source, ALERT, f"{named} has stopped.")
    more = rows.count() - MOST_ALERTS if len(shown) == MOST_ALERTS else 0
    if more > 0:
        last = Alert.objects.filter(incident=incident).order_by("-began_at").values_list("began_at", flat=True)[0]
        yield Entry(last, shown[-1].source, ALERT, f"By then {more} more alerts of less urgency fired.")


def _notes(incident: Incident, calls: Mapping[str, ToldCall]) -> Iterable[Entry]:
    for note in reversed(incident.notes.order_by("-at", "-id")[:MOST_NOTES]):
        call = calls.get(note.operation_key) if note.operation_key else None
        if call is None or note.kind in _SAYS:
            actor = note.actor if call is None else call.actor
            yield Entry(note.at, actor, note.kind, note.text, url="" if call is None else _url(call))


def _rows(incident: Incident, told: frozenset[str]) -> Iterable[Entry]:
    """Yield calls to people and drafts that no call of a session made: their own entries tell of those."""
    for page in Page.objects.filter(incident=incident).order_by("paged_at", "id")[:MOST_ROWS]:
        if page.ref not in told:
            yield Entry(page.paged_at, "", PAGE, f"Called {page.person}: {page.words}")
    for update in StatusUpdate.objects.filter(incident=incident).order_by("drafted_at", "id")[:MOST_ROWS]:
        if update.ref not in told:
            yield Entry(update.drafted_at, update.drafted_by, STATUS, f"Drafted a status update: {update.text}")
        if update.published_at is not None:
            yield Entry(update.published_at, update.published_by, STATUS, f"Published: {update.text}")


def _made_by(calls: Iterable[ToldCall]) -> frozenset[str]:
    """Return the ids of the pages and drafts that these calls made."""
    return frozenset(
        str(call.result[name]) for call in calls for name in ("page_id", "update_id") if name in call.result
    )


def _call(call: ToldCall) -> Entry:
    became = _WORDS[call.became]
    verifies = call.tool == VERIFY
    return Entry(
        at=call.made_at or call.at,
        actor=call.actor,
        kind=VERIFIED if verifies else CALL,
        words=_verified(call) if verifies else f"{call.preview.get('effect') or call.tool} ({became})",
        command=_command(call),
        output=_output(call.result),
        url=_url(call),
        approvers=call.approvers,
        became=became,
        undo="" if call.undo is None else f"{call.undo['tool']} {_json(call.undo['arguments'])}",
        sound=verifies and call.result.get("sound") is True,
    )


def _verified(call: ToldCall) -> str:
    target = call.result.get("target") or call.arguments.get("target") or ""
    if call.became is not Became.DONE:
        return f"Nobody could verify {target}."
    problems = call.result.get("problems") or []
    return f"{target} is sound." if call.result.get("sound") is True else f"{target}: {' '.join(map(str, problems))}"


def _command(call: ToldCall) -> str:
    """Return the commands and requests of the dry run, each under the place where it runs; else the call itself."""
    parts = call.preview.get("parts") or []
    found = [_run(part) for part in parts if isinstance(part, Mapping) and part.get("kind") == "command"]
    return "\n".join(found) if found else f"{call.tool} {_json(call.arguments)}"


def _run(part: Mapping[str, Any]) -> str:
    place = [f"# {part['place']}"] if part.get("place") else []
    told = shlex.join(part["argv"]) if part.get("argv") else part.get("line") or part.get("api") or ""
    return "\n".join([*place, str(told), *([str(part["body"])] if part.get("body") else [])])


def _output(result: Mapping[str, Any]) -> str:
    text = _json(result) if result else ""
    return text if len(text) <= MOST_OUTPUT else f"{text[: MOST_OUTPUT - 1]}…"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _url(call: ToldCall) -> str:
    page = reverse("session_detail", args=[call.session_id])
    return f"{page}?at={call.position}#step-{call.position}"
