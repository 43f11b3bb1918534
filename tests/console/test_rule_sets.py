"""Rule sets through the admin: written, refused with every reason, tried on history, activated, at work, withdrawn."""

import html
import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentops.console.admin.rule_forms import EXAMPLE, written
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.policy.models import RuleSet
from agentops.policy.operations import CannotActivate, activate_rule_set, save_rule_set, withdraw_rule_set
from agentops.policy.queries import rules_of_tenant
from agentops.policy.rule_check import BadRules
from agentops.runtime import trying
from agentops.runtime.house import house_of
from agentops.runtime.models import Invocation
from agentops.tenancy.models import Tenant
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from tests.console.conftest import DONE, TELL, Stage, pay, signed_in
from tests.console.operators import superuser_of
from tests.console.test_admin import recorded
from tests.factories.people import make_queue
from tests.policy.rule_sets import OVER, rule, text

BASE = "/admin/agentops/ruleset/"
SMALL = {**OVER, "value": "3.00"}
ASKS = rule(id="small", when=[SMALL], words="Even $3.00 is a lot.")
FORBIDS = rule(id="none", when=[], effect="forbid", words="No payments.")


@pytest.fixture
def root(stage: Stage) -> Client:
    """An admin of Alice's and Bob's tenant who may use every screen."""
    return superuser_of(stage)


def saved(tenant: Tenant, *rules: Any) -> RuleSet:
    house = house_of(tenant.pk)
    return save_rule_set(tenant_id=tenant.pk, text=text(*rules), note="Why.", house=house, actor="user:root")


def activated(tenant: Tenant, *rules: Any) -> RuleSet:
    made = saved(tenant, *rules)
    active = RuleSet.objects.filter(tenant=tenant, active=True).values_list("pk", flat=True).first()
    house = house_of(tenant.pk)
    return activate_rule_set(rule_set_id=made.pk, instead_of=active, house=house, actor="user:root")


def form(tenant: Tenant, *rules: Any, **changes: Any) -> dict[str, Any]:
    return {"tenant": str(tenant.pk), "text": text(*rules), "note": "Why.", "days": "7", "base": "then", **changes}


def shown(client: Client, url: str, data: dict[str, Any] | None = None) -> str:
    response = client.get(url) if data is None else client.post(url, data)
    assert response.status_code == 200
    return str(response.content.decode())


def test_version_is_written_activated_and_withdrawn_on_record(stage: Stage, root: Client) -> None:
    tenant = stage.cast.tenant
    assert "large-amounts" in shown(root, f"{BASE}add/")
    assert root.post(f"{BASE}add/", form(tenant, ASKS)).status_code == 302
    made = RuleSet.objects.get()
    assert (made.number, made.active, made.made_by, made.note) == (1, False, "user:root", "Why.")
    page = shown(root, f"{BASE}{made.pk}/change/")
    assert "Ask for pay when money.minor &gt; $3.00." in page
    assert "Against the active version" in page
    confirm = shown(root, f"{BASE}{made.pk}/activate/")
    assert "It has not been tried on history." in confirm
    assert root.post(f"{BASE}{made.pk}/activate/", {"instead_of": ""}).status_code == 302
    made.refresh_from_db()
    assert (made.active, made.activated_by) == (True, "user:root")
    assert "Even $3.00 is a lot." in shown(root, f"{BASE}{made.pk}/withdraw/")
    assert root.post(f"{BASE}{made.pk}/withdraw/").status_code == 302
    made.refresh_from_db()
    assert made.active is False
    stream = f"tenant:{tenant.pk}"
    assert recorded(tenant, stream, "config.added") == [
        ("RuleSet", {"digest": ["", made.digest], "note": ["", "Why."]})
    ]
    assert recorded(tenant, stream, "config.changed") == [
        ("RuleSet", {"active": ["no", "yes"]}),
        ("RuleSet", {"active": ["yes", "no"]}),
    ]
    event = LedgerEvent.objects.get(type="config.added", facts__model="RuleSet")
    body = payload_of(event.stream, event.position)
    assert body["document"] == json.loads(text(ASKS))


def test_every_problem_is_shown_and_nothing_is_kept(stage: Stage, root: Client) -> None:
    wrong = rule(when=[{**OVER, "unit": "DOLLAR"}], queue="nobody")
    page = shown(root, f"{BASE}add/", form(stage.cast.tenant, wrong, rule(id="b", tools=["steal"])))
    assert "money.minor is money and needs a currency" in page
    assert "there is no queue &#x27;nobody&#x27; here." in page
    assert "there is no tool &#x27;steal&#x27; here." in page
    assert shown(root, f"{BASE}add/", form(stage.cast.tenant, ASKS, note="")).count("This field is required.") == 1
    for bad in ("", "{}", '{"rules": []}', " " * 1_000_000):
        assert root.post(f"{BASE}add/", form(stage.cast.tenant, text=bad)).status_code == 200
    assert RuleSet.objects.count() == 0
    assert not LedgerEvent.objects.filter(facts__model="RuleSet").exists()


def test_draft_is_tried_without_being_kept(stage: Stage, root: Client) -> None:
    stage.work(TELL, pay(500), DONE)
    page = shown(root, f"{BASE}draft/", form(stage.cast.tenant, ASKS, note=""))
    assert "2 proposals in 7 days, 1 of them decided another way." in page
    assert "Compliance packs are not tried" in page
    assert "tenant.small" in page
    invocation = Invocation.objects.get(tool="pay")
    assert f"/sessions/{invocation.session_id}/?at=" in page
    assert RuleSet.objects.count() == 0
    again = shown(root, f"{BASE}draft/", form(stage.cast.tenant, rule(tools=["steal"])))
    assert "there is no tool &#x27;steal&#x27; here." in again
    assert "&quot;steal&quot;" in again
    bad_window = shown(root, f"{BASE}draft/", form(stage.cast.tenant, ASKS, days="0"))
    assert "Ensure this value is greater than or equal to 1." in bad_window
    assert RuleSet.objects.count() == 0


def test_what_was_tried_stands_where_it_is_activated(stage: Stage, root: Client) -> None:
    stage.work(pay(500), DONE)
    made = saved(stage.cast.tenant, FORBIDS)
    page = shown(root, f"{BASE}{made.pk}/try/", {"days": "3", "base": "now"})
    sentence = "1 proposals in 3 days, 1 of them decided another way."
    assert sentence in page
    assert sentence in shown(root, f"{BASE}{made.pk}/activate/")
    assert sentence in shown(root, f"{BASE}{made.pk}/change/")
    assert "Ensure" in shown(root, f"{BASE}{made.pk}/try/", {"days": "9999", "base": "then"})


def test_active_rules_decide_from_the_next_step_on(stage: Stage) -> None:
    assert stage.work(pay(500), DONE).status == "finished"
    activated(stage.cast.tenant, ASKS)
    asked = stage.work(pay(500), DONE)
    request = ApprovalRequest.objects.get(session_id=asked.pk)
    assert request.reasons[0] == ["tenant.small", "ask", "Even $3.00 is a lot."]
    activated(stage.cast.tenant, FORBIDS)
    stage.work(pay(500), TELL, DONE)
    assert [call.tool for call in Invocation.objects.order_by("id")] == ["pay", "pay", "note"]
    withdraw_rule_set(rule_set_id=RuleSet.objects.get(active=True).pk, actor="user:root")
    assert stage.work(pay(500), DONE).status == "finished"


def test_approval_that_was_given_under_other_rules_is_void(stage: Stage) -> None:
    session = stage.work(pay(9_000), DONE)
    stage.decide(session, Verdict.APPROVE)
    activated(stage.cast.tenant, ASKS)
    stage.go_on(session)
    states = list(ApprovalRequest.objects.order_by("created_at").values_list("state", flat=True))
    assert states == ["voided", "pending"]
    assert stage.toy.vendor.balances["a-1"] == 100_000


def test_rules_of_one_tenant_are_not_anothers(stage: Stage) -> None:
    activated(stage.cast.tenant, FORBIDS)
    assert len(rules_of_tenant(stage.cast.tenant.pk).rules) == 1
    assert rules_of_tenant(stage.cast.other.pk).rules == ()


def test_versions_never_change_and_one_is_active(stage: Stage) -> None:
    first = activated(stage.cast.tenant, ASKS)
    second = saved(stage.cast.tenant, FORBIDS)
    assert (first.number, second.number) == (1, 2)
    changes: tuple[dict[str, Any], ...] = ({"document": {"rules": []}}, {"note": "x"}, {"digest": "0" * 64})
    for change in changes:
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            RuleSet.objects.filter(pk=first.pk).update(**change)
    now = {"activated_by": "x", "activated_at": first.activated_at}
    for change, name in (({"active": True, **now}, "one_rule_set"), ({"active": True}, "activated_by_somebody")):
        with pytest.raises(DatabaseError, match=name), transaction.atomic():
            RuleSet.objects.filter(pk=second.pk).update(**change)


def test_change_of_rules_raises_the_epoch(stage: Stage) -> None:
    def epoch() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT epoch FROM switchboard WHERE id = 1")
            return int(cursor.fetchone()[0])

    before = epoch()
    made = activated(stage.cast.tenant, ASKS)
    assert epoch() > before
    before = epoch()
    withdraw_rule_set(rule_set_id=made.pk, actor="user:root")
    assert epoch() > before


def test_two_admins_do_not_overwrite_each_other(stage: Stage, root: Client) -> None:
    first, second = saved(stage.cast.tenant, ASKS), saved(stage.cast.tenant, FORBIDS)
    house = house_of(stage.cast.tenant.pk)
    activate_rule_set(rule_set_id=second.pk, instead_of=None, house=house, actor="user:bob")
    response = root.post(f"{BASE}{first.pk}/activate/", {"instead_of": ""}, follow=True)
    assert "Another version is active than the one shown." in response.content.decode()
    assert root.post(f"{BASE}{first.pk}/activate/", {"instead_of": "x"}).status_code == 302
    with pytest.raises(CannotActivate):
        withdraw_rule_set(rule_set_id=first.pk, actor="user:bob")
    with pytest.raises(CannotActivate):
        activate_rule_set(rule_set_id=second.pk, instead_of=second.pk, house=house, actor="user:bob")
    assert RuleSet.objects.get(active=True).pk == second.pk


def test_version_that_fits_no_more_is_not_activated(stage: Stage) -> None:
    made = saved(stage.cast.tenant, rule(when=[SMALL], queue="payments"))
    stage.cast.queue.delete()
    house = house_of(stage.cast.tenant.pk)
    with pytest.raises(BadRules, match="there is no queue 'payments' here"):
        activate_rule_set(rule_set_id=made.pk, instead_of=None, house=house, actor="user:root")


def test_queue_in_which_active_rules_ask_is_not_deleted(stage: Stage, root: Client) -> None:
    queue, base = stage.cast.queue, "/admin/approvals/approvalqueue/"
    spare = make_queue(stage.cast.tenant, "spare")
    made = activated(stage.cast.tenant, rule(when=[SMALL], queue="payments"))
    held = "the active rule set, which asks people in Payments."
    assert held in shown(root, f"{base}{queue.pk}/delete/", {"post": "yes"})
    both = {"action": "delete_selected", "_selected_action": [queue.pk, spare.pk], "post": "yes"}
    assert held in shown(root, base, both)
    assert set(ApprovalQueue.objects.filter(tenant=stage.cast.tenant)) == {queue, spare}
    withdraw_rule_set(rule_set_id=made.pk, actor="user:root")
    assert root.post(base, both).status_code == 302
    assert not ApprovalQueue.objects.filter(tenant=stage.cast.tenant).exists()


def test_example_is_a_rule_set_and_shows_as_it_was_written(stage: Stage, root: Client) -> None:
    """The database keeps keys in an order of its own."""
    sent = {**form(stage.cast.tenant), "text": written(EXAMPLE)}
    assert root.post(f"{BASE}add/", sent).status_code == 302
    made = RuleSet.objects.get()
    page = html.unescape(shown(root, f"{BASE}{made.pk}/change/"))
    assert written(EXAMPLE) in page
    assert "Forbid for texts with “we guarantee”, “guaranteed”." in page


def test_other_tenants_versions_do_not_show(stage: Stage, root: Client) -> None:
    house = house_of(stage.cast.tenant.pk)
    far = save_rule_set(tenant_id=stage.cast.other.pk, text=text(ASKS), note="Far.", house=house, actor="user:charlie")
    assert "Far." not in shown(root, BASE)
    for page in ("change", "try", "activate", "withdraw"):
        assert root.get(f"{BASE}{far.pk}/{page}/").status_code == 404
        assert root.post(f"{BASE}{far.pk}/{page}/", {"instead_of": ""}).status_code in (403, 404)
    assert root.post(f"{BASE}add/", form(stage.cast.other, ASKS)).status_code == 200
    assert root.post(f"{BASE}draft/", form(stage.cast.other, ASKS)).status_code == 200
    assert RuleSet.objects.count() == 1


def test_staff_without_the_permission_only_look(stage: Stage) -> None:
    made = saved(stage.cast.tenant, ASKS)
    stage.cast.bob.is_staff = True
    stage.cast.bob.save()
    stage.cast.bob.user_permissions.add(Permission.objects.get(codename="view_ruleset"))
    client = signed_in(User.objects.get(pk=stage.cast.bob.pk))
    assert "Activate…" not in shown(client, f"{BASE}{made.pk}/change/")
    for page in (f"{made.pk}/activate/", f"{made.pk}/withdraw/", "add/", "draft/"):
        assert client.post(f"{BASE}{page}", form(stage.cast.tenant, ASKS)).status_code == 403
    assert client.post(f"{BASE}{made.pk}/change/", {"note": "x"}).status_code == 403
    assert client.post(f"{BASE}{made.pk}/delete/", {"post": "yes"}).status_code == 403
    assert RuleSet.objects.get().active is False


def test_list_takes_as_many_queries_for_thirty_as_for_one(stage: Stage, root: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as counted:
            shown(root, BASE)
        return len(counted)

    saved(stage.cast.tenant, ASKS)
    one = queries()
    for _ in range(29):
        saved(stage.cast.tenant, ASKS)
    assert queries() == one
    assert "version 30" in shown(root, BASE)


def command(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    call_command("simulate_policy", "--tenant", "north", *arguments)
    return capsys.readouterr().out


def test_command_tries_a_file_or_the_active_version(stage: Stage, tmp_path: Any, capsys: Any) -> None:
    stage.work(TELL, pay(500), DONE)
    file = tmp_path / "rules.json"
    file.write_text(text(ASKS))
    found = json.loads(command("--days", "2", "--rules", str(file), "--json", capsys=capsys))
    assert (found["total"], found["changed"], found["matrix"]["ran>asked"]["money"]) == (2, 1, {"USD": 500})
    assert json.loads(command("--json", capsys=capsys))["changed"] == 0
    activated(stage.cast.tenant, FORBIDS)
    told = command("--base", "now", capsys=capsys)
    assert "2 proposals, 1 decided another way." in told
    assert "ran -> refused  1; $5.00" in told
    assert Invocation.objects.count() == 2


def test_command_refuses_what_it_cannot_use(stage: Stage, tmp_path: Any, capsys: Any) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text(rule(tools=["steal"]), rule(id="b", people=9)))
    with pytest.raises(CommandError, match=r"no tool 'steal'[\s\S]*from 1 to 5"):
        command("--rules", str(file), capsys=capsys)
    file.write_bytes(b" " * 1_000_000)
    with pytest.raises(CommandError, match="larger than"):
        command("--rules", str(file), capsys=capsys)
    with pytest.raises(CommandError, match="cannot be read"):
        command("--rules", str(tmp_path / "none.json"), capsys=capsys)
    with pytest.raises(CommandError, match="no window"):
        command("--days", "0", capsys=capsys)
    with pytest.raises(CommandError, match="no tenant"):
        call_command("simulate_policy", "--tenant", "nowhere")


def test_window_is_counted_back_from_now(stage: Stage, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.work(pay(500), DONE)
    real = trying.utcnow
    monkeypatch.setattr(trying, "utcnow", lambda: real() + timedelta(days=3))
    assert json.loads(command("--days", "2", "--json", capsys=capsys))["total"] == 0
    assert json.loads(command("--days", "4", "--json", capsys=capsys))["total"] == 1
