"""The journal as an accountant gets it: every line, in decimals of its currency, with totals that close."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import AsyncClient, Client

from agentops.ledger.models import LedgerEvent
from agentops.registry.once import Call
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.tenancy.models import Role, Tenant
from billing_agent import exporting
from billing_agent.connectors.applying import post
from billing_agent.connectors.effect import Posted
from billing_agent.connectors.port import ApplyCredit
from billing_agent.exporting import FILES, Period
from billing_agent.models import Entry, Posting
from tests.billing_agent.pages import work
from tests.factories.billing import NOW, Desk, bill, make_customer, make_desk, usd
from tests.factories.reading import read, reader_of

pytestmark = pytest.mark.django_db

DAYS = {"from": "2026-11-01", "to": "2026-11-30"}
URL = "/billing/journal/export/"
NOVEMBER = (date(2026, 11, 1), date(2026, 11, 30))


@pytest.fixture
def desk() -> Desk:
    return make_desk()


@pytest.fixture
def admin(desk: Desk) -> Client:
    return reader_of(desk.tenant, Role.ADMIN, "dora")


def rows_of(content: bytes) -> list[dict[str, str]]:
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def content_of(response: HttpResponseBase) -> bytes:
    assert isinstance(response, StreamingHttpResponse)
    return b"".join(response)  # type: ignore[arg-type]  # a plain client gets a plain iterator


def taken(client: Client, file: str, **days: str) -> list[dict[str, str]]:
    response = client.post(URL, {"file": file, **(days or DAYS)})
    assert response.status_code == 200
    return rows_of(content_of(response))


def book(tenant: Tenant, at: datetime, currency: str, minor: int, memo: str = "") -> None:
    entry = Posted("opening", currency, "before", {"receivable": minor, "revenue": -minor}, memo)
    post(Call(tenant.pk, "", at), "dana", [entry])


def test_every_line_of_the_books_is_a_row(desk: Desk, admin: Client) -> None:
    found = taken(admin, "journal")
    assert [(row["document"], row["account_code"], row["debit"], row["credit"]) for row in found] == [
        ("INV-000001", "receivable", "22.00", ""),
        ("INV-000001", "revenue", "", "20.00"),
        ("INV-000001", "tax", "", "2.00"),
        ("INV-000002", "receivable", "55.00", ""),
        ("INV-000002", "revenue", "", "50.00"),
        ("INV-000002", "tax", "", "5.00"),
        (desk.charge().ref, "cash", "55.00", ""),
        (desk.charge().ref, "receivable", "", "55.00"),
        ("INV-000003", "receivable", "7.70", ""),
        ("INV-000003", "revenue", "", "7.00"),
        ("INV-000003", "tax", "", "0.70"),
    ]
    entry = Entry.objects.order_by("pk")[0]
    assert found[0] == {
        "entry_id": str(entry.pk),
        "posted_at_utc": "2026-11-11T09:00:00.000000Z",
        "posted_on": "2026-11-11",
        "account_code": "receivable",
        "account_name": "Owed by customers",
        "debit": "22.00",
        "credit": "",
        "currency": "USD",
        "customer_id": "dana",
        "document": "INV-000001",
        "kind": "Invoice issued",
        "memo": "Set-up",
        "operation_key": "made-1",
        "session_id": "",
    }


def test_a_call_of_an_agent_names_its_session(desk: Desk, admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    credit = ToolCall("apply_credit", {"amount_minor": 200, "currency": "USD", "reason": "Late reply"})
    look, close = ToolCall("lookup_customer_360", {}), ToolCall("close_case", {"note": "Gave credit."})
    done = FinalAnswer("Gave credit.", verified=("The credit is there.",))
    session = work(monkeypatch, desk.tenant, "case-1", look, credit, close, done)
    today = Entry.objects.latest("pk").at.date().isoformat()
    found = taken(admin, "journal", **{"from": today, "to": today})
    assert {row["session_id"] for row in found if row["kind"] == "Credit given"} == {str(session.pk)}


def test_a_period_is_days_of_the_tenants_own_zone(desk: Desk, admin: Client) -> None:
    Tenant.objects.update(timezone="Pacific/Auckland")
    book(desk.tenant, datetime(2026, 11, 14, 10, 59, 59, tzinfo=UTC), "USD", 100)  # 23:59:59 on the 14th
    book(desk.tenant, datetime(2026, 11, 14, 11, 0, tzinfo=UTC), "USD", 200)  # midnight of the 15th
    book(desk.tenant, datetime(2026, 11, 15, 10, 59, 59, tzinfo=UTC), "USD", 400)
    book(desk.tenant, datetime(2026, 11, 15, 11, 0, tzinfo=UTC), "USD", 800)
    found = taken(admin, "journal", **{"from": "2026-11-15", "to": "2026-11-15"})
    assert [(row["posted_on"], row["debit"]) for row in found if row["debit"]] == [
        ("2026-11-15", "2.00"),
        ("2026-11-15", "4.00"),
    ]


def test_amounts_have_the_digits_of_their_currency(desk: Desk, admin: Client) -> None:
    for currency, minor in (("JPY", 1200), ("KWD", 1234567), ("EUR", 5), ("USD", 123456789)):
        book(desk.tenant, NOW, currency, minor)
    found = {
        row["currency"]: row["debit"] for row in taken(admin, "journal") if row["document"] == "before" and row["debit"]
    }
    assert found == {"JPY": "1200", "KWD": "1234.567", "EUR": "0.05", "USD": "1234567.89"}


def test_totals_close_and_are_those_of_the_journal(desk: Desk, admin: Client) -> None:
    book(desk.tenant, NOW, "JPY", 1200)
    journal = taken(admin, "journal")
    totals = {row["currency"]: row for row in taken(admin, "totals")}
    assert totals["USD"] == {
        "first_day": "2026-11-01",
        "last_day": "2026-11-30",
        "time_zone": "UTC",
        "currency": "USD",
        "entries": "4",
        "lines": "11",
        "last_entry_id": str(Entry.objects.filter(currency="USD").latest("pk").pk),
        "debits": "139.70",
        "credits": "139.70",
        "difference": "0.00",
    }
    for currency, total in totals.items():
        lines = [row for row in journal if row["currency"] == currency]
        for side, name in (("debit", "debits"), ("credit", "credits")):
            assert sum(Decimal(row[side] or 0) for row in lines) == Decimal(total[name])
        assert len(lines) == int(total["lines"])


def test_the_trial_balance_leads_from_before_to_after(desk: Desk, admin: Client) -> None:
    book(desk.tenant, datetime(2026, 10, 31, 23, 59, 59, tzinfo=UTC), "USD", 1000)
    desk.act(ApplyCredit(usd(300), "Late reply"), "given")
    found = {row["account_code"]: row for row in taken(admin, "trial-balance")}
    assert list(found) == ["cash", "receivable", "revenue", "tax", "customer_credit", "goodwill"]
    receivable, revenue = found["receivable"], found["revenue"]
    assert (receivable["opening_debit"], receivable["opening_credit"]) == ("10.00", "")
    assert (receivable["period_debit"], receivable["period_credit"]) == ("84.70", "55.00")
    assert (receivable["closing_debit"], receivable["closing_credit"]) == ("39.70", "")
    assert (revenue["opening_debit"], revenue["opening_credit"]) == ("", "10.00")
    assert (revenue["closing_debit"], revenue["closing_credit"]) == ("", "87.00")
    for stage in ("opening", "period", "closing"):
        sides = [sum(Decimal(row[f"{stage}_{side}"] or 0) for row in found.values()) for side in ("debit", "credit")]
        assert sides[0] == sides[1]


def test_nothing_is_a_formula(desk: Desk, admin: Client) -> None:
    desk.act(ApplyCredit(usd(300), '=HYPERLINK("http://evil.example")'), "given")
    make_customer(desk.tenant, "@eve", "Eve")
    desk.act(bill(100, "\t=1+1\n+2"), "+key", customer_id="@eve")
    found = taken(admin, "journal")
    memos = {row["memo"] for row in found if row["kind"] == "Credit given"}
    assert memos == {'\'=HYPERLINK("http://evil.example")'}
    last = found[-1]
    assert (last["customer_id"], last["operation_key"], last["memo"]) == ("'@eve", "'+key", "'\t=1+1\n+2")


def test_taking_a_file_goes_on_record_before_anything_is_handed_out(desk: Desk, admin: Client) -> None:
    taken(admin, "journal")
    events = LedgerEvent.objects.filter(type="data.exported")
    assert [(event.tenant_id, event.actor, event.facts) for event in events] == [
        (
            desk.tenant.pk,
            "user:dora",
            {"role": "billing", "file": "journal", "first": "2026-11-01", "last": "2026-11-30"},
        )
    ]


def test_what_cannot_be_recorded_is_not_handed_out(desk: Desk, admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the ledger is full")

    monkeypatch.setattr("agentops.console.made_calls.append_to", fail)
    with pytest.raises(RuntimeError, match="the ledger is full"):
        admin.post(URL, {"file": "journal", **DAYS})


@pytest.mark.parametrize(
    "sent",
    [
        {"file": "journal", "from": "2026-11-30", "to": "2026-11-01"},
        {"file": "journal", "from": "yesterday", "to": "2026-11-01"},
        {"file": "journal", "from": "2020-01-01", "to": "2026-11-30"},
        {"file": "../../etc/passwd", **DAYS},
        {**DAYS},
    ],
)
def test_what_is_not_understood_hands_nothing_out(desk: Desk, admin: Client, sent: dict[str, str]) -> None:
    assert admin.post(URL, sent).status_code == 422
    assert not LedgerEvent.objects.filter(type="data.exported").exists()


@pytest.mark.parametrize("role", [Role.SUPPORT, Role.APPROVER])
def test_only_admins_take_a_copy(desk: Desk, role: Role) -> None:
    client = reader_of(desk.tenant, role)
    assert client.post(URL, {"file": "journal", **DAYS}).status_code == 404
    assert client.get("/billing/journal/").status_code == 404
    assert "Journal" not in read(client, "/billing/")


def test_another_tenants_books_are_not_in_it(desk: Desk, admin: Client) -> None:
    other = reader_of(Tenant.objects.create(slug="south", name="South"), Role.ADMIN, "charlie")
    assert [taken(other, file) for file in FILES] == [[], [], []]


def test_the_journals_page_shows_what_the_files_say(desk: Desk, admin: Client) -> None:
    text = read(admin, "/billing/journal/", **DAYS)
    assert "USD 4 11 $139.70 $139.70 debits are credits" in text
    assert "Owed by customers USD – $84.70 $55.00 $29.70" in text
    assert "Revenue USD – – $77.00 −$77.00" in text


def test_rows_are_read_some_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "AT_ONCE", 4)
    parts = list(FILES["journal"].lines(Period.of(desk.tenant, *NOVEMBER)))
    assert [part.count(b"\r\n") for part in parts] == [1, 4, 4, 3]
    assert len(rows_of(b"".join(parts))) == Posting.objects.count()


def test_an_asynchronous_server_streams_part_by_part(desk: Desk, admin: Client) -> None:
    async def take() -> bytes:
        client = AsyncClient()
        client.cookies = admin.cookies
        response = await client.post(URL, {"file": "journal", **DAYS})
        assert isinstance(response, StreamingHttpResponse)
        assert response.is_async
        return b"".join([part async for part in response])

    assert len(rows_of(async_to_sync(take)())) == 11


@pytest.mark.django_db(transaction=True)
def test_the_command_writes_all_files_of_one_moment(tmp_path: Path) -> None:
    desk = make_desk()
    slug = desk.tenant.slug
    days = ["--since", "2026-11-01", "--until", "2026-11-30"]
    call_command("billing_export", "--tenant", slug, *days, "--out", str(tmp_path), stdout=io.StringIO())
    names = [f"{file}-{slug}-2026-11-01-2026-11-30.csv" for file in ("journal", "totals", "trial-balance")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert [len(rows_of((tmp_path / name).read_bytes())) for name in names] == [11, 1, 4]
    actors = LedgerEvent.objects.filter(type="data.exported").values_list("actor", flat=True)
    assert list(actors) == ["command:billing_export"] * 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tenant", "nowhere", "--out", "."], "There is no tenant 'nowhere'."),
        (["--tenant", "north", "--out", "/no/such/folder"], "/no/such/folder is no folder."),
        (["--tenant", "north", "--since", "2026-11-02", "--until", "2026-11-01", "--out", "."], "comes after"),
        (["--tenant", "north", "--since", "november", "--out", "."], "'november' is no day"),
        (["--tenant", "north", "--since", "0001-01-01", "--out", "."], "is too far away"),
    ],
)
def test_the_command_refuses_what_it_does_not_understand(desk: Desk, arguments: list[str], words: str) -> None:
    Tenant.objects.update(slug="north")
    with pytest.raises(CommandError, match=words):
        call_command("billing_export", *arguments, stdout=io.StringIO())
