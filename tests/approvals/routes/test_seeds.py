"""What the demo has of routing: added once, and nothing that is there is changed."""

import pytest
from pytest_django.fixtures import Settings

from agentops.tenancy.models import Role, Tenant
from approvals.access import rights_of
from approvals.models import ApprovalQueue, Detector, OnCallShift, Rung, ToolRoute
from approvals.seeds import seed_demo
from tests.factories.cases import open_request
from tests.factories.people import make_person, make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant(settings: Settings) -> Tenant:
    roles = {"approver": Role.APPROVER, "admin": Role.ADMIN, "support": Role.SUPPORT}
    settings.DEMO_ACCOUNTS = [{"name": name, "password": "x", "role": role} for name, role in roles.items()]
    tenant = Tenant.objects.create(slug="demo", name="Demo", timezone="Europe/Vienna")
    make_queue(tenant, "payments")
    for name, role in roles.items():
        make_person(name, tenant, role)
    seed_demo()
    return tenant


def person(name: str) -> object:
    return ApprovalQueue.objects.get(slug="payments").tenant.memberships.get(user__username=name).user


def test_each_account_has_the_rights_of_its_role_in_every_queue(tenant: Tenant) -> None:
    every = frozenset(ApprovalQueue.objects.values_list("pk", flat=True))
    assert len(every) == 2
    rights = {name: rights_of(person(name)) for name in ("approver", "admin", "support")}  # type: ignore[arg-type]
    assert rights["approver"].decide == every
    assert (rights["admin"].manage, rights["admin"].decide) == (every, frozenset())
    assert (rights["support"].see, rights["support"].manage) == (every, frozenset())


def test_delicate_requests_go_to_a_queue_of_their_own(tenant: Tenant) -> None:
    assert open_request(tenant.pk, subject_text="You will hear from my lawyer").queue.slug == "compliance"
    assert open_request(tenant.pk, subject_text="Card 4111 1111 1111 1111").queue.slug == "compliance"
    assert open_request(tenant.pk, tags=("orders", "addresses")).queue.slug == "compliance"
    assert open_request(tenant.pk, tags=("money",)).queue.slug == "payments"


def test_seeding_again_changes_nothing(tenant: Tenant) -> None:
    Detector.objects.filter(name="Personal data").delete()
    ApprovalQueue.objects.filter(slug="compliance").update(name="Mine")
    counts = [model.objects.count() for model in (Detector, Rung, ToolRoute, OnCallShift, ApprovalQueue)]
    seed_demo()
    assert counts == [model.objects.count() for model in (Detector, Rung, ToolRoute, OnCallShift, ApprovalQueue)]
    assert ApprovalQueue.objects.get(slug="compliance").name == "Mine"
