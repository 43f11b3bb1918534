"""The list of customers: who is found, who owes, and that its length does not matter."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentops.tenancy.models import Tenant
from billing_agent.models import Customer, Invoice
from tests.factories.billing import Desk, bill, make_customer, make_desk, make_dispute
from tests.factories.reading import read, reader_of

pytestmark = pytest.mark.django_db

LIST = "/billing/"


@pytest.fixture
def desk() -> Desk:
    return make_desk()


def refs(client: Client, **params: str) -> list[str]:
    """The ids of the customers on the page, in their order."""
    return [row.ref for row in client.get(LIST, params).context["page"].rows]


def set_due(days: int) -> None:
    """Let all open invoices be due so many days from now."""
    Invoice.objects.filter(status="open").update(due_at=timezone.now() + timedelta(days=days))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dana", ["dana"]),
        ("Ruiz", ["dana"]),
        ("ruiz da", ["dana"]),
        ("dana@example.com", ["dana"]),
        ("DANA@EXAM", ["dana"]),
        ("example", ["erin", "dana"]),
        ("INV-000003", ["erin"]),
        ("inv-000003", []),
        ("ana", []),
        ("nobody", []),
        ("' | !! & :* \x00 (", []),
        ("", ["erin", "dana"]),
    ],
)
def test_customers_are_found(desk: Desk, text: str, expected: list[str]) -> None:
    assert refs(reader_of(desk.tenant), q=text) == expected


def test_who_owes_stands_in_the_address(desk: Desk) -> None:
    client = reader_of(desk.tenant)
    set_due(-1)
    assert refs(client, bucket="owes") == ["erin", "dana"]
    assert refs(client, bucket="past_due") == ["erin", "dana"]
    set_due(1)
    assert refs(client, bucket="past_due") == []
    Invoice.objects.filter(number="INV-000003").update(attempts=1)
    assert refs(client, bucket="past_due") == ["erin"]
    assert refs(client, bucket="past_due", q="dana") == []
    assert refs(client, bucket="disputed") == []
    make_dispute(desk.charge(), 500)
    assert refs(client, bucket="disputed") == ["dana"]
    assert refs(client, bucket="disputed", q="erin") == []
    assert refs(client, bucket="nonsense") == ["erin", "dana"]


def test_a_row_says_how_it_stands(desk: Desk) -> None:
    make_customer(desk.tenant, "zoe", "Zoe Marsh", currency="JPY")
    set_due(-1)
    text = read(reader_of(desk.tenant), LIST)
    assert "Zoe Marsh zoe@example.com zoe settled –" in text
    assert "Dana Ruiz dana@example.com dana past due $22.00" in text


def test_another_tenants_customers_do_not_exist(desk: Desk) -> None:
    outsider = reader_of(Tenant.objects.create(slug="south", name="South"), name="charlie")
    assert "No customer yet." in read(outsider, LIST)
    assert "No customer matches." in read(outsider, LIST, q="dana")
    assert "No customer matches." in read(outsider, LIST, q="INV-000003")
    assert "No customer matches." in read(outsider, LIST, bucket="owes")


def test_the_list_is_walked_by_key_at_one_number_of_queries(desk: Desk) -> None:
    client = reader_of(desk.tenant)
    with CaptureQueriesContext(connection) as few:
        client.get(LIST)
    for number in range(60):
        make_customer(desk.tenant, f"c-{number:02}", f"Customer {number}")
        desk.act(bill(100, "Extra"), f"extra-{number}", customer_id=f"c-{number:02}")
    with CaptureQueriesContext(connection) as many:
        client.get(LIST)
    assert len(many) == len(few)
    lists = [query["sql"].lower() for query in many if "billing_agent_customer" in query["sql"]]
    assert lists
    assert not [sql for sql in lists if "count(" in sql]
    for params in ({}, {"q": "customer"}, {"bucket": "owes"}, {"bucket": "owes", "q": "customer"}):
        seen, url = [], LIST
        page = client.get(url, params).context["page"]
        while True:
            seen += [row.ref for row in page.rows]
            if not page.next_url:
                break
            page = client.get(LIST + page.next_url).context["page"]
        whole = Customer.objects.order_by("-pk")
        whole = whole.filter(ref__startswith="c-") if "q" in params else whole
        assert seen == list(whole.values_list("ref", flat=True))
    assert refs(client, before="x")[0] == "c-59"
