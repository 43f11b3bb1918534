"""Writing, activating and withdrawing rule sets. Each change is an event in the tenant's own stream."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max

from agentops.kernel.canonical import digest, dumps
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from agentops.policy.models import RuleSet
from agentops.policy.rule_check import BadRules, House, read, require_rules
from agentops.tenancy.models import Tenant

MOST_NOTE = 300


class CannotActivate(AgentOpsError):
    """Another version has become active since the page was loaded, or this one is already."""

    code = "CANNOT_ACTIVATE"
    next_step = "Load the page again and look at the difference."


@transaction.atomic
def save_rule_set(*, tenant_id: UUID, text: str, note: str, house: House, actor: str) -> RuleSet:
    """Keep ``text`` as the tenant's next version. It decides nothing before it is activated. Raises BadRules."""
    document = read(text, house)
    words = note.strip()
    if not words or len(words) > MOST_NOTE:
        raise BadRules([f"A version needs a note of at most {MOST_NOTE} characters that says why."])
    # Versions are numbered one at a time.
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
    newest = RuleSet.objects.filter(tenant_id=tenant_id).aggregate(newest=Max("number"))["newest"] or 0
    made = RuleSet.objects.create(
        tenant_id=tenant_id,
        number=newest + 1,
        document=document,
        digest=digest(document).hex(),
        note=words,
        made_by=actor,
        made_at=utcnow(),
    )
    _tell(made, "config.added", actor, {"digest": ["", made.digest], "note": ["", words]}, document)
    return made


@transaction.atomic
def adopt_rules(
    *, tenant_id: UUID, rules: Sequence[Mapping[str, Any]], note: str, house: House, actor: str
) -> RuleSet | None:
    """Activate a version that has the tenant's active rules as they are, and ``rules`` behind them; return it.

    A rule whose id the tenant has already is the tenant's own and stays as it is; None when there is no other. Raises
    BadRules when the two do not go together.
    """
    active = _active(tenant_id)
    document: dict[str, Any] = {} if active is None else dict(active.document)
    own = list(document.get("rules", ()))
    known = {rule["id"] for rule in own}
    missing = [rule for rule in rules if rule["id"] not in known]
    if not missing:
        return None
    text = dumps({**document, "rules": [*own, *missing]})
    made = save_rule_set(tenant_id=tenant_id, text=text, note=note, house=house, actor=actor)
    instead_of = None if active is None else active.pk
    return activate_rule_set(rule_set_id=made.pk, instead_of=instead_of, house=house, actor=actor)


@transaction.atomic
def activate_rule_set(*, rule_set_id: UUID, instead_of: UUID | None, house: House, actor: str) -> RuleSet:
    """Let a version decide from the next step of every session on, instead of the one that the person saw as active.

    ``instead_of`` is None when none was active. Raises CannotActivate, and BadRules when the version does not fit the
    tenant's tools and queues any more.
    """
    chosen = RuleSet.objects.get(pk=rule_set_id)
    active = _active(chosen.tenant_id)
    if (active.pk if active else None) != instead_of or (active is not None and active.pk == chosen.pk):
        raise CannotActivate("Another version is active than the one shown.")
    require_rules(chosen.document, house)
    if active is not None:
        _set(active, actor, active=False)
    chosen.activated_by, chosen.activated_at = actor, utcnow()
    _set(chosen, actor, active=True)
    return chosen


@transaction.atomic
def withdraw_rule_set(*, rule_set_id: UUID, actor: str) -> RuleSet:
    """Let the tenant have no rules of its own any more. Raises CannotActivate when another version is active."""
    tenant_id = RuleSet.objects.values_list("tenant_id", flat=True).get(pk=rule_set_id)
    active = _active(tenant_id)
    if active is None or active.pk != rule_set_id:
        raise CannotActivate("The version is not active any more.")
    _set(active, actor, active=False)
    return active


def _active(tenant_id: UUID) -> RuleSet | None:
    """Return the active version, with the tenant locked so that it stays the active one."""
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
    return RuleSet.objects.filter(tenant_id=tenant_id, active=True).first()


def _set(rule_set: RuleSet, actor: str, *, active: bool) -> None:
    rule_set.active = active
    rule_set.save(update_fields=["active", "activated_by", "activated_at"])
    was, now = ("no", "yes") if active else ("yes", "no")
    _tell(rule_set, "config.changed", actor, {"active": [was, now]}, None)


def _tell(
    rule_set: RuleSet, event: str, actor: str, changes: dict[str, list[str]], document: dict[str, object] | None
) -> None:
    facts = {"model": "RuleSet", "object": str(rule_set), "number": rule_set.number, "changes": changes}
    payload = {"changes": changes, **({"document": document} if document else {})}
    told = Event(event, actor, facts, {"object": str(rule_set.pk)}, payload)
    append_to(tenant_id=rule_set.tenant_id, name=f"tenant:{rule_set.tenant_id}", events=[told])
