"""``manage.py import_tickets``: what is recorded, what is told, and that a large file needs no more memory."""

import tracemalloc
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agentops.registry.importing import recording
from agentops.tenancy.models import Tenant
from support_agent.intake import waiting_subjects
from support_agent.models import Ticket
from support_agent.seeds import seed_demo

pytestmark = pytest.mark.django_db

HEADER = "id,from_email,received_at,subject,body\n"


@pytest.fixture
def tenant() -> Tenant:
    return Tenant.objects.create(slug="north", name="North Goods")


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str, name: str = "tickets.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def told(path: Path, **options: str) -> str:
    out = StringIO()
    call_command("import_tickets", str(path), stdout=out, **options)
    return out.getvalue()


def test_good_rows_are_taken_and_bad_ones_listed(tenant: Tenant, file: Callable[..., Path]) -> None:
    path = file(HEADER + "1,a@b.example,2026-10-01,Hi,one\n2,nobody,2026-10-01,Hi,two\n3,a@b.example,soon,Hi,three\n")
    output = told(path)
    assert "line 3: bad e-mail address: 'nobody' is not an e-mail address" in output
    assert "line 4: bad date: 'soon' is not a date" in output
    assert "1 tickets taken, 0 known already, 2 bad rows." in output
    ticket = Ticket.objects.get()
    assert (ticket.sender, ticket.subject, ticket.body, ticket.status) == ("a@b.example", "Hi", "one", "open")
    assert ticket.taken_at is None
    assert [subject.text for subject in waiting_subjects(tenant.id, 10)] == ["one"]


def test_a_second_import_adds_nothing(tenant: Tenant, file: Callable[..., Path]) -> None:
    path = file(
        HEADER + ",a@b.example,2026-10-01,Hi,one\n5,a@b.example,2026-10-01,Hi,two\n5,c@d.example,2026-10-02,Hi,x\n"
    )
    assert "2 tickets taken, 1 known already, 0 bad rows." in told(path)
    assert "0 tickets taken, 3 known already, 0 bad rows." in told(path)
    assert Ticket.objects.count() == 2


def test_the_same_file_for_another_tenant_is_other_tickets(tenant: Tenant, file: Callable[..., Path]) -> None:
    Tenant.objects.create(slug="south", name="South Goods")
    path = file(HEADER + "5,a@b.example,2026-10-01,Hi,two\n")
    told(path, tenant="north")
    assert "1 tickets taken" in told(path, tenant="south")
    assert Ticket.objects.filter(tenant=tenant).count() == 1


def test_a_sender_in_any_case_is_the_customer(file: Callable[..., Path]) -> None:
    tenant = seed_demo()
    told(file(HEADER + "9,MARIA.Okafor@EXAMPLE.com,2026-10-01,Hi,one\n8,maria@example.com,2026-10-01,Hi,one\n"))
    known = Ticket.objects.filter(tenant=tenant, source_key__startswith="id:").order_by("source_key")
    assert [ticket.customer and ticket.customer.ref for ticket in known] == [None, "c-1001"]


@pytest.mark.parametrize(
    ("text", "name"),
    [("", "a.csv"), ("a,b\n1,2\n", "a.csv"), ("{}\n", "a.jsonl"), ("hello", "a.mbox"), (HEADER, "a.csv")],
)
def test_a_file_without_a_usable_row_is_an_error(
    tenant: Tenant, file: Callable[..., Path], text: str, name: str
) -> None:
    with pytest.raises(CommandError, match="No ticket could be read"):
        told(file(text, name))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tenant": "nowhere"}, "There is no tenant 'nowhere'"),
        ({"role": "juggler"}, "there is no role 'juggler'"),
    ],
)
def test_unknown_names_are_told(tenant: Tenant, file: Callable[..., Path], options: dict[str, str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        told(file(HEADER), **options)


def test_the_tenant_has_to_be_named_when_there_are_several(tenant: Tenant, file: Callable[..., Path]) -> None:
    Tenant.objects.create(slug="south", name="South Goods")
    with pytest.raises(CommandError, match="Name the tenant"):
        told(file(HEADER))


def test_a_file_that_cannot_be_opened_is_told(tenant: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot be read: No such file"):
        told(tmp_path / "missing.csv")
    with pytest.raises(CommandError, match=r"cannot be read: Is a directory"):
        told(tmp_path)


def test_more_bad_rows_than_are_listed_are_counted(
    tenant: Tenant, file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST_LISTED", 2)
    output = told(file(HEADER + "1,a@b.example,2026-10-01,Hi,one\n" + "x,nobody,2026-10-01,Hi,t\n" * 5))
    assert output.count("is not an e-mail address") == 2
    assert "… and 3 more bad rows" in output
    assert "5 not taken: bad e-mail address" in output


@pytest.mark.parametrize(("form", "count"), [("csv", 2_000), ("jsonl", 2_000), ("mbox", 600)])
def test_ten_times_the_rows_take_no_more_memory(tenant: Tenant, tmp_path: Path, form: str, count: int) -> None:
    told(_generated(tmp_path, form, 510, "warm"))
    small = _peak(_generated(tmp_path, form, count, "small"))
    large = _peak(_generated(tmp_path, form, 10 * count, "large"))
    assert Ticket.objects.count() == 510 + 11 * count
    assert large < small * 1.2 + 200_000


def _peak(path: Path) -> int:
    tracemalloc.start()
    try:
        told(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _generated(folder: Path, form: str, count: int, name: str) -> Path:
    body = "Please tell me where my order is. " * 5
    rows = {
        "csv": lambda n: f"{name}-{n},c{n}@b.example,2026-10-01,Hi,{body}\n",
        "jsonl": lambda n: f'{{"id":"{name}-{n}","from":"c{n}@b.example","date":"2026-10-01","body":"{body}"}}\n',
        "mbox": lambda n: (
            f"From c{n}@b.example Thu Oct  1 00:00:00 2026\nFrom: c{n}@b.example\nMessage-ID: <{name}-{n}@b>\n"
            f"Date: Thu, 1 Oct 2026 00:00:00 +0000\n\n{body}\n\n"
        ),
    }
    path = folder / f"{name}.{form}"
    with path.open("w", encoding="utf-8") as stream:
        stream.write(HEADER if form == "csv" else "")
        stream.writelines(rows[form](number) for number in range(count))
    return path
