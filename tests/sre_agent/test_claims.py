"""One incident at a time works on a service or node."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import ToolFailure
from sre_agent.connectors import claiming
from sre_agent.models import Claim
from tests.factories.sre import NOW, at_once, make_tenant

CHECKOUT = "service:checkout"
MINUTE = timedelta(minutes=1)


@pytest.mark.django_db
def test_a_claim_stands_for_half_an_hour_and_grows_with_the_next_write() -> None:
    tenant = make_tenant()
    claiming.take(tenant.pk, CHECKOUT, "INC-1", NOW)
    claiming.take(tenant.pk, CHECKOUT, "INC-1", NOW + 10 * MINUTE)

    claim = claiming.standing(tenant.pk, CHECKOUT, NOW + 39 * MINUTE)
    assert claim is not None
    assert (claim.incident_ref, claim.since, claim.until) == ("INC-1", NOW, NOW + 40 * MINUTE)
    assert claiming.standing(tenant.pk, CHECKOUT, NOW + 40 * MINUTE) is None


@pytest.mark.django_db
def test_a_clock_that_runs_behind_shortens_no_claim() -> None:
    tenant = make_tenant()
    claiming.take(tenant.pk, CHECKOUT, "INC-1", NOW)
    claiming.take(tenant.pk, CHECKOUT, "INC-1", NOW - 5 * MINUTE)
    assert Claim.objects.get().until == NOW + 30 * MINUTE


@pytest.mark.django_db
def test_another_incident_is_refused_until_the_claim_is_over_or_given_back() -> None:
    tenant = make_tenant()
    claiming.take(tenant.pk, CHECKOUT, "INC-1", NOW)

    with pytest.raises(ToolFailure) as refused:
        claiming.take(tenant.pk, CHECKOUT, "INC-2", NOW + 29 * MINUTE)
    assert refused.value.kind is FailureKind.CONFLICT
    assert refused.value.message == f"{CHECKOUT} is being worked on for incident INC-1 until 09:30 UTC."

    claiming.take(tenant.pk, CHECKOUT, "INC-2", NOW + 30 * MINUTE)
    claiming.give_back(tenant.pk, "INC-2", NOW + 31 * MINUTE)
    claiming.take(tenant.pk, CHECKOUT, "INC-3", NOW + 31 * MINUTE)
    claim = Claim.objects.get()
    assert (claim.incident_ref, claim.since) == ("INC-3", NOW + 31 * MINUTE)


@pytest.mark.django_db
def test_giving_back_leaves_what_others_hold() -> None:
    tenant, other = make_tenant(), make_tenant("south")
    for owner, target, incident in (
        (tenant, CHECKOUT, "INC-1"),
        (tenant, "node:n1", "INC-1"),
        (tenant, "service:cart", "INC-2"),
        (other, CHECKOUT, "INC-1"),
    ):
        claiming.take(owner.pk, target, incident, NOW)
    claiming.give_back(tenant.pk, "INC-1", NOW)

    left = Claim.objects.filter(until__gt=NOW).order_by("id").values_list("tenant__slug", "target")
    assert list(left) == [("shop", "service:cart"), ("south", CHECKOUT)]


@pytest.mark.django_db
def test_nobody_claims_for_no_incident() -> None:
    with pytest.raises(ToolFailure, match="Only an incident"):
        claiming.take(make_tenant().pk, CHECKOUT, "", NOW)
    assert not Claim.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("used_before", [False, True])
def test_of_incidents_that_claim_at_once_one_wins(used_before: bool) -> None:
    tenant = make_tenant()
    if used_before:
        claiming.take(tenant.pk, CHECKOUT, "INC-0", NOW - timedelta(hours=1))

    def claims(incident: str) -> Callable[[], str]:
        def act() -> str:
            try:
                with transaction.atomic():
                    claiming.take(tenant.pk, CHECKOUT, incident, NOW)
            except ToolFailure as refused:
                return refused.kind.value
            return incident

        return act

    came_to = at_once([claims(f"INC-{number}") for number in range(1, 9)])
    assert came_to.count("CONFLICT") == 7
    assert [Claim.objects.get().incident_ref] == [each for each in came_to if each != "CONFLICT"]
