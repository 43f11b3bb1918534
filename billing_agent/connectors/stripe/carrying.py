"""Carries the steps of a write out, each of them once, and finds out what became of one whose answer was lost."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import stripe
from django.db.models import Q

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from billing_agent.connectors.stripe.charges import decline_code
from billing_agent.connectors.stripe.door import Account
from billing_agent.connectors.stripe.errors import failure_of, is_unknown, write_failure_of
from billing_agent.connectors.stripe.objects import Obj, path_of, ref_of
from billing_agent.connectors.stripe.step import Step, filled, step_from, sub_key
from billing_agent.models import StripeWrite

REMEMBERS = timedelta(hours=23)
"""So long an idempotency key proves something: Stripe forgets it after 24 hours."""
MOST_FOUND = 300
HOLD = timedelta(seconds=90)
"""Longer than any request takes with its answer."""
WAIT_SECONDS = 15.0
_PAUSE = 0.1
ASKED = "agentops_asked"
DECLINED = "declined"


@contextmanager
def held(tenant_id: UUID, key: str) -> Iterator[None]:
    """Work on a write alone. Waits a while for whoever does; then raises OutcomeUnknown."""
    mine = uuid.uuid4()
    row = StripeWrite.objects.filter(tenant_id=tenant_id, key=key)
    until = time.monotonic() + WAIT_SECONDS
    while not row.filter(Q(held_until=None) | Q(held_until__lte=utcnow())).update(
        held_by=mine, held_until=utcnow() + HOLD
    ):
        if time.monotonic() >= until or not row.exists():
            raise OutcomeUnknown("Another call with this key is under way, or just ended.")
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        row.filter(held_by=mine).update(held_by=None, held_until=None)


class Carrier:
    """The steps of one write that is held. ``row`` is kept as it is in the database."""

    def __init__(self, account: Account, row: StripeWrite) -> None:
        self.account = account
        self.row = row
        self.steps = tuple(step_from(kept) for kept in row.steps)

    @property
    def has_effect(self) -> bool:
        """Whether a step was made that decides."""
        return any(step.decides and step.name in self.row.made for step in self.steps)

    def go_on(self) -> None:
        """Make the steps that are still to be made, in their order.

        Raises ToolFailure when the write certainly has no effect, OutcomeUnknown when it may have, or has a part of it.
        """
        for step in self.steps:
            if step.name not in self.row.made:
                self._hold()
                self._keep(step, self._made(step))

    def is_free(self) -> bool:
        """Ask Stripe what became of the write; True when it certainly had no effect, and will not have one any more.

        What was only prepared stays, so that the write can go on from there. Raises ToolFailure when Stripe does not
        say.
        """
        for step in self.steps:
            if step.name in self.row.made:
                continue
            self._hold()
            found = self._found(step)
            if found is None and self._is_spent(step):
                # Its key was used, so that sending it again does nothing new: it tells what was answered.
                found = self._found(step) or self._replayed(step)
            if found is None:
                # The key of this step is used up, whatever comes of the write.
                self.row.attempt += 1
                break
            self._keep(step, found)
        self.row.save(update_fields=["attempt"])
        return not self.has_effect

    @property
    def is_prepared(self) -> bool:
        """Whether something was made that the write can go on from: it decides nothing, and is not too old."""
        return bool(self.row.made) and not self._is_forgotten()

    def _made(self, step: Step) -> dict[str, Any]:
        try:
            found = self._found(step) if self._is_forgotten() else None
            return found or self._told(step, self._sent(step))
        except stripe.CardError as error:
            if step.may_decline:
                return self._declined(step, error)
            raise self._failure(failure_of(error)) from error
        except stripe.StripeError as error:
            raise self._failure(write_failure_of(error)) from error
        except ToolFailure as failure:
            raise OutcomeUnknown(f"Stripe's answer cannot be used: {failure.message}") from failure

    def _failure(self, failure: ToolFailure | OutcomeUnknown) -> ToolFailure | OutcomeUnknown:
        """A refusal after an earlier step had its effect is not nothing."""
        if isinstance(failure, ToolFailure) and self.has_effect:
            return OutcomeUnknown(f"A part of it was done; then: {failure.message}")
        return failure

    def _sent(self, step: Step) -> Obj:
        return self.account.send(step.method, filled(step.path, self.row.made), step.params, self._key(step))

    def _replayed(self, step: Step) -> dict[str, Any] | None:
        """Return what Stripe answered to a step whose key was used, None when it was refused."""
        try:
            return self._told(step, self._sent(step))
        except stripe.CardError as error:
            return self._declined(step, error) if step.may_decline else None
        except stripe.StripeError as error:
            if is_unknown(error):
                raise ToolFailure(FailureKind.UNAVAILABLE, "Stripe does not say yet what became of it.") from error
            return None

    def _told(self, step: Step, obj: Obj) -> dict[str, Any]:
        if step.find.take != "id" and step.find.take in obj:
            return {"id": ref_of(obj[step.find.take])}
        return {"id": obj["id"]}

    def _declined(self, step: Step, error: stripe.CardError) -> dict[str, Any]:
        """Return what an issuer's answer is kept as: the reason, and the charge, or the intent when it made none."""
        told = error.json_body.get("error", {}) if isinstance(error.json_body, dict) else {}
        intent = told.get("payment_intent") or {}
        charge = ref_of(told.get("charge")) or ref_of(intent.get("latest_charge")) or ref_of(intent)
        return {"id": charge, DECLINED: decline_code(told.get("decline_code"), told.get("code"))}

    def _found(self, step: Step) -> dict[str, Any] | None:
        """Return what a step made, as its object tells, None when nothing shows it."""
        find = step.find
        path = filled(find.path, self.row.made)
        if find.listed:
            objects = self.account.listed(path, MOST_FOUND, **find.params)
        else:
            one = self.account.one(path)
            objects = [] if one is None else [one]
        # The oldest: Stripe may try an invoice again by itself, with the metadata that we left there.
        shown = next((obj for obj in reversed(objects) if find.shown_by(obj, self.row.key, step.name)), None)
        if shown is None:
            if self._is_forgotten() and any(find.is_covered_by(obj) for obj in objects):
                raise ToolFailure(FailureKind.CONFLICT, "Something else was changed since; a person has to look.")
            return None
        found: dict[str, Any] = {"id": ref_of(shown[find.take])}
        if shown.get("object") == "charge" and shown.get("status") == "failed":
            reason = (shown.get("outcome") or {}).get("reason")
            found[DECLINED] = decline_code(reason, shown.get("failure_code"))
        return found

    def _is_spent(self, step: Step) -> bool:
        """Spend a step's idempotency key on an update that changes nothing; True when it was spent before.

        From then on Stripe refuses the step under that key, should it still be on its way. Where that cannot be done, a
        request is waited for as long as one takes. After Stripe has forgotten the key, nothing is under way any more.
        """
        if self._is_forgotten():
            return False
        told = {"metadata": {ASKED: str(int(utcnow().timestamp()))}}
        try:
            if step.method == "post":
                self.account.send("post", path_of("customers", self.row.customer_ref), told, self._key(step))
                return False
        except stripe.IdempotencyError:
            return True
        except stripe.InvalidRequestError:
            pass  # A deleted customer takes no update.
        except stripe.StripeError as error:
            if getattr(error, "http_status", None) == 409:
                return True
            raise failure_of(error) from error
        if self._age() < HOLD:
            raise ToolFailure(FailureKind.UNAVAILABLE, "The request may still be on its way.")
        return False

    def _key(self, step: Step) -> str:
        return sub_key(str(self.row.tenant_id), self.row.key, step.name, self.row.attempt)

    def _age(self) -> timedelta:
        return utcnow() - self.row.begun_at

    def _is_forgotten(self) -> bool:
        return self._age() > REMEMBERS

    def _keep(self, step: Step, made: dict[str, Any]) -> None:
        self.row.made = {**self.row.made, step.name: made}
        self.row.save(update_fields=["made"])

    def _hold(self) -> None:
        StripeWrite.objects.filter(pk=self.row.pk).exclude(held_by=None).update(held_until=utcnow() + HOLD)


def begun(row: StripeWrite, steps: tuple[Step, ...], told: dict[str, Any], now: datetime) -> StripeWrite:
    """Freeze the steps of a write before the first one is made."""
    row.steps = [step.as_json() for step in steps]
    row.told, row.made, row.begun_at = told, {}, now
    row.save(update_fields=["steps", "told", "made", "begun_at"])
    return row
