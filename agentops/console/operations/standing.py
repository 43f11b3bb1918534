"""The frame that the operators' pages share, and what of them shows on every page: banner, counts, lines at home."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from django.urls import reverse

from agentops.console.marks import Kind, State
from agentops.console.operations import queries
from agentops.console.operations.presenters import FreezeLine, Notice, Standing, Tab
from agentops.console.operations.words import counted, scope_words
from agentops.console.reveal import reveal_cut
from agentops.console.said import actor_name
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import IncidentCode
from agentops.ledger.evidence import troubles
from agentops.registry import roles
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Freeze, Tenant

REASON = 300

_TABS = (
    ("In flight", "operations"),
    ("Freezes", "freeze_list"),
    ("Unknown outcomes", "unknown_list"),
    ("Questions", "question_list"),
    ("Breakers", "breaker_list"),
    ("Spend", "spend_today"),
    ("Blast radius", "blast_radius"),
)


def freeze_line(freeze: Freeze, tenant: Tenant, agents: Mapping[UUID, str]) -> FreezeLine:
    """Return a freeze in words; ``agents`` names those of the tenant."""
    agent = "" if freeze.agent_id is None else agents.get(freeze.agent_id, "that is gone")
    return FreezeLine(
        pk=str(freeze.pk),
        what=scope_words(tenant="" if freeze.tenant_id is None else tenant.name, agent=agent, tool=freeze.tool),
        by=actor_name(freeze.frozen_by),
        why=reveal_cut(freeze.reason, REASON),
        since=freeze.frozen_at,
        asked_by=actor_name(freeze.lift_asked_by),
        lifted_by=actor_name(freeze.lifted_by),
        lifted_at=freeze.lifted_at,
    )


def freeze_lines(freezes: Sequence[Freeze], tenant: Tenant) -> list[FreezeLine]:
    """Return freezes in words. One query, and none when they name no agent."""
    agents = queries.agent_names(tenant.pk, [freeze.agent_id for freeze in freezes])
    return [freeze_line(freeze, tenant, agents) for freeze in freezes]


def standing_of(reader: Reader) -> Standing:
    """Return what stands out of the tenant's operations.

    Two queries, one more while an agent is frozen, and one more where checkpoints are signed.
    """
    active, freezes = queries.active_freezes(reader.tenant.pk)
    counts = queries.counts_of(reader.tenant.pk)
    stopping = sorted((one for one in active if not one.tool), key=_width)
    return Standing(
        frozen=freeze_lines(stopping, reader.tenant),
        notices=list(_notices(freezes, counts, may_administer=reader.person.is_staff)),
        freezes=freezes,
        unknown=counts.unknown,
        questions=counts.questions,
        breakers_off=counts.breakers_off,
        unusual=counts.unusual,
        can_freeze=reader.may_operate,
    )


def _width(freeze: Freeze) -> int:
    return (freeze.tenant_id is not None) + (freeze.agent_id is not None)


def _notices(freezes: int, counts: queries.Counts, *, may_administer: bool) -> Iterator[Notice]:
    for trouble in troubles(utcnow()):
        yield Notice(state=State("stop", trouble.words), url=reverse("operations"))
    if counts.unusual:
        verb = "is" if counts.unusual == 1 else "are"
        words = f"{counted(counts.unusual, 'session')} {verb} paused for something unusual"
        yield Notice(state=State("stop", words), url=_unusual_url())
    found: tuple[tuple[int, Kind, str, str, str, str], ...] = (
        (freezes, "frozen", "is frozen", "are frozen", "thing", "freeze_list"),
        (counts.unknown, "stop", "has an unknown outcome", "have unknown outcomes", "call", "unknown_list"),
        (counts.questions, "notice", "waits for an answer", "wait for an answer", "question", "question_list"),
        (counts.breakers_off, "stop", "is off", "are off", "breaker", "breaker_list"),
        (counts.webhooks_failed, "stop", "could not be taken", "could not be taken", "webhook", _WEBHOOKS),
        (counts.schedules_troubled, "stop", "needs a look", "need a look", "schedule", _SCHEDULES),
    )
    for count, kind, one, many, noun, route in found:
        if count:
            words = f"{counted(count, noun)} {one if count == 1 else many}"
            # Pages of the admin open for its staff alone; the others are told all the same.
            here = route if may_administer or not route.startswith("admin:") else "operations"
            yield Notice(state=State(kind, words), url=reverse(here))


_WEBHOOKS = "admin:agentops_webhookdelivery_changelist"
_SCHEDULES = "admin:agentops_roleschedule_changelist"


def tabs_of(standing: Standing, current: str) -> list[Tab]:
    """Return the operators' pages, the one of the route ``current`` marked."""
    counts = {
        "freeze_list": standing.freezes,
        "unknown_list": standing.unknown,
        "question_list": standing.questions,
        "breaker_list": standing.breakers_off,
    }
    tabs = [
        Tab(label=label, url=reverse(route), current=route == current, count=counts.get(route, 0))
        for label, route in _TABS
    ]
    if any(role.reconcile for role in roles.all_roles()):
        place = reverse("reconciliation")
        tabs.append(Tab(label="Reconciliation", url=place, current=current == "reconciliation"))
    if standing.unusual:
        tabs.append(Tab(label="Unusual sessions", url=_unusual_url(), current=False, count=standing.unusual))
    return tabs


def _unusual_url() -> str:
    """They stand in the list of all sessions, under their code."""
    return f"{reverse('session_list')}?stop={IncidentCode.ANOMALY}"
