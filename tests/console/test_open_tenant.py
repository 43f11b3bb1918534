"""``manage.py open_tenant``: what is there afterwards, twice, and what is refused with nothing changed."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent, Stream
from agentops.registry.roles import all_roles
from agentops.tenancy.models import Membership, Tenant
from approvals.models import ApprovalQueue

pytestmark = pytest.mark.django_db


def told(slug: str = "north", name: str = "North Goods", **options: object) -> str:
    out = StringIO()
    call_command("open_tenant", slug, name=name, stdout=out, **{"role": ["support"], **options})
    return out.getvalue()


def state() -> tuple[object, ...]:
    return (
        list(Tenant.objects.values_list("slug", "name", "timezone")),
        list(Agent.objects.values_list("tenant__slug", "role", "name")),
        sorted(ApprovalQueue.objects.values_list("tenant__slug", "slug")),
        LedgerEvent.objects.count(),
    )


def test_opens_a_tenant_with_an_agent_and_its_queues() -> None:
    output = told(timezone="Europe/Berlin")
    assert state() == (
        [("north", "North Goods", "Europe/Berlin")],
        [("north", "support", "Support agent")],
        [("north", "orders"), ("north", "refunds")],
        2,
    )
    assert "North Goods (north, Europe/Berlin) is open.\nAgents made: Support agent.\n" in output
    assert "each of Refunds and credits, Orders and replies: open Object permissions" in output
    assert Membership.objects.count() == 0


def test_without_a_role_every_role_gets_an_agent() -> None:
    told(role=None)
    assert sorted(Agent.objects.values_list("role", flat=True)) == sorted(role.name for role in all_roles())


def test_opening_is_on_record() -> None:
    told()
    tenant = Tenant.objects.get()
    event = LedgerEvent.objects.get(stream=Stream.objects.get(name=f"tenant:{tenant.pk}").pk)
    assert (event.type, event.actor, event.refs) == (
        "config.added",
        "command:open_tenant",
        {"object": str(tenant.pk)},
    )
    assert event.facts["changes"] == {"slug": ["", "north"], "name": ["", "North Goods"], "timezone": ["", "UTC"]}


def test_a_second_run_changes_nothing() -> None:
    told(timezone="Europe/Berlin")
    before = state()
    output = told()
    assert state() == before
    assert "was there already.\nAgents made: none.\n" in output


def test_a_second_run_adds_what_is_missing() -> None:
    told()
    ApprovalQueue.objects.filter(slug="orders").delete()
    told()
    assert state()[2] == [("north", "orders"), ("north", "refunds")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"slug": "no slug"}, "'no slug' is no slug. Use letters, digits"),
        ({"slug": ""}, "'' is no slug."),
        ({"slug": "x" * 51}, "is no slug."),
        ({"name": " "}, "The name must have 1 to 120 printable characters."),
        ({"name": "x" * 121}, "The name must have 1 to 120"),
        ({"name": "North\udc80"}, "The name must have 1 to 120"),
        ({"role": ["support", "pilot"]}, "There is no role 'pilot'; this installation has support"),
        ({"timezone": "Mars/Olympus"}, "There is no time zone 'Mars/Olympus'. Use an IANA name"),
        ({"timezone": "../UTC"}, "There is no time zone '../UTC'."),
    ],
)
def test_what_cannot_be_opened_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(CommandError) as refused:
        told(**options)  # type: ignore[arg-type]
    assert words in str(refused.value)
    assert state() == ([], [], [], 0)


@pytest.mark.parametrize("options", [{"name": "Another"}, {"timezone": "Asia/Tokyo"}])
def test_a_tenant_that_differs_is_not_changed(options: dict[str, str]) -> None:
    told()
    before = state()
    with pytest.raises(CommandError, match="is there already, as 'North Goods' in UTC"):
        told(**options)
    assert state() == before


def test_an_agent_of_another_role_with_that_name_is_in_the_way() -> None:
    Agent.objects.create(
        tenant=Tenant.objects.create(slug="north", name="North Goods"), role="other", name="Support agent"
    )
    with pytest.raises(CommandError, match="an agent of another role that is called 'Support agent'"):
        told()
    assert ApprovalQueue.objects.count() == 0
