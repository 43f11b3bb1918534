"""Freezing and lifting through the pages."""

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import timezone

from agentops.agents.operations import create_agent
from agentops.registry import roles
from agentops.runtime import freezing
from agentops.runtime.models import Invocation, Session
from agentops.tenancy.models import Freeze, Role
from approvals.models import ApprovalRequest, Verdict
from tests.console.conftest import DONE, TELL, Stage, pay, signed_in
from tests.console.operators import admin_of, freeze_by, queries_of, queue_up, read, superuser_of, words_of
from tests.factories.people import make_person

NEW = "/operations/freezes/new/"


def url(freeze: Freeze, verb: str = "") -> str:
    return f"/operations/freezes/{freeze.pk}/{verb}"


def test_support_freezes_the_tenant_and_no_session_is_worked(stage: Stage, bob: Client) -> None:
    waiting, session = stage.work(pay(5000), DONE), queue_up(stage, TELL, DONE)
    made = freeze_by(bob)
    assert (made.tenant_id, made.agent_id, made.tool, made.frozen_by) == (stage.cast.tenant.pk, None, "", "user:bob")
    assert stage.go_on(session).status == "queued"
    waiting.refresh_from_db()
    assert (waiting.status, ApprovalRequest.objects.get().state) == ("queued", "voided")
    words = read(bob, url(made))
    assert "All agents of North Goods" in words
    assert "by bob" in words
    assert "Wrong amounts." in words


def test_freeze_of_one_tool_of_one_agent_refuses_it_alone(stage: Stage, bob: Client) -> None:
    made = freeze_by(bob, where=f"agent:{stage.agent.pk}", tool="pay")
    assert (made.agent_id, made.tool) == (stage.agent.pk, "pay")
    session = stage.work(pay(), TELL, DONE)
    assert (session.status, stage.toy.vendor.calls, stage.toy.notes) == ("finished", [], ["Told the customer."])


def test_form_offers_what_the_reader_may_freeze(stage: Stage, bob: Client) -> None:
    create_agent(tenant_id=stage.cast.other.pk, role=roles.get_role("toy"), name="Far", actor="user:charlie")
    page = bob.get(NEW).content.decode()
    offered = re.findall(r'<option value="([^"]*)"', page)
    tools = sorted(tool.name for tool in stage.toy.spec().tools)
    assert offered == ["tenant", f"agent:{stage.agent.pk}", "", *tools]
    assert "Far" not in page
    assert 'value="everywhere"' in superuser_of(stage).get(NEW).content.decode()


@pytest.mark.parametrize("where", ["everywhere", "agent:nonsense", "nonsense", ""])
def test_nobody_freezes_what_is_not_offered(stage: Stage, bob: Client, where: str) -> None:
    far = create_agent(tenant_id=stage.cast.other.pk, role=roles.get_role("toy"), name="Far", actor="user:charlie")
    for asked in (where, f"agent:{far.pk}"):
        response = bob.post(NEW, {"where": asked, "tool": "", "reason": "Because."})
        assert response.status_code == 422
        if asked:
            assert "There is nothing like that to freeze." in read(bob, NEW, where=asked)
    assert bob.post(NEW, {"where": "tenant", "tool": "rm", "reason": "Because."}).status_code == 422
    assert not Freeze.objects.exists()


def test_what_is_wrong_is_said_in_its_place_and_keeps_what_was_typed(stage: Stage, bob: Client) -> None:
    response = bob.post(NEW, {"where": f"agent:{stage.agent.pk}", "tool": "pay", "reason": "  "})
    page = response.content.decode()
    assert response.status_code == 422
    assert "A freeze needs a reason." in words_of(page)
    assert '<option value="pay" selected>' in page
    freeze_by(bob)
    again = bob.post(NEW, {"where": "tenant", "tool": "", "reason": "Twice."})
    assert again.status_code == 422
    assert "You have frozen exactly this already" in words_of(again.content.decode())
    assert Freeze.objects.count() == 1


def test_effect_is_shown_before_anything_is_saved(stage: Stage, bob: Client) -> None:
    stage.work(pay(5000), DONE)
    queue_up(stage)
    words = read(bob, NEW)
    assert "0 sessions at work stop after the present step." in words
    assert "1 session in the queue stays there." in words
    assert "1 request that waits for a decision will be withdrawn." in words
    looked = bob.post(NEW, {"where": "tenant", "tool": "note", "reason": "Not yet.", "look": "1"})
    words = words_of(looked.content.decode())
    assert "Sessions go on, but no new call of note is made." in words
    assert "0 requests that wait for a decision will be withdrawn." in words
    assert "Not yet." in words
    part = bob.get(NEW, {"where": f"agent:{stage.agent.pk}", "tool": "pay"}, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "pay, for the agent Payer" in words_of(part.content.decode())
    assert not Freeze.objects.exists()
    assert ApprovalRequest.objects.get().state == "pending"


def test_effect_names_freezes_that_cover_it_already(stage: Stage, bob: Client) -> None:
    freeze_by(bob, where=f"agent:{stage.agent.pk}")
    dora = admin_of(stage)
    assert "frozen already, by bob" in read(dora, NEW, where=f"agent:{stage.agent.pk}", tool="pay")
    assert "frozen already" not in read(dora, NEW)


def test_lifting_takes_two_people(stage: Stage, bob: Client) -> None:
    session = queue_up(stage, TELL, DONE)
    dora, erin = admin_of(stage), admin_of(stage, "erin")
    made = freeze_by(bob)
    assert "Nobody has asked yet." in read(dora, url(made))
    early = dora.post(url(made, "lift/"))
    assert early.status_code == 409
    assert "Nobody has asked to lift this freeze." in words_of(early.content.decode())
    assert dora.post(url(made, "ask/"), {"reason": "The prices are right again."}).status_code == 302
    words = read(dora, url(made))
    assert "You asked to lift it, so another person has to do it." in words
    assert "Lift the freeze" not in words
    alone = dora.post(url(made, "lift/"))
    assert alone.status_code == 409
    assert "another person has to do it" in words_of(alone.content.decode())
    assert stage.go_on(session).status == "queued"
    assert "Lift the freeze" in read(erin, url(made))
    assert erin.post(url(made, "lift/")).status_code == 302
    assert stage.go_on(session).status == "finished"
    words = read(bob, url(made))
    assert "by dora" in words
    assert "by erin" in words
    late = dora.post(url(made, "lift/"))
    assert late.status_code == 409
    assert "already lifted" in words_of(late.content.decode())


def test_support_asks_and_does_not_lift(stage: Stage, bob: Client) -> None:
    made = freeze_by(bob)
    assert bob.post(url(made, "ask/"), {"reason": ""}).status_code == 422
    assert bob.post(url(made, "ask/"), {"reason": "It is safe."}).status_code == 302
    eve = signed_in(make_person("eve", stage.cast.tenant, Role.SUPPORT))
    assert "An admin has to lift it." in read(eve, url(made))
    assert eve.post(url(made, "lift/")).status_code == 404
    assert admin_of(stage).post(url(made, "lift/")).status_code == 302


def test_approver_reads_and_changes_nothing(stage: Stage, alice: Client, bob: Client) -> None:
    made = freeze_by(bob)
    page = alice.get(url(made)).content.decode()
    assert "/ask/" not in page
    assert NEW not in alice.get("/operations/freezes/").content.decode()
    assert NEW not in alice.get("/operations/").content.decode()
    for address in (NEW, url(made, "ask/"), url(made, "lift/")):
        assert alice.post(address, {"where": "tenant", "reason": "x"}).status_code == 404
    assert Freeze.objects.count() == 1


def test_everything_is_frozen_and_lifted_by_superusers_alone(stage: Stage, bob: Client, charlie: Client) -> None:
    root, dora = superuser_of(stage), admin_of(stage)
    made = freeze_by(root, where="everywhere", reason="The model is broken.")
    assert made.tenant_id is None
    for client in (bob, charlie):
        words = read(client, "/")
        assert "Frozen: All agents of every tenant" in words
        assert "The model is broken." in words
    for verb in ("ask/", "lift/"):
        assert dora.post(url(made, verb), {"reason": "x"}).status_code == 404
    assert root.post(url(made, "ask/"), {"reason": "It works again."}).status_code == 302
    assert "A superuser has to lift it." in read(dora, url(made))
    other = superuser_of(stage, "ruth", stage.cast.other)
    assert other.post(url(made, "lift/")).status_code == 302
    assert "Frozen:" not in read(charlie, "/")


def test_banner_stands_on_every_page_while_sessions_are_stopped(stage: Stage, alice: Client, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    freeze_by(bob, tool="pay")
    assert "Frozen:" not in read(alice, "/sessions/")
    made = freeze_by(bob, where=f"agent:{stage.agent.pk}")
    pages = ("/", "/approvals/", "/sessions/", f"/sessions/{session.pk}/", "/operations/", "/operations/spend/")
    for page in pages:
        content = alice.get(page).content.decode()
        assert "Frozen: The agent Payer" in words_of(content), page
        assert "“ Wrong amounts. ”" in words_of(content)
        assert f'href="{url(made)}"' in content
    freeze_by(bob)
    words = read(alice, "/")
    assert "Frozen: All agents of North Goods" in words
    assert "And 1 more" in words


def test_list_tells_active_ones_from_lifted_ones_page_by_page(stage: Stage, bob: Client) -> None:
    at = datetime(2026, 11, 2, 23, 30, tzinfo=UTC)
    for n in range(32):
        Freeze.objects.create(
            tenant=stage.cast.tenant, reason=f"Old {n}.", frozen_by="user:bob", frozen_at=at, lift_asked_by="user:bob",
            lifted_by="user:dora", lifted_at=at,
        )  # fmt: skip
    Freeze.objects.create(tenant=stage.cast.other, reason="Theirs.", frozen_by="user:charlie", frozen_at=at)
    freeze_by(bob, reason="Present one.")
    stage.cast.tenant.timezone = "Asia/Tokyo"
    stage.cast.tenant.save()
    first = bob.get("/operations/freezes/").content.decode()
    following = re.search(r'href="(\?after=[^"]*)" rel="next"', first)
    assert following
    second = bob.get(f"/operations/freezes/{following[1]}").content.decode()
    seen = re.findall(r"Old (\d+)\.", first) + re.findall(r"Old (\d+)\.", second)
    assert seen == [str(n) for n in range(31, -1, -1)]
    assert "Present one." in first
    assert "Theirs." not in first + second
    assert "3 Nov 2026, 08:30" in first
    assert 'rel="next"' not in second


def test_one_query_count_for_one_and_for_thirty(stage: Stage, bob: Client) -> None:
    counts = []
    for more in (1, 29):
        for _ in range(more):
            for lifted in (None, timezone.now()):
                Freeze.objects.create(
                    tenant=stage.cast.tenant, agent_id=stage.agent.pk, reason="x", frozen_by="user:bob",
                    frozen_at=timezone.now(), lifted_at=lifted, lift_asked_by="user:bob", lifted_by="user:dora",
                )  # fmt: skip
        counts.append((queries_of(bob, "/operations/freezes/"), queries_of(bob, "/operations/")))
    assert counts[0] == counts[1]


def test_freeze_of_another_tenant_does_not_exist(stage: Stage, bob: Client, charlie: Client) -> None:
    made = freeze_by(bob)
    assert charlie.get(url(made)).status_code == 404
    assert "Frozen:" not in read(charlie, "/")
    assert charlie.get("/operations/", {"freeze": str(made.pk)}, headers={"HX-Request": "true"}).status_code == 404


@pytest.mark.parametrize(("verdict", "status"), [(Verdict.REJECT, "queued"), (Verdict.APPROVE, "running")])
def test_freeze_leaves_alone_what_was_decided_a_moment_ago(
    stage: Stage, bob: Client, verdict: Verdict, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = stage.work(pay(5000), TELL, DONE)
    seen_before = [Invocation.objects.get()]
    decided = stage.decide(session, verdict, "No." if verdict is Verdict.REJECT else "")
    Session.objects.filter(pk=session.pk).update(status=status)
    monkeypatch.setattr(freezing, "covered_requests", lambda **scope: seen_before)
    freeze_by(bob, tool="pay")
    before, position = decided.state, Session.objects.get(pk=session.pk).position
    decided.refresh_from_db()
    session.refresh_from_db()
    assert (decided.state, session.status, session.position) == (before, status, position)
    assert Freeze.objects.get().lifted_at is None
