"""Stripe's log: what is there of the calls that the house began, and what else there has a call's key."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from agentops.kernel.errors import FailureKind
from agentops.registry.lending import lent
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.claims import ONCE
from billing_agent.connectors.effects import TookEffect
from billing_agent.connectors.embedded_log import EmbeddedLog, parts
from billing_agent.connectors.stripe.door import Account, opened
from billing_agent.connectors.stripe.objects import STEP, Obj, known_moment, metadata_of, path_of, seconds_of
from billing_agent.connectors.stripe.step import CREATED_SKEW, Step, filled, step_from
from billing_agent.connectors.stripe.traces import by_change, by_key, key_of, traced
from billing_agent.models import StripeWrite

KINDS = ("refunds", "charges", "credit_notes", "invoices")
"""What Stripe lists by period. It lists entries of a balance by customer, and changes of a subscription nowhere."""
MOST_LISTED = 5_000
"""Objects of one kind in one period."""
MOST_ENTRIES = 1_000
"""Objects of one list that is about one customer, charge or invoice."""
MOST_ASKED = 400
"""Requests beside the lists of the period."""
SKEW = timedelta(seconds=CREATED_SKEW)
_GO_ON = {"issue": ("paid", "void", "uncollectible"), "write_off": ("paid", "void")}
"""What may become of an invoice after the step of that name."""


class StripeLog:
    """Implements ``EffectLog``. The ``capability``'s key is lent for as long as Stripe is asked.

    Mails, cases, and what was done in the embedded system before, its log tells.
    """

    def __init__(self, capability: str) -> None:
        self._capability = capability
        self._house = EmbeddedLog()

    @ONCE.answering()
    def took_effect(
        self, tenant_id: UUID, since: datetime, until: datetime, keys: Collection[str]
    ) -> Sequence[TookEffect]:
        """Return what took effect in the period, and under ``keys`` at any time.

        Raises ToolFailure when Stripe does not answer, AUTH without a key for it, VALIDATION for more than is asked for
        at once.
        """
        found = {each.key: each for each in self._house.took_effect(tenant_id, since, until, keys)}
        writes = StripeWrite.objects.filter(tenant_id=tenant_id)
        of_period = Q(begun_at__gte=since, begun_at__lt=until)
        customers = set(writes.filter(of_period).values_list("customer_ref", flat=True))
        with lent(tenant_id, self._capability) as secret:
            asking = _Asking(opened(secret))
            made = by_key(asking.period(since, until, customers))
            wanted = {*keys, *found, *(key for key, objects in made.items() if _is_within(objects, since, until))}
            begun = {row.key: row for row in writes.filter(of_period)}
            for some in parts(wanted - set(begun)):
                begun |= {row.key: row for row in writes.filter(key__in=some)}
            for key, write in begun.items():
                # What the house recorded of a write at Stripe does not show that it is there.
                found.pop(key, None)
                made[key] = asking.shown(write, made.get(key, ()))
        for key in {*wanted, *begun} & set(made):
            row = begun.get(key)
            effect = traced(key, row.action, made[key], row.begun_at) if row else traced(key, "", made[key])
            if effect is not None:
                found[key] = effect
        return [found[key] for key in sorted(found)]


def _is_within(objects: Iterable[Obj], since: datetime, until: datetime) -> bool:
    return any(since <= known_moment(obj["created"]) < until for obj in objects)


class _Asking:
    """The requests of one comparison: each of them once, and not more than is bearable."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._asked = 0
        self._lists: dict[str, list[Obj]] = {}
        self._ones: dict[str, Obj | None] = {}

    def period(self, since: datetime, until: datetime, customers: Iterable[str]) -> list[Obj]:
        """Return what was made in a period and a little before and after it, with the balances of ``customers``."""
        span = {"gte": seconds_of(since - SKEW), "lt": seconds_of(until + SKEW)}
        found: list[Obj] = []
        for kind in KINDS:
            listed = self._account.listed(path_of(kind), MOST_LISTED, created=span)
            if len(listed) == MOST_LISTED:
                raise _too_much(f"{MOST_LISTED} {kind.replace('_', ' ')} or more")
            found += listed
        for customer in sorted(customers):
            entries = self._listed(path_of("customers", customer, "balance_transactions"), {}, since)
            found += [entry for entry in entries if span["gte"] <= entry["created"] < span["lt"]]
        return found

    def shown(self, row: StripeWrite, known: Iterable[Obj]) -> list[Obj]:
        """Return the objects that show what a write did: ``known`` ones, and what its steps are seen by."""
        found = {obj["id"]: obj for obj in known}
        for step in map(step_from, row.steps):
            path = filled(step.find.path, row.made)
            if "{" in path:
                continue  # It is about what an earlier step makes, which nobody saw made.
            if step.find.listed:
                if not any(metadata_of(obj).get(STEP) == step.name for obj in found.values()):
                    found |= _ours(row, self._listed(path, step.find.params, row.begun_at))
            elif step.decides and (one := self._one(path)) is not None and _shows(step, row, one):
                found[one["id"]] = one
                if step.name == "change" and not any(by_change(obj) for obj in found.values()):
                    since = {"gte": seconds_of(row.begun_at - SKEW)}
                    billed = self._listed(path_of("invoices"), {"subscription": one["id"], "created": since}, None)
                    found |= _ours(row, billed)
        return list(found.values())

    def _one(self, path: str) -> Obj | None:
        if path not in self._ones:
            self._count()
            self._ones[path] = self._account.one(path)
        return self._ones[path]

    def _listed(self, path: str, params: Mapping[str, Any], back_to: datetime | None) -> list[Obj]:
        """Return a list, the newest first. Raises ToolFailure when it is cut off before ``back_to``."""
        name = f"{path} {sorted(params.items())}"
        if name not in self._lists:
            self._count()
            self._lists[name] = self._account.listed(path, MOST_ENTRIES, **params)
        found = self._lists[name]
        if len(found) == MOST_ENTRIES and (back_to is None or known_moment(found[-1]["created"]) >= back_to - SKEW):
            raise _too_much(f"{MOST_ENTRIES} objects or more under {path}")
        return found

    def _count(self) -> None:
        self._asked += 1
        if self._asked > MOST_ASKED:
            raise _too_much(f"more than {MOST_ASKED} single writes to look up")


def _ours(row: StripeWrite, objects: Iterable[Obj]) -> dict[str, Obj]:
    return {obj["id"]: obj for obj in objects if key_of(obj) == row.key}


def _shows(step: Step, row: StripeWrite, obj: Obj) -> bool:
    """Return whether an object shows a step, or how it was once Stripe had answered that it was made."""
    if step.find.shown_by(obj, row.key, step.name):
        return True
    went_on = step.find.is_covered_by(obj) or obj.get("status") in _GO_ON.get(step.name, ())
    return went_on and step.name in row.made


def _too_much(what: str) -> ToolFailure:
    return ToolFailure(FailureKind.VALIDATION, f"Stripe has {what}: compare a shorter period.")
