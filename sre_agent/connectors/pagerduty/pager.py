"""Calls to people through PagerDuty, behind the port ``Pager``. Who is called when is decided by the same rules.

Each page is an incident at PagerDuty of its own, assigned to one person, and a row of ours. The incident's key comes
from the call's idempotency key: a second one with that key is refused there, and it can be asked for by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from agentops.kernel.errors import FailureKind
from agentops.registry.once import Once, call_of, fingerprint_of, require_versions
from agentops.registry.tool import CallContext, OutcomeUnknown, Preview, Result, ToolFailure
from sre_agent.connectors import pager_rules
from sre_agent.connectors.desk_effect import Desk, DeskEffect, Written, clipped
from sre_agent.connectors.desk_rows import Wanted, apply, read
from sre_agent.connectors.pagerduty.door import Account, Obj, opened
from sre_agent.connectors.pagerduty.objects import (
    RESOLVED,
    calling,
    contact_of,
    first_called,
    incident_key,
    moment_of,
    on_call_of,
    person_of,
    withdrawing,
)
from sre_agent.connectors.port import PagePerson, PagerWrite, WithdrawPage
from sre_agent.connectors.records import OnCall
from sre_agent.connectors.vendor_config import pagerduty_of
from sre_agent.connectors.vendor_schema import PagerDuty
from sre_agent.models import Operation, Page

ONCE = Once(Operation, "incident_ref", "database of pages")
MOST_ASKED = 10
"""So many pages of an incident are asked about to find out which one was withdrawn."""


class PagerDutyPager:
    """Implements ``Pager``. Holds no state, and no key longer than a call takes."""

    def on_call(self, context: CallContext) -> Sequence[OnCall]:
        """Return who is on call now, by level: levels 1 to 3 of the escalation policy. Raises ToolFailure."""
        account, config = _opened(context)
        return tuple(_people(account, config, context.now).values())

    @ONCE.answering()
    def preview(self, context: CallContext, write: PagerWrite) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        account, config = _opened(context)
        desk, _ = read(context, _wanted(write), lock=False)
        if isinstance(write, WithdrawPage):
            return pager_rules.plan_withdrawal(desk, write).preview
        return _planned(desk, write, _people(account, config, context.now)).preview

    def write(self, context: CallContext, write: PagerWrite) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        A page whose answer was lost is looked for before anybody is called again.
        """
        fingerprint = fingerprint_of(context, write)
        known = ONCE.known(context, fingerprint)
        if known is not None:
            return known
        account, config = _opened(context)
        with ONCE.answering():
            desk, _ = read(context, _wanted(write), lock=False)
        effect = (
            _withdrawn(account, context, desk, write)
            if isinstance(write, WithdrawPage)
            else _called(account, config, context, desk, write)
        )
        return _kept(context, fingerprint, write, effect)

    def outcome(self, context: CallContext) -> Result | None:
        """Return what became of the key, None when PagerDuty knows nothing of it. Raises ToolFailure.

        A page or a withdrawal that took effect there and was not recorded is recorded now.
        """
        recorded = ONCE.outcome(context)
        if recorded is not None:
            return recorded
        account, _ = _opened(context)
        with ONCE.answering():
            desk, _ = read(context, Wanted(), lock=False)
        found = _incident(account, context, desk.new_ref("PG"))
        effect = None if found is None else _recovered(account, desk, found)
        page_ref = "" if effect is not None else _withdrawn_before(account, context, desk)
        if page_ref:
            effect = _withdrawal(desk, page_ref)
        if effect is None:
            return None
        with ONCE.answering():
            _apply(context, effect)
        return effect.result


def _opened(context: CallContext) -> tuple[Account, PagerDuty]:
    config = pagerduty_of(context.tenant_id)
    return opened(context.secret, config.sender), config


def _wanted(write: PagerWrite) -> Wanted:
    return Wanted(page=write.page_ref) if isinstance(write, WithdrawPage) else Wanted(people=True)


def _people(account: Account, config: PagerDuty, now: datetime) -> Mapping[str, OnCall]:
    """Return who is on call by their id at PagerDuty, in the order of levels."""
    asked = {"escalation_policy_ids[]": [config.policy], "include[]": ["users"]}
    return on_call_of(account.listed("oncalls", "oncalls", **asked), now)


def _planned(desk: Desk, write: PagePerson, people: Mapping[str, OnCall]) -> DeskEffect:
    return pager_rules.plan_page(replace(desk, on_call=tuple(people.values())), write)


def _called(account: Account, config: PagerDuty, context: CallContext, desk: Desk, write: PagePerson) -> DeskEffect:
    """Call somebody, unless PagerDuty did so under this key. Raises ToolFailure, OutcomeUnknown."""
    page_ref = desk.new_ref("PG")
    before = _incident(account, context, page_ref)
    if before is not None:
        return _recovered(account, desk, before)
    people = _people(account, config, context.now)
    effect = _planned(desk, write, people)
    require_versions(context, desk.versions())
    page: Mapping[str, Any] = effect.new_page or {}
    incident = desk.the_incident()
    user_id = next(
        ref for ref, each in people.items() if (each.person, each.contact) == (page["person"], page["contact"])
    )
    title = f"{incident.ref} (P{incident.priority}): {page['words']}"
    body = calling(
        config, incident_key(context.tenant_id, page_ref), user_id, title, f"{page['words']}\n\n{incident.title}"
    )
    try:
        account.sent("POST", "incidents", body, "incident")
    except ToolFailure as failure:
        if failure.kind is not FailureKind.VALIDATION:
            raise
        # Another request with this key may have come first: then that one called.
        before = _incident(account, context, page_ref)
        if before is None:
            raise
        return _recovered(account, desk, before)
    return effect


def _withdrawn(account: Account, context: CallContext, desk: Desk, write: WithdrawPage) -> DeskEffect:
    """Resolve a page's incident, unless that is done. Raises ToolFailure, OutcomeUnknown."""
    effect = pager_rules.plan_withdrawal(desk, write)
    require_versions(context, desk.versions())
    found = _incident(account, context, write.page_ref)
    if found is None:
        raise ToolFailure(FailureKind.NOT_FOUND, "PagerDuty does not know this page.", field="page_id")
    if found.get("status") != RESOLVED:
        words = f"No longer needed for {desk.the_incident().ref} ({desk.new_ref('WD')})."
        try:
            account.sent("PUT", f"incidents/{found['id']}", withdrawing(words), "incident")
        except ToolFailure as failure:
            now = _incident(account, context, write.page_ref) if failure.kind is FailureKind.VALIDATION else None
            if now is None or now.get("status") != RESOLVED:
                raise
    return effect


def _incident(account: Account, context: CallContext, page_ref: str) -> Obj | None:
    """Return the incident of a page at PagerDuty, also one that is over. Raises ToolFailure."""
    if not page_ref:
        return None
    key = incident_key(context.tenant_id, page_ref)
    asked = {"incident_key": key, "date_range": "all", "statuses[]": ["triggered", "acknowledged", RESOLVED]}
    listed = account.listed("incidents", "incidents", **asked)
    return next((each for each in listed if each.get("incident_key") == key), None)


def _recovered(account: Account, desk: Desk, found: Obj) -> DeskEffect:
    """Return what a page came to whose incident is at PagerDuty: whom its log says that it called first."""
    log = account.listed(f"incidents/{found['id']}/log_entries", "log_entries", is_overview="true")
    user = account.one(f"users/{user_id}", "user") if (user_id := first_called(log)) else None
    person, contact = (person_of(user), contact_of(user)) if user is not None else ("somebody on call", "")
    words = str(found.get("title") or "").partition("): ")[2] or str(found.get("title") or "")
    at = moment_of(found.get("created_at")) or desk.now
    ref = desk.new_ref("PG")
    made = {
        "ref": ref,
        "person": person,
        "contact": contact,
        "words": clipped(words, pager_rules.MOST_WORDS),
        "paged_at": at,
    }
    note = Written("changed", clipped(f"Called {person}: {words}"))
    return DeskEffect(Preview("", ""), {"page_id": ref, "person": person}, (note,), new_page=made)


def _withdrawn_before(account: Account, context: CallContext, desk: Desk) -> str:
    """Return which of the incident's pages was withdrawn under this key at PagerDuty, empty for none."""
    mark = desk.new_ref("WD")
    pages = Page.objects.filter(
        tenant_id=context.tenant_id, incident__ref=context.subject_id, withdrawn_at__isnull=True
    )
    for ref in pages.values_list("ref", flat=True)[:MOST_ASKED]:
        found = _incident(account, context, ref)
        if found is not None and found.get("status") == RESOLVED:
            notes = account.listed(f"incidents/{found['id']}/notes", "notes")
            if any(f"({mark})" in str(each.get("content")) for each in notes):
                return ref
    return ""


def _withdrawal(desk: Desk, page_ref: str) -> DeskEffect:
    note = Written("changed", f"Withdrew the page {page_ref}.")
    return DeskEffect(Preview("", f"page:{page_ref}"), {"page_id": page_ref}, (note,), page={"withdrawn_at": desk.now})


def _kept(context: CallContext, fingerprint: bytes, write: PagerWrite, effect: DeskEffect) -> Result:
    """Record what PagerDuty did. Raises OutcomeUnknown when that fails: it is done there."""

    def act() -> Result:
        _apply(context, effect)
        ONCE.record(call_of(context), effect.result)
        return effect.result

    try:
        return ONCE.write(context, fingerprint, type(write).__name__, act)
    except ToolFailure as failure:
        raise OutcomeUnknown(f"PagerDuty did it, and it could not be recorded: {failure.message}") from failure


def _apply(context: CallContext, effect: DeskEffect) -> None:
    """Write the page's row and note, in the caller's transaction, unless they are there."""
    ref = effect.result["page_id"]
    with transaction.atomic():
        desk, rows = read(context, Wanted(page=ref), lock=True)
        there = rows.page
        if there is not None and (effect.new_page is not None or there.withdrawn_at is not None):
            return
        apply(call_of(context), desk.now, rows, effect)
