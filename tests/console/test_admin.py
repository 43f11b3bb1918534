"""The admin: every change is on record, records are read only, and nothing of another tenant shows."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from agentops.agents.models import Agent, AgentVersion, Threshold, ToolGrant
from agentops.agents.operations import create_agent
from agentops.kernel.ids import derived_id
from agentops.ledger.models import LedgerEvent
from agentops.registry import roles
from agentops.runtime.models import Session
from agentops.tenancy.models import Membership, Tenant
from tests.console.conftest import DONE, Stage, pay, signed_in
from tests.factories.people import Cast, make_admin

TABLES = (
    "tenant",
    "membership",
    "agent",
    "agentversion",
    "toolgrant",
    "session",
    "invocation",
    "moneywindow",
    "ledgerrow",
)


@pytest.fixture
def root(cast: Cast) -> Client:
    """An admin of Alice's and Bob's tenant who may use every screen."""
    return signed_in(make_admin("root", cast.tenant))


def recorded(tenant: Tenant, stream: str, kind: str) -> list[tuple[str, dict[str, list[str]]]]:
    """The changes that a stream tells of, as (model, changes)."""
    found = LedgerEvent.objects.filter(stream=derived_id(str(tenant.pk), stream), type=kind).order_by("position")
    assert {event.actor for event in found} <= {"user:root"}
    return [(event.facts["model"], event.facts["changes"]) for event in found]


def form_of(client: Client, url: str, **changes: Any) -> dict[str, Any]:
    """What the browser would send back from the page at ``url``, with ``changes``."""
    response = client.get(url)
    assert response.status_code == 200
    context = response.context
    forms = [
        context["adminform"].form,
        *(f for inline in context["inline_admin_formsets"] for f in inline.formset.forms),
    ]
    fields = {form.add_prefix(name): form[name].value() for form in forms for name in form.fields}
    for inline in context["inline_admin_formsets"]:
        management = inline.formset.management_form
        fields |= {management.add_prefix(name): management[name].value() for name in management.fields}
    return {name: value for name, value in {**fields, **changes}.items() if value not in (None, False)}


def save(client: Client, url: str, **changes: Any) -> None:
    response = client.post(url, form_of(client, url, **changes))
    assert response.status_code == 302, response.context["adminform"].errors


@pytest.mark.parametrize("table", TABLES)
def test_every_list_opens(stage: Stage, root: Client, table: str) -> None:
    stage.work(pay(), DONE)
    assert root.get(f"/admin/agentops/{table}/").status_code == 200
    assert root.get(f"/admin/agentops/{table}/", {"q": "pay"}).status_code == 200


def test_change_of_an_agent_is_recorded(stage: Stage, root: Client) -> None:
    save(root, f"/admin/agentops/agent/{stage.agent.pk}/change/", name="Paymaster")
    stage.agent.refresh_from_db()
    assert stage.agent.name == "Paymaster"
    changed = recorded(stage.cast.tenant, f"agent:{stage.agent.pk}", "config.changed")
    assert changed == [("Agent", {"name": ["Payer", "Paymaster"]})]


def test_saving_without_a_change_records_nothing(stage: Stage, root: Client) -> None:
    save(root, f"/admin/agentops/agent/{stage.agent.pk}/change/")
    assert recorded(stage.cast.tenant, f"agent:{stage.agent.pk}", "config.changed") == []


def test_lowered_dial_is_recorded_through_the_inline(stage: Stage, root: Client) -> None:
    version = stage.agent.current_version
    url = f"/admin/agentops/agentversion/{version.pk}/change/"
    grants = list(version.grants.order_by("tool"))
    place = [grant.tool for grant in grants].index("pay")
    save(root, url, **{f"grants-{place}-dial": "ask"})
    assert ToolGrant.objects.get(version=version, tool="pay").dial == "ask"
    changed = recorded(stage.cast.tenant, f"agent:{stage.agent.pk}", "config.changed")
    assert changed == [("ToolGrant", {"dial": ["bounded", "ask"]})]


def test_limits_are_added_changed_and_deleted_on_record(stage: Stage, root: Client) -> None:
    grant = ToolGrant.objects.get(version=stage.agent.current_version, tool="pay")
    url, stream = f"/admin/agentops/toolgrant/{grant.pk}/change/", f"agent:{stage.agent.pk}"
    save(root, url, **{"thresholds-0-value": "1000"})
    assert recorded(stage.cast.tenant, stream, "config.changed") == [("Threshold", {"value": ["2500", "1000"]})]
    added = {
        "fact": "session.writes",
        "op": ">",
        "value": "3",
        "effect": "forbid",
        "words": "No more than three.",
        "currency": "",
    }
    fields = {f"thresholds-1-{name}": value for name, value in added.items()}
    save(root, url, **fields, **{"thresholds-TOTAL_FORMS": "2", "thresholds-1-grant": str(grant.pk)})
    assert Threshold.objects.filter(grant=grant).count() == 2
    model, values = recorded(stage.cast.tenant, stream, "config.added")[0]
    assert (model, values["words"]) == ("Threshold", ["", "No more than three."])
    save(root, url, **{"thresholds-0-DELETE": "on"})
    assert Threshold.objects.get(grant=grant).words == "No more than three."
    assert [model for model, _ in recorded(stage.cast.tenant, stream, "config.deleted")] == ["Threshold"]


@pytest.mark.parametrize(("fact", "currency"), [("money.minor", ""), ("money.minor", "ZZZ"), ("session.steps", "USD")])
def test_limit_with_a_wrong_currency_is_refused(stage: Stage, root: Client, fact: str, currency: str) -> None:
    grant = ToolGrant.objects.get(version=stage.agent.current_version, tool="pay")
    url = f"/admin/agentops/toolgrant/{grant.pk}/change/"
    fields = {"thresholds-0-fact": fact, "thresholds-0-currency": currency}
    assert root.post(url, form_of(root, url, **fields)).status_code == 200
    assert Threshold.objects.get(grant=grant).fact == "money.customer_day_minor"


def test_people_are_added_and_removed_on_record(cast: Cast, root: Client) -> None:
    fields = {"tenant": str(cast.tenant.pk), "user": str(cast.charlie.pk), "role": "support"}
    assert root.post("/admin/agentops/membership/add/", fields).status_code == 302
    added = Membership.objects.get(tenant=cast.tenant, user=cast.charlie)
    stream = f"tenant:{cast.tenant.pk}"
    model, values = recorded(cast.tenant, stream, "config.added")[0]
    assert (model, values["user"], values["role"]) == ("Membership", ["", "charlie"], ["", "support"])
    root.post(f"/admin/agentops/membership/{added.pk}/delete/", {"post": "yes"})
    alices = Membership.objects.get(tenant=cast.tenant, user=cast.alice)
    root.post(
        "/admin/agentops/membership/", {"action": "delete_selected", "_selected_action": [alices.pk], "post": "yes"}
    )
    assert not Membership.objects.filter(user=cast.alice).exists()
    gone = [values["user"] for _, values in recorded(cast.tenant, stream, "config.deleted")]
    assert gone == [["charlie", ""], ["alice", ""]]


def test_tenant_is_made_and_its_zone_must_exist(cast: Cast, root: Client) -> None:
    fields = {
        "slug": "west",
        "name": "West",
        "max_running": "50",
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
    }
    assert root.post("/admin/agentops/tenant/add/", {**fields, "timezone": "Nowhere"}).status_code == 200
    assert root.post("/admin/agentops/tenant/add/", {**fields, "timezone": "Europe/Berlin"}).status_code == 302
    west = Tenant.objects.get(slug="west")
    assert [model for model, _ in recorded(west, f"tenant:{west.pk}", "config.added")] == ["Tenant"]


def test_what_has_worked_cannot_be_deleted_or_rewritten(stage: Stage, root: Client) -> None:
    session = stage.work(DONE)
    version = stage.agent.current_version
    for url in (
        f"/admin/agentops/tenant/{stage.cast.tenant.pk}/",
        f"/admin/agentops/agent/{stage.agent.pk}/",
        f"/admin/agentops/agentversion/{version.pk}/",
        f"/admin/agentops/session/{session.pk}/",
    ):
        assert root.post(f"{url}delete/", {"post": "yes"}).status_code == 403
    url = f"/admin/agentops/agentversion/{version.pk}/change/"
    save(root, url, instructions="Pay everybody.", max_steps="999")
    version.refresh_from_db()
    assert (version.instructions, version.max_steps) == ("Pay what is asked.", 12)
    ids = [str(stage.agent.pk)]
    root.post("/admin/agentops/agent/", {"action": "delete_selected", "_selected_action": ids, "post": "yes"})
    assert (Tenant.objects.count(), Agent.objects.count(), Session.objects.count()) == (2, 1, 1)


def test_failed_record_undoes_the_change(stage: Stage, root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**kwargs: object) -> None:
        raise RuntimeError("the ledger is away")

    monkeypatch.setattr("agentops.console.admin.audited.append_to", broken)
    url = f"/admin/agentops/agent/{stage.agent.pk}/change/"
    fields = form_of(root, url, name="Paymaster")
    with pytest.raises(RuntimeError, match="the ledger is away"):
        root.post(url, fields)
    stage.agent.refresh_from_db()
    assert stage.agent.name == "Payer"


def test_ledger_is_read_by_key_stream_and_type(stage: Stage, root: Client) -> None:
    session = stage.work(pay(), DONE)
    page = root.get(f"/admin/agentops/ledgerrow/{session.pk}:2/change/").content.decode()
    assert "call.intended" in page
    assert "The customer asked for it." not in page
    for term, count in ((str(session.pk), 5), (f"{session.pk}:2", 1), ("call.intended", 1), ("call", 0)):
        found = root.get("/admin/agentops/ledgerrow/", {"q": term})
        assert found.context["cl"].result_count == count
    for key in ("nonsense", f"{session.pk}:x", f"{session.pk}:99", ":", f"{session.pk}"):
        assert root.get(f"/admin/agentops/ledgerrow/{key}/change/").status_code == 302


@pytest.mark.parametrize("table", ["invocation", "moneywindow", "ledgerrow"])
def test_records_take_no_change(stage: Stage, root: Client, table: str) -> None:
    session = stage.work(pay(), DONE)
    keys = {
        "ledgerrow": f"{session.pk}:0",
        "invocation": stage_key("invocation"),
        "moneywindow": stage_key("moneywindow"),
    }
    base = f"/admin/agentops/{table}/"
    assert root.get(f"{base}add/").status_code == 403
    assert root.get(f"{base}{keys[table]}/change/").status_code == 200
    assert root.post(f"{base}{keys[table]}/change/", {"type": "x"}).status_code == 403
    assert root.post(f"{base}{keys[table]}/delete/", {"post": "yes"}).status_code == 403


def stage_key(table: str) -> object:
    from django.apps import apps  # noqa: PLC0415 - models by the name that the address has

    return apps.get_model("agentops", table).objects.order_by("pk")[0].pk


def test_other_tenants_rows_do_not_show(stage: Stage, root: Client) -> None:
    foreign = create_agent(tenant_id=stage.cast.other.pk, role=roles.get_role("toy"), name="Far", actor="user:root")
    version = AgentVersion.objects.get(agent=foreign)
    grant = ToolGrant.objects.filter(version=version).first()
    assert grant is not None
    stream = derived_id(str(stage.cast.other.pk), f"agent:{foreign.pk}")
    for table, key in (
        ("agent", foreign.pk),
        ("agentversion", version.pk),
        ("toolgrant", grant.pk),
        ("ledgerrow", f"{stream}:0"),
    ):
        assert root.get(f"/admin/agentops/{table}/{key}/change/").status_code == 302
    assert "Far" not in root.get("/admin/agentops/agent/").content.decode()
    fields = {"agent": str(foreign.pk), "number": "7", "instructions": "x", "max_steps": "1", "max_seconds": "1"}
    fields |= {"max_cost_micro": "1", "grants-TOTAL_FORMS": "0", "grants-INITIAL_FORMS": "0"}
    assert root.post("/admin/agentops/agentversion/add/", fields).status_code == 200
    assert AgentVersion.objects.filter(agent=foreign).count() == 1


@pytest.mark.parametrize("person", ["alice", "bob", "charlie", "anonymous"])
def test_admin_is_closed_to_those_who_are_not_staff(stage: Stage, person: str) -> None:
    client = Client() if person == "anonymous" else signed_in(getattr(stage.cast, person))
    for table in TABLES:
        response = client.get(f"/admin/agentops/{table}/")
        assert response.status_code == 302
        assert "/admin/agentops/" not in response.headers["Location"].split("?")[0]


def test_staff_without_a_permission_change_nothing(stage: Stage) -> None:
    stage.cast.bob.is_staff = True
    stage.cast.bob.save()
    stage.cast.bob.user_permissions.add(Permission.objects.get(codename="view_agent"))
    client = signed_in(User.objects.get(pk=stage.cast.bob.pk))
    url = f"/admin/agentops/agent/{stage.agent.pk}/change/"
    assert client.get(url).status_code == 200
    assert client.post(url, {"name": "x"}).status_code == 403
    assert client.get("/admin/agentops/membership/").status_code == 403
