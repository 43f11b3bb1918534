"""``manage.py import_incidents``: rows of a file wait as incidents, each once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from agentops.registry.importing import command
from agentops.registry.roles import get_role
from agentops.tenancy.models import Tenant
from sre_agent.connectors.moving import found_estate
from sre_agent.estate.company import company
from sre_agent.intake import waiting_subjects
from sre_agent.models import Incident
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FILE = """id,from_email,received_at,subject,body
1,ann@example.com,2026-03-01,Nobody can pay,"service: checkout
priority: P1
Payments fail."
2,ann@example.com,2026-03-02,Slow,The search is slow today.
2,ann@example.com,2026-03-02,Slow,The search is slow today.
3,nobody,2026-03-02,Slow,Something.
"""


@pytest.fixture
def tenant(monkeypatch: pytest.MonkeyPatch) -> Tenant:
    tenant = make_tenant()
    found_estate(tenant_id=tenant.pk, estate=company(1), now=NOW, seconds_a_tick=0)
    role = replace(get_role("support"), name="sre", subject_kind="incident")
    monkeypatch.setattr(command, "get_role", lambda _: role)
    return tenant


def told(path: Path) -> str:
    out = StringIO()
    call_command("import_incidents", str(path), stdout=out)
    return out.getvalue()


def test_rows_become_incidents_that_wait_and_a_second_import_adds_nothing(tenant: Tenant, tmp_path: Path) -> None:
    path = tmp_path / "incidents.csv"
    path.write_text(FILE, encoding="utf-8")
    assert "2 incidents taken, 1 known already, 1 bad rows." in told(path)
    assert "0 incidents taken, 3 known already, 1 bad rows." in told(path)
    rows = Incident.objects.order_by("opened_at").values_list("title", "service", "priority", "sender", "opened_at")
    assert list(rows) == [
        ("Nobody can pay", "checkout", 1, "ann@example.com", NOW - timedelta(days=1, hours=9)),
        ("Slow", "search", 2, "ann@example.com", NOW - timedelta(hours=9)),
    ]
    assert [subject.title for subject in waiting_subjects(tenant.pk, 10)] == ["Nobody can pay", "Slow"]
