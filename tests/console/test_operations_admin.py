"""Limits and priorities in the admin, and the operators' tables there."""

import pytest
from django.test import Client

from agentops.agents.models import Elevation
from agentops.gateway.breakers import report_failure
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import ProcessInstance, Question, Session, SpendDay
from agentops.tenancy.models import Freeze, Switchboard
from tests.console.conftest import TELL, Stage
from tests.console.operators import freeze_by, queue_up, superuser_of
from tests.console.test_admin import form_of, recorded, save
from tests.console.test_operations_questions import ask
from tests.console.test_operations_spend import spend

TABLES = ("freeze", "breaker", "elevation", "question", "processinstance", "spendday")


@pytest.fixture
def root(stage: Stage) -> Client:
    return superuser_of(stage)


def test_limits_of_a_tenant_are_changed_on_record(stage: Stage, root: Client) -> None:
    before = Switchboard.objects.get().epoch
    url = f"/admin/agentops/tenant/{stage.cast.tenant.pk}/change/"
    save(root, url, max_running="3", max_starts_hour="20", max_day_micro="5000000")
    stage.cast.tenant.refresh_from_db()
    tenant = stage.cast.tenant
    assert (tenant.max_running, tenant.max_starts_hour, tenant.max_day_micro) == (3, 20, 5_000_000)
    changes = {"max_running": ["50", "3"], "max_starts_hour": ["", "20"], "max_day_micro": ["", "5000000"]}
    assert recorded(tenant, f"tenant:{tenant.pk}", "config.changed") == [("Tenant", changes)]
    assert Switchboard.objects.get().epoch > before


def test_limits_of_an_agent_and_a_version(stage: Stage, root: Client) -> None:
    save(root, f"/admin/agentops/agent/{stage.agent.pk}/change/", max_day_micro="2000000")
    version = stage.agent.current_version
    assert version is not None
    url = f"/admin/agentops/agentversion/{version.pk}/change/"
    save(root, url, max_tokens="9000", max_identical="5")
    version.refresh_from_db()
    stage.agent.refresh_from_db()
    assert (stage.agent.max_day_micro, version.max_tokens, version.max_identical) == (2_000_000, 9000, 5)
    told = recorded(stage.cast.tenant, f"agent:{stage.agent.pk}", "config.changed")
    assert [set(changes) for _, changes in told] == [{"max_day_micro"}, {"max_tokens", "max_identical"}]
    stage.work(TELL)
    save(root, url, max_tokens="1", max_identical="1")
    version.refresh_from_db()
    assert (version.max_tokens, version.max_identical) == (9000, 5)


def test_priority_is_changed_through_the_sessions_own_stream(stage: Stage, root: Client) -> None:
    session = queue_up(stage)
    url = f"/admin/agentops/session/{session.pk}/change/"
    save(root, url, priority="3", title="Another title", status="finished")
    rank = session.rank_at
    session.refresh_from_db()
    assert (session.priority, session.title, session.status) == (3, "Work w-1", "queued")
    assert session.rank_at < rank
    event = LedgerEvent.objects.get(stream=session.pk, type="session.priority_changed")
    assert (event.actor, event.facts) == ("user:root", {"from": 1, "to": 3})
    save(root, url)
    assert LedgerEvent.objects.filter(type="session.priority_changed").count() == 1


def test_priority_of_an_ended_session_stays(stage: Stage, root: Client) -> None:
    session = stage.work(TELL)
    Session.objects.filter(pk=session.pk).update(status="stopped", stop_code="INTERNAL")
    url = f"/admin/agentops/session/{session.pk}/change/"
    response = root.post(url, {**form_of(root, url), "priority": "3"})
    assert response.status_code == 200
    assert "The session has ended." in response.content.decode()
    assert Session.objects.get(pk=session.pk).priority == 1


def test_other_tenants_session_is_not_ranked(stage: Stage) -> None:
    session = queue_up(stage)
    far = superuser_of(stage, "ruth", stage.cast.other)
    far.post(f"/admin/agentops/session/{session.pk}/change/", {"priority": "3"})
    assert Session.objects.get(pk=session.pk).priority == 1


@pytest.fixture
def rows(stage: Stage, root: Client) -> dict[str, object]:
    """One row of each table."""
    asked = ask(stage)
    breaker = report_failure(tenant_id=None, name="provider:x", kind=FailureKind.TIMEOUT, words="Too slow.")
    spend(stage, "tenant", 1)
    at = asked.created_at
    elevation = Elevation.objects.create(
        tenant=stage.cast.tenant, session_id=asked.pk, scope="s", reason="r", given_by="user:x", given_at=at,
        expires_at=at,
    )  # fmt: skip
    process = ProcessInstance.objects.create(
        id=asked.pk, tenant_id=stage.cast.tenant.pk, session_id=asked.pk, process="p", version=1, state="a"
    )
    return {
        "freeze": freeze_by(root, where="everywhere", tool="look").pk,
        "breaker": breaker.id,
        "elevation": elevation.pk,
        "question": Question.objects.get().pk,
        "processinstance": process.pk,
        "spendday": SpendDay.objects.get(scope="tenant").pk,
    }


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_read_and_not_changed(stage: Stage, root: Client, rows: dict[str, object], table: str) -> None:
    base = f"/admin/agentops/{table}/"
    listed = root.get(base)
    assert listed.context["cl"].result_count == 1
    assert root.get(base, {"q": str(rows[table])}).status_code == 200
    assert root.get(f"{base}{rows[table]}/change/").status_code == 200
    assert root.get(f"{base}add/").status_code == 403
    assert root.post(f"{base}{rows[table]}/change/", {"reason": "x"}).status_code == 403
    assert root.post(f"{base}{rows[table]}/delete/", {"post": "yes"}).status_code == 403
    far = superuser_of(stage, "ruth", stage.cast.other)
    shared = table in ("freeze", "breaker")
    assert far.get(base).context["cl"].result_count == (1 if shared else 0)
    assert Freeze.objects.get().lifted_at is None
