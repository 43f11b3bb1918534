"""A customer's page: how they stand, what happened to their money in words, and who made it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime.models import Invocation
from agentops.tenancy.models import Role, Tenant
from approvals.models import ApprovalRequest
from billing_agent.connectors.port import ApplyCredit, RefundCharge, RetryCharge, VoidInvoice
from billing_agent.models import Case
from tests.billing_agent.pages import step_of, work
from tests.factories.billing import Desk, bill, make_customer, make_desk, make_dispute, usd
from tests.factories.reading import read, reader_of, words_of

pytestmark = pytest.mark.django_db

DANA = "/billing/customers/dana/"


@pytest.fixture
def desk() -> Desk:
    return make_desk()


def test_the_page_says_who_it_is_and_how_they_stand(desk: Desk) -> None:
    text = read(reader_of(desk.tenant), DANA)
    assert "Dana Ruiz" in text
    assert "dana@example.com US tax 10 % customer since" in text
    assert "Owes $22.00 Credit $0.00 Paid $55.00 after refunds and disputes Held in disputes $0.00" in text
    assert "INV-000001" in text
    assert "Team sub-1 active $20.00 a month" in text
    assert "Visa ending 4242 card-1 default 06/2030" in text
    assert "About my bill case-1 open" in text
    assert "Disputes" not in text.replace("Held in disputes", "").replace("refunds and disputes", "")


def test_money_is_told_in_words_with_what_is_owed_after_each(desk: Desk) -> None:
    desk.act(ApplyCredit(usd(3000), "Late reply", desk.invoice("INV-000001").ref), "given")
    desk.act(RefundCharge(desk.charge().ref, usd(500), "Half was not held"), "back")
    make_dispute(desk.charge(), 5000)
    text = read(reader_of(desk.tenant), DANA)
    happened = text[text.index("What happened to the money") :]
    told = [
        "The bank took back $50.00 that was paid for invoice INV-000002: a dispute",
        "told by the processor – −$50.00 $8.00 credit",
        "Refunded $5.00 of what was paid for invoice INV-000002 Half was not held operation back, of which no call",
        "is known – −$5.00 $8.00 credit",
        "Used credit of $22.00 on invoice INV-000001 operation given, of which no call is known – – $8.00 credit",
        "Gave credit of $30.00 Late reply operation given, of which no call is known −$30.00 – $8.00 credit",
        "Paid $55.00 for invoice INV-000002 operation made-3, of which no call is known −$55.00 +$55.00 owes $22.00",
        "Billed $55.00 by invoice INV-000002 Training operation made-2, of which no call is known +$55.00 – owes $77",
        "Billed $22.00 by invoice INV-000001 Set-up operation made-1, of which no call is known +$22.00 – owes $22.00",
    ]
    places = [happened.find(words) for words in told]
    assert -1 not in places, [words for words, place in zip(told, places, strict=True) if place < 0]
    assert places == sorted(places)


def test_currencies_stand_apart_with_their_own_digits(desk: Desk) -> None:
    make_customer(desk.tenant, "yuki", "Yuki Mori", currency="JPY", tax_exempt=True)
    desk.act(bill(1200, "Setup", currency="JPY"), "yen", customer_id="yuki")
    text = read(reader_of(desk.tenant), "/billing/customers/yuki/")
    assert "Owes ¥1,200 Credit ¥0 Paid ¥0" in text
    assert "+¥1,200 – owes ¥1,200" in text
    assert "tax exempt" in text


SMALL = ToolCall("apply_credit", {"amount_minor": 200, "currency": "USD", "reason": "Late reply"})
LARGE = ToolCall("apply_credit", {"amount_minor": 9000, "currency": "USD", "reason": "Late for weeks"})
LOOK = ToolCall("lookup_customer_360", {})
CLOSE = ToolCall("close_case", {"note": "Gave credit."})
DONE = FinalAnswer("Gave credit.", verified=("The credit is on the account.",))


def test_what_an_agent_did_leads_to_its_step_and_its_approval(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    Case.objects.filter(ref="case-1").update(body="You were late. Please give me a credit of $2.00 on my account.")
    session = work(monkeypatch, desk.tenant, "case-1", LOOK, SMALL, LARGE, CLOSE, DONE)
    small, large = Invocation.objects.filter(session_id=session.pk, tool="apply_credit").order_by("position")
    request = ApprovalRequest.objects.get(invocation_id=large.pk)
    client = reader_of(desk.tenant)
    page = client.get(DANA).content.decode()
    text = words_of(page)
    assert f"Gave credit of $90.00 Late for weeks by an agent: step of its session , allowed by {request.code}" in text
    assert "Gave credit of $2.00 Late reply by an agent: step of its session , within its limits" in text
    assert f'href="/approvals/{request.pk}/"' in page
    for call in (small, large):
        assert f'href="/calls/{call.idempotency_key}/"' in page
        answer = client.get(f"/calls/{call.idempotency_key}/")
        assert answer.headers["Location"] == step_of(session.pk, call.position)
        assert client.get(answer.headers["Location"]).status_code == 200
    outsider = reader_of(Tenant.objects.create(slug="south", name="South"), name="charlie")
    assert outsider.get(f"/calls/{large.idempotency_key}/").status_code == 404


def test_history_goes_on_where_it_ended_with_the_same_sums(desk: Desk) -> None:
    for number in range(40):
        desk.act(bill(1000, "More"), f"more-{number}")
    client = reader_of(desk.tenant)
    first = client.get(DANA).context["page"]
    second = client.get(DANA + first.next_url.partition("#")[0]).context["page"]
    balances = [row.balance for row in (*first.history, *second.history)]
    assert len(first.history) == 30
    assert balances[0] == "owes $462.00"
    assert balances == [
        *(f"owes ${22 + 11 * number}.00" for number in range(40, 0, -1)),
        *("owes $22.00", "owes $77.00", "owes $22.00"),
    ]
    assert not second.next_url


def test_the_page_costs_the_same_queries_at_any_length(desk: Desk) -> None:
    client = reader_of(desk.tenant)
    client.get(DANA)
    with CaptureQueriesContext(connection) as few:
        client.get(DANA)
    for number in range(25):
        desk.act(bill(1000, "More"), f"more-{number}")
    with CaptureQueriesContext(connection) as many:
        client.get(DANA)
    assert len(many) == len(few)


def test_an_invoice_explains_its_total(desk: Desk) -> None:
    client = reader_of(desk.tenant)
    desk.act(RetryCharge(desk.invoice("INV-000001").ref, "card-2", usd(2200)), "no-1")
    text = read(client, "/billing/invoices/INV-000001/")
    assert "Total $22.00 Paid $0.00 Settled by credit $0.00 Left $22.00" in text
    assert "Set-up 2 $10.00 $20.00 $2.00 Sum $20.00 $2.00" in text
    assert "1 line comes to $20.00; with tax of $2.00 that is $22.00." in text
    assert "1 attempt to charge it was declined. $22.00 are left to pay." in text
    assert "Visa ending 0002" in text
    assert "declined: insufficient funds $22.00 –" in text
    desk.act(ApplyCredit(usd(500), "Late", desk.invoice("INV-000001").ref), "given")
    desk.act(RetryCharge(desk.invoice("INV-000001").ref, "card-1", usd(1700)), "yes-1")
    desk.act(RefundCharge(desk.invoice("INV-000001").charges.get(status="succeeded").ref, usd(700), "Half"), "back")
    text = read(client, f"/billing/invoices/{desk.invoice('INV-000001').ref}/")
    assert (
        "Credit settled $5.00. Charges settled $17.00. 1 attempt to charge it was declined."
        " $7.00 of it went back later, which leaves the invoice as it is. $0.00 are left to pay."
    ) in text
    books = text[text.index("In the books") :]
    told = ("Billed $22.00", "Used credit of $5.00 on invoice INV-000001", "Paid $17.00", "Refunded $7.00")
    assert sorted(map(books.index, told)) == list(map(books.index, told))


def test_a_void_invoice_owes_nothing(desk: Desk) -> None:
    desk.act(VoidInvoice(desk.invoice("INV-000001").ref, "Billed twice"), "void")
    text = read(reader_of(desk.tenant), "/billing/invoices/INV-000001/")
    assert "It was taken back, so nothing is owed." in text
    assert "Took invoice INV-000001 back, which was over $22.00 Billed twice" in text


@pytest.mark.parametrize("address", [DANA, "/billing/invoices/INV-000001/", "/billing/customers/nobody/"])
def test_pages_of_another_tenant_do_not_exist(desk: Desk, address: str) -> None:
    outsider = reader_of(Tenant.objects.create(slug="south", name="South"), name="charlie")
    assert outsider.get(address).status_code == 404


def test_what_customers_write_is_revealed_and_escaped(desk: Desk) -> None:
    make_customer(desk.tenant, "eve", "Eve \u202e<script>", email="eve@example.com")
    page = reader_of(desk.tenant, Role.APPROVER).get("/billing/customers/eve/").content.decode()
    assert "U+202E right-to-left override" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
