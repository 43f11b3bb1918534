"""``manage.py import_cases``: rows become cases that wait, each once, and bad ones are told of with their reason."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command

from agentops.registry.importing import recording
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import employ_agent
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Tenant
from billing_agent.importing import insert_cases
from billing_agent.models import Case
from billing_agent.role import ROLE
from tests.factories.billing import make_customer
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db

HEADER = "id,from_email,received_at,subject,body\n"
DANA = "dana@example.com,2026-10-01,My bill"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str, name: str = "cases.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def told(path: Path, **options: str) -> str:
    out = StringIO()
    call_command("import_cases", str(path), stdout=out, **options)
    return out.getvalue()


def test_rows_become_cases_once_and_bad_ones_are_counted(tenant: Tenant, file: Callable[..., Path]) -> None:
    dana = make_customer(tenant, "dana", "Dana")
    path = file(f"{HEADER}7,{DANA},Why twice?\n8,nobody,2026-10-01,Hi,x\n9,new@example.com,2026-10-02,,Cancel it\n")
    output = told(path)
    assert "line 3: bad e-mail address: 'nobody' is not an e-mail address" in output
    assert "1 not taken: bad e-mail address" in output
    assert "2 cases taken, 0 known already, 1 bad rows." in output
    assert "0 cases taken, 2 known already, 1 bad rows." in told(path)
    fields = ("customer_id", "sender", "subject", "body", "source", "status", "taken_at")
    assert list(Case.objects.order_by("received_at").values_list(*fields)) == [
        (dana.pk, "dana@example.com", "My bill", "Why twice?", "import", "open", None),
        (None, "new@example.com", "Cancel it", "Cancel it", "import", "open", None),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cases.jsonl", '{"case_id": 7, "from": "dana@example.com", "date": "2026-10-01", "text": "Why twice?"}\n'),
        (
            "cases.mbox",
            "From dana 2026\nFrom: dana@example.com\nMessage-ID: 7\nDate: 2026-10-01\n\nWhy twice?\n",
        ),
    ],
)
def test_other_formats_are_read_too(tenant: Tenant, file: Callable[..., Path], name: str, text: str) -> None:
    assert "1 cases taken, 0 known already, 0 bad rows." in told(file(text, name))
    assert Case.objects.values_list("source_key", "body").get() == ("id:7", "Why twice?")


def test_an_import_that_was_broken_off_goes_on_where_it_was(
    tenant: Tenant, file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "BATCH", 2)
    path = file(HEADER + "".join(f"{number},{DANA},text\n" for number in range(5)))
    first = insert_cases

    def once(tenant_id: object, rows: list[object]) -> int:
        if Case.objects.exists():
            raise ConnectionError("the machine was switched off")
        return first(tenant_id, rows)  # type: ignore[arg-type]

    with (
        patch("billing_agent.management.commands.import_cases.Command.insert", staticmethod(once)),
        pytest.raises(CommandError),
    ):
        told(path)
    assert Case.objects.count() == 2
    assert "3 cases taken, 2 known already, 0 bad rows." in told(path)


def test_the_sweep_begins_sessions_on_what_was_imported(tenant: Tenant, file: Callable[..., Path]) -> None:
    employ_agent(tenant_id=tenant.pk, role=ROLE, name="Billing agent", actor="test")
    told(file(f"{HEADER}7,{DANA},Why twice?\n"))
    sweep_once()
    assert list(Session.objects.values_list("subject_kind", "requester")) == [("case", "dana@example.com")]
    work_until_quiet()
    assert Session.objects.get().status != "queued"


def test_tickets_are_not_imported_as_cases(tenant: Tenant, file: Callable[..., Path]) -> None:
    with pytest.raises(CommandError, match="The role 'support' does not work on cases"):
        told(file(HEADER), role="support")
