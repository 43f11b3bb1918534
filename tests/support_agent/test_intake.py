"""Where work comes from: who a sender is, what waits, and what may be typed in."""

from datetime import timedelta

import pytest
from django.db import transaction

from agentops.kernel.clock import utcnow
from agentops.registry.incoming import BadIntake
from agentops.registry.role import Intake
from agentops.tenancy.models import Tenant
from support_agent.intake import load_subject, open_subject, take_subjects, waiting_subjects
from support_agent.models import Customer, Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return Tenant.objects.create(slug="north", name="North Goods")


def make_customer(tenant: Tenant, ref: str, email: str) -> Customer:
    address = {"address1": "1 A Street", "city": "Troy", "state": "NY", "country": "USA", "zip": "12180"}
    return Customer.objects.create(tenant=tenant, ref=ref, first_name="A", last_name="B", email=email, **address)


def make_ticket(tenant: Tenant, ref: str, *, minutes: int = 0, sender: str = "a@b.example", **more: object) -> Ticket:
    received_at = utcnow() - timedelta(minutes=minutes)
    values = {"sender": sender, "subject": "Hi", "body": "Text", "received_at": received_at, "source_key": ref, **more}
    return Ticket.objects.create(tenant=tenant, ref=ref, **values)


@pytest.mark.parametrize(
    ("sender", "found"),
    [
        ("ann@b.example", "c-1"),
        ("Ann@B.Example", "c-1"),
        ("ann@b.example.evil.example", None),
        ("xann@b.example", None),
        ("ann+1@b.example", None),
        ("twin@b.example", None),
        ("%@b.example", None),
    ],
)
def test_the_customer_is_whoever_has_exactly_that_address(tenant: Tenant, sender: str, found: str | None) -> None:
    make_customer(tenant, "c-1", "ANN@b.example")
    make_customer(tenant, "c-2", "twin@b.example")
    make_customer(tenant, "c-3", "TWIN@b.example")
    make_ticket(tenant, "T-1", sender=sender)
    subject = load_subject(tenant.id, "T-1")
    assert subject is not None
    assert subject.customer_id == found
    assert (subject.kind, subject.id, subject.text, subject.sender) == ("ticket", "T-1", "Text", sender)


def test_a_customer_of_another_tenant_is_nobody_here(tenant: Tenant) -> None:
    other = Tenant.objects.create(slug="south", name="South Goods")
    make_customer(other, "c-1", "ann@b.example")
    make_ticket(tenant, "T-1", sender="ann@b.example")
    subject = load_subject(tenant.id, "T-1")
    assert subject is not None
    assert subject.customer_id is None
    assert load_subject(other.id, "T-1") is None
    assert load_subject(tenant.id, "T-2") is None


def test_waiting_tickets_come_oldest_first_and_only_open_untaken_ones(tenant: Tenant) -> None:
    make_ticket(tenant, "T-new", minutes=1)
    make_ticket(tenant, "T-old", minutes=9)
    make_ticket(tenant, "T-done", minutes=20, status="answered")
    make_ticket(tenant, "T-begun", minutes=20, taken_at=utcnow())
    make_ticket(Tenant.objects.create(slug="south", name="South"), "T-other", minutes=30)
    assert [subject.id for subject in waiting_subjects(tenant.id, 10)] == ["T-old", "T-new"]
    assert [subject.id for subject in waiting_subjects(tenant.id, 1)] == ["T-old"]


def test_taken_tickets_are_taken_once(tenant: Tenant) -> None:
    for number in range(5):
        make_ticket(tenant, f"T-{number}", minutes=10 - number)
    with transaction.atomic():
        assert [subject.id for subject in take_subjects(tenant.id, 3)] == ["T-0", "T-1", "T-2"]
        assert [subject.id for subject in take_subjects(tenant.id, 3)] == ["T-3", "T-4"]
        assert take_subjects(tenant.id, 3) == []
    assert waiting_subjects(tenant.id, 10) == []


@pytest.mark.parametrize("count", [1, 30])
def test_taking_needs_the_same_number_of_queries(tenant: Tenant, count: int, django_assert_num_queries: object) -> None:
    for number in range(count):
        make_ticket(tenant, f"T-{number}", sender=f"a{number}@b.example")
    with django_assert_num_queries(3):  # type: ignore[operator]
        assert len(take_subjects(tenant.id, 50)) == count


def test_a_typed_request_is_recorded_and_does_not_wait(tenant: Tenant) -> None:
    make_customer(tenant, "c-1", "ann@b.example")
    ref = open_subject(tenant.id, Intake(" Ann@b.example ", " Two\nlines ", " Where is it? "))
    subject = load_subject(tenant.id, ref)
    assert subject is not None
    assert (subject.title, subject.text, subject.customer_id) == ("Two lines", "Where is it?", "c-1")
    assert waiting_subjects(tenant.id, 10) == []
    assert open_subject(tenant.id, Intake("ann@b.example", "", "Where is it?")) != ref


@pytest.mark.parametrize(
    ("sender", "title", "text", "words"),
    [
        ("nobody", "t", "x", "not an e-mail address"),
        ("a@b.example\n", "t", "", "no text"),
        ("a@b.example", "t", " ", "no text"),
        ("a@b.example", "t", "é" * 60_000, "longer than"),
        ("a@b.example", "t\x00", "x", "cannot be stored"),
        ("a@b.example", "t", "x\ud800", "cannot be stored"),
        ("a\x00@b.example", "t", "x", "not an e-mail address"),
    ],
)
def test_a_request_that_cannot_be_recorded_is_refused(
    tenant: Tenant, sender: str, title: str, text: str, words: str
) -> None:
    with pytest.raises(BadIntake, match=words):
        open_subject(tenant.id, Intake(sender, title, text))
    assert Ticket.objects.count() == 0
