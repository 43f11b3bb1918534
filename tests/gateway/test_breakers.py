"""The breakers that all workers share: who is let through, what is written, and what the ledger says of it."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from agentops.gateway.breaker import BreakerState
from agentops.gateway.breakers import (
    Breakers,
    NothingToReset,
    ToolOff,
    breaker_id,
    breakers_of,
    report_failure,
    report_success,
    reset_breaker,
)
from agentops.gateway.models import Breaker
from agentops.kernel.errors import FailureKind
from agentops.kernel.ids import derived_id
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.tenancy.models import EVERYBODY, Switchboard, Tenant
from tests.gateway.conftest import at_once

NAME = "tool:look"


def fail(tenant_id: UUID | None, times: int = 1, name: str = NAME, retry_after: float | None = None) -> None:
    for _ in range(times):
        report_failure(
            tenant_id=tenant_id,
            name=name,
            kind=FailureKind.UNAVAILABLE,
            words="The vendor is down.",
            retry_after=retry_after,
        )


def known(tenant: Tenant) -> Breakers:
    return Breakers(tenant.pk, breakers_of(tenant.pk))


def let_time_pass() -> None:
    """Move what an open breaker waits for into the past."""
    past = timezone.now() - timedelta(seconds=1)
    Breaker.objects.filter(state="open").update(retry_at=past)
    Breaker.objects.filter(state="half_open").update(probe_until=past)


def told(tenant_id: UUID, name: str = NAME) -> list[str]:
    stream = derived_id(str(tenant_id), f"breaker:{name}")
    return list(LedgerEvent.objects.filter(stream=stream).order_by("position").values_list("type", flat=True))


def test_what_works_costs_no_query(tenant: Tenant, django_assert_num_queries) -> None:
    breakers = known(tenant)
    with django_assert_num_queries(0):
        breakers.admit(NAME).worked()
        breakers.admit(NAME).failed(FailureKind.VALIDATION, "No such account.")
    assert not Breaker.objects.exists()


def test_five_failures_turn_a_tool_off_for_every_worker_of_the_tenant(tenant: Tenant) -> None:
    other = Tenant.objects.create(slug="south", name="South Goods")
    fail(tenant.pk, 4)
    known(tenant).admit(NAME)
    fail(tenant.pk)
    with pytest.raises(ToolOff) as off:
        known(tenant).admit(NAME)
    assert off.value.kind is FailureKind.UNAVAILABLE
    assert off.value.retry_after == pytest.approx(30, abs=5)
    assert off.value.message.startswith("look kept failing and is off until ")
    assert known(tenant).off(NAME) is not None
    assert known(tenant).off("tool:pay") is None
    assert known(other).off(NAME) is None
    row = Breaker.objects.get()
    assert (row.state, row.last_code, row.last_words) == ("open", "UNAVAILABLE", "The vendor is down.")
    assert told(tenant.pk) == ["breaker.opened"]
    event = LedgerEvent.objects.get(type="breaker.opened")
    assert (event.actor, event.facts["code"], event.facts["failures"]) == ("gateway", "UNAVAILABLE", 5)
    assert payload_of(event.stream, 0) == {"words": "The vendor is down."}


def test_success_in_between_is_reported_only_when_something_was_counted(
    tenant: Tenant, django_assert_num_queries
) -> None:
    fail(tenant.pk, 4)
    known(tenant).admit(NAME).worked()
    assert Breaker.objects.get().failures == 0
    breakers = known(tenant)
    with django_assert_num_queries(0):
        breakers.admit(NAME).worked()
    assert told(tenant.pk) == []


def test_probe_that_works_closes_and_one_that_fails_opens_for_longer(tenant: Tenant) -> None:
    fail(tenant.pk, 5)
    let_time_pass()
    known(tenant).admit(NAME).failed(FailureKind.TIMEOUT, "Too slow.")
    row = Breaker.objects.get()
    assert (row.state, row.opened, row.last_code) == ("open", 2, "TIMEOUT")
    assert row.retry_at is not None
    assert (row.retry_at - timezone.now()).total_seconds() == pytest.approx(60, abs=5)
    let_time_pass()
    known(tenant).admit(NAME).worked()
    row.refresh_from_db()
    assert (row.state, row.failures, row.opened, row.retry_at) == ("closed", 0, 0, None)
    assert told(tenant.pk) == ["breaker.opened", "breaker.opened", "breaker.closed"]


def test_nobody_else_is_let_through_while_the_probe_is_out_until_it_is_given_up(tenant: Tenant) -> None:
    fail(tenant.pk, 5)
    let_time_pass()
    stale = known(tenant)
    lost = known(tenant).admit(NAME)
    for breakers in (stale, known(tenant)):
        with pytest.raises(ToolOff) as off:
            breakers.admit(NAME)
        assert off.value.retry_after == pytest.approx(5, abs=1)
    let_time_pass()
    newer = known(tenant).admit(NAME)
    lost.failed(FailureKind.UNAVAILABLE, "Too late to count.")
    assert Breaker.objects.get().state == "half_open"
    lost.worked()
    assert Breaker.objects.get().state == "half_open"
    newer.worked()
    assert Breaker.objects.get().state == "closed"


def test_worker_that_still_believes_it_open_goes_on_when_it_has_closed(tenant: Tenant) -> None:
    fail(tenant.pk, 5)
    let_time_pass()
    stale = known(tenant)
    known(tenant).admit(NAME).worked()
    assert stale.admit(NAME).probe is None


def test_refused_probe_closes(tenant: Tenant) -> None:
    fail(tenant.pk, 5)
    let_time_pass()
    known(tenant).admit(NAME).failed(FailureKind.NOT_FOUND, "No such account.")
    assert Breaker.objects.get().state == "closed"


def test_longer_wish_of_a_provider_holds_for_every_tenant(tenant: Tenant) -> None:
    fail(None, 5, "provider:openai", retry_after=120.0)
    for tenant_id in (tenant.pk, UUID(int=9)):
        off = Breakers(tenant_id, breakers_of(tenant_id)).off("provider:openai")
        assert off is not None
        assert off.retry_after == pytest.approx(120, abs=5)
    assert told(EVERYBODY, "provider:openai") == ["breaker.opened"]
    assert known(tenant).off("tool:openai") is None


def test_person_resets_a_breaker_and_the_ledger_names_them(tenant: Tenant) -> None:
    fail(tenant.pk, 5)
    pk = breaker_id(tenant.pk, NAME)
    assert reset_breaker(breaker_id=pk, actor="user:bob").state is BreakerState.CLOSED
    assert known(tenant).admit(NAME).probe is None
    assert told(tenant.pk) == ["breaker.opened", "breaker.reset"]
    event = LedgerEvent.objects.get(type="breaker.reset")
    assert (event.actor, event.facts) == ("user:bob", {"was": "open", "failures": 5, "opened": 1})
    for nothing in (pk, UUID(int=1)):
        with pytest.raises(NothingToReset):
            reset_breaker(breaker_id=nothing, actor="user:bob")


def test_words_that_cannot_be_recorded_are_recorded_as_far_as_they_can(tenant: Tenant) -> None:
    for _ in range(5):
        report_failure(tenant_id=tenant.pk, name=NAME, kind=FailureKind.UNKNOWN, words="\x00\ud800" + "long " * 10_000)
    assert told(tenant.pk) == ["breaker.opened"]
    assert "cut" in Breaker.objects.get().last_words


@pytest.mark.django_db(transaction=True)
def test_of_twenty_workers_one_probes(tenant: Tenant) -> None:
    fail(tenant.pk, 5)
    let_time_pass()

    def admit() -> str:
        try:
            return "let" if known(tenant).admit(NAME).probe is None else "probe"
        except ToolOff:
            return "off"

    assert Counter(at_once(admit, 20)) == {"probe": 1, "off": 19}


@pytest.mark.django_db(transaction=True)
def test_twenty_failures_at_once_open_it_once_and_are_all_counted_until_then(tenant: Tenant) -> None:
    at_once(lambda: fail(tenant.pk), 20)
    row = Breaker.objects.get()
    assert (row.state, row.opened) == ("open", 1)
    assert told(tenant.pk) == ["breaker.opened"]


@pytest.mark.django_db(transaction=True)
def test_reports_and_resets_at_once_leave_a_breaker_that_makes_sense(tenant: Tenant) -> None:
    fail(tenant.pk, 5)
    let_time_pass()
    pk = breaker_id(tenant.pk, NAME)

    def anything() -> None:
        with suppress(ToolOff, NothingToReset):
            admitted = known(tenant).admit(NAME)
            fail(tenant.pk)
            admitted.worked()
            report_success(tenant_id=tenant.pk, name=NAME)
            reset_breaker(breaker_id=pk, actor="user:bob")

    at_once(anything, 12)
    row = Breaker.objects.get()
    assert (row.state == "open") == (row.retry_at is not None)
    assert (row.state == "half_open") == (row.probe_until is not None)


@pytest.mark.django_db(transaction=True)
def test_opening_and_closing_raise_the_epoch(tenant: Tenant) -> None:
    epochs = [Switchboard.objects.get().epoch]
    fail(tenant.pk, 5)
    epochs.append(Switchboard.objects.get().epoch)
    let_time_pass()
    known(tenant).admit(NAME).worked()
    epochs.append(Switchboard.objects.get().epoch)
    assert epochs == sorted(set(epochs))
