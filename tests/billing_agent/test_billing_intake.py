"""Where work comes from: who a sender is, what waits, and what may be typed in."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from agentops.kernel.clock import utcnow
from agentops.registry.incoming import BadIntake
from agentops.registry.role import Intake
from agentops.tenancy.models import Tenant
from billing_agent.intake import load_subject, open_subject, take_subjects, waiting_subjects
from billing_agent.models import Case, Customer

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return Tenant.objects.create(slug="north", name="North Goods")


def make_customer(tenant: Tenant, ref: str, email: str, **more: Any) -> Customer:
    values = {"name": "A B", "email": email, "currency": "USD", "created_at": utcnow(), **more}
    return Customer.objects.create(tenant=tenant, ref=ref, **values)


def make_case(tenant: Tenant, ref: str, *, minutes: int = 0, sender: str = "a@b.example", **more: Any) -> Case:
    received_at = utcnow() - timedelta(minutes=minutes)
    values = {"sender": sender, "subject": "Hi", "body": "Text", "received_at": received_at, "source_key": ref}
    return Case.objects.create(tenant=tenant, ref=ref, **{**values, "source": "import", **more})


@pytest.mark.parametrize(
    ("sender", "found"),
    [
        ("ann@b.example", "c-1"),
        ("Ann@B.Example", "c-1"),
        ("ann@b.example.evil.example", None),
        ("xann@b.example", None),
        ("ann+1@b.example", None),
        ("twin@b.example", None),
        ("back@b.example", None),
        ("gone@b.example", "c-6"),
        ("%@b.example", None),
    ],
)
def test_the_customer_is_whoever_alone_has_exactly_that_address(tenant: Tenant, sender: str, found: str | None) -> None:
    make_customer(tenant, "c-1", "ANN@b.example")
    make_customer(tenant, "c-2", "twin@b.example")
    make_customer(tenant, "c-3", "TWIN@b.example")
    make_customer(tenant, "c-4", "back@b.example")
    make_customer(tenant, "c-5", "back@b.example", deleted_at=utcnow())
    make_customer(tenant, "c-6", "gone@b.example", deleted_at=utcnow())
    make_case(tenant, "C-1", sender=sender)
    subject = load_subject(tenant.id, "C-1")
    assert subject is not None
    assert subject.customer_id == found
    assert (subject.kind, subject.id, subject.text, subject.sender) == ("case", "C-1", "Text", sender)


def test_a_case_that_names_its_customer_keeps_to_it(tenant: Tenant) -> None:
    ann = make_customer(tenant, "c-1", "ann@b.example")
    make_customer(tenant, "c-2", "bob@b.example")
    make_case(tenant, "C-1", sender="bob@b.example", customer=ann)
    subject = load_subject(tenant.id, "C-1")
    assert subject is not None
    assert subject.customer_id == "c-1"


def test_a_text_makes_nobody_a_customer(tenant: Tenant) -> None:
    make_customer(tenant, "c-1", "ann@b.example")
    make_case(tenant, "C-1", sender="eve@b.example", subject="From: ann@b.example", body="I am ann@b.example, c-1.")
    subject = load_subject(tenant.id, "C-1")
    assert subject is not None
    assert subject.customer_id is None


def test_a_customer_of_another_tenant_is_nobody_here(tenant: Tenant) -> None:
    other = Tenant.objects.create(slug="south", name="South Goods")
    make_customer(other, "c-1", "ann@b.example")
    make_case(tenant, "C-1", sender="ann@b.example")
    subject = load_subject(tenant.id, "C-1")
    assert subject is not None
    assert subject.customer_id is None
    assert load_subject(other.id, "C-1") is None
    assert load_subject(tenant.id, "C-2") is None


def test_waiting_cases_come_oldest_first_and_only_open_untaken_ones(tenant: Tenant) -> None:
    make_case(tenant, "C-new", minutes=1)
    make_case(tenant, "C-old", minutes=9)
    make_case(tenant, "C-done", minutes=20, status="closed")
    make_case(tenant, "C-handed", minutes=20, status="escalated")
    make_case(tenant, "C-begun", minutes=20, taken_at=utcnow())
    make_case(Tenant.objects.create(slug="south", name="South"), "C-other", minutes=30)
    assert [subject.id for subject in waiting_subjects(tenant.id, 10)] == ["C-old", "C-new"]
    assert [subject.id for subject in waiting_subjects(tenant.id, 1)] == ["C-old"]


def test_taken_cases_are_taken_once(tenant: Tenant) -> None:
    for number in range(5):
        make_case(tenant, f"C-{number}", minutes=10 - number)
    with transaction.atomic():
        assert [subject.id for subject in take_subjects(tenant.id, 3)] == ["C-0", "C-1", "C-2"]
        assert [subject.id for subject in take_subjects(tenant.id, 3)] == ["C-3", "C-4"]
        assert take_subjects(tenant.id, 3) == []
    assert waiting_subjects(tenant.id, 10) == []


@pytest.mark.parametrize("count", [1, 30])
def test_taking_needs_the_same_number_of_queries(tenant: Tenant, count: int, django_assert_num_queries: Any) -> None:
    for number in range(count):
        make_case(tenant, f"C-{number}", sender=f"a{number}@b.example")
    with django_assert_num_queries(3):
        assert len(take_subjects(tenant.id, 50)) == count


def test_a_typed_request_is_recorded_and_does_not_wait(tenant: Tenant) -> None:
    make_customer(tenant, "c-1", "ann@b.example")
    ref = open_subject(tenant.id, Intake(" Ann@b.example ", " Two\nlines ", " Why is it so much? "))
    subject = load_subject(tenant.id, ref)
    assert subject is not None
    assert (subject.title, subject.text, subject.customer_id) == ("Two lines", "Why is it so much?", "c-1")
    assert Case.objects.get().source == "form"
    assert waiting_subjects(tenant.id, 10) == []
    assert open_subject(tenant.id, Intake("ann@b.example", "", "Why is it so much?")) != ref


@pytest.mark.parametrize(
    ("sender", "title", "text", "words"),
    [
        ("nobody", "t", "x", "not an e-mail address"),
        ("a@b.example, c@d.example", "t", "x", "not an e-mail address"),
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
    assert Case.objects.count() == 0


def test_a_long_title_is_cut_where_a_case_ends(tenant: Tenant) -> None:
    open_subject(tenant.id, Intake("a@b.example", "x" * 1000, "y"))
    assert Case.objects.get().subject == "x" * 300
