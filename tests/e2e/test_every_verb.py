"""Every verb in every way: with a mouse, without JavaScript, by keyboard alone, on a phone."""

import re
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from guardian.shortcuts import assign_perm
from playwright.sync_api import expect
from pytest_django.fixtures import Settings

from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from approvals.models import Act, ApprovalQueue, ApprovalRequest, Rung
from support_agent.models import DeskOperation
from tests.e2e.conftest import Opened, Stage
from tests.e2e.walkers import WAYS, Walker
from tests.factories.factors import add_app, code_of

REFUND, SKIPPED, REJECTED, EDITED, TAKEN_OVER, FINAL = "T-1009", "T-1022", "T-1018", "T-1008", "T-1007", "T-1002"


@dataclass(frozen=True)
class Desk:
    """Alice in one of the ways, and what waits for her."""

    stage: Stage
    alice: Walker
    dana: User

    def kinds(self, request: ApprovalRequest) -> list[str]:
        """Return what people did to a request, in order."""
        return list(
            Act.objects.filter(request=request, person__isnull=False).order_by("pk").values_list("kind", flat=True)
        )


@pytest.fixture(params=WAYS)
def desk(request: pytest.FixtureRequest, stage: Stage, opened: Opened, dana: User, settings: Settings) -> Desk:
    settings.APPROVAL_UNDO_SECONDS = 120
    add_app(stage.shop.approver)
    for queue in ApprovalQueue.objects.filter(tenant=stage.shop.tenant):
        assign_perm("approvals.manage_queue", stage.shop.approver, queue)
        Rung.objects.create(queue=queue, place=1, kind="person", person=dana, after_percent=50)
    return Desk(stage, opened("alice", request.param), dana)


def test_every_verb(desk: Desk, subtests: pytest.Subtests) -> None:
    request = desk.stage.ask(REFUND)
    for walk in (claim_and_release, ask_the_agent, escalate, assign, approve_and_take_back):
        with subtests.test(walk.__name__):
            walk(desk, request)
    for walk, ticket in ((reject, REJECTED), (edit, EDITED), (take_over, TAKEN_OVER), (approve_for_good, FINAL)):
        with subtests.test(walk.__name__):
            walk(desk, desk.stage.ask(ticket))
    with subtests.test("skip"):
        skip(desk, desk.stage.ask(SKIPPED))
    assert not DeskOperation.objects.filter(action__in=("RefundOrder", "CancelOrder")).exists()


def claim_and_release(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.page.goto("/approvals/")
    if alice.scripts:
        expect(alice.page.locator("#live")).to_have_text("Live since")
    alice.claim_first()
    row = alice.page.locator("[data-row]")
    expect(row).to_contain_text("You have it until")
    expect(row.locator("[data-open]:focus")).to_have_text(request.effect)
    alice.press(row.locator("[data-open]"))
    expect(alice.page.get_by_role("heading", level=1)).to_have_text(request.effect)
    alice.press(alice.button("Release"))
    alice.hears("Nobody has it.")
    alice.press(alice.button("Claim"))
    alice.hears("claimed by you until")
    assert desk.kinds(request) == ["claimed", "released", "claimed"]


def ask_the_agent(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.open(request)
    alice.choose("ask")
    alice.send("Ask and wait")
    alice.hears("Not sent yet")
    alice.write(alice.field("Question to the agent"), "Which rule allows this?")
    alice.send("Ask and wait")
    alice.hears("The agent is answering", focus="#h-talk")
    work_until_quiet()
    alice.look_again()
    alice.hears("Agent’s claim, not verified", focus="#h-talk")
    expect(alice.page.locator("#decide [name=verb]").first).to_be_attached()


def escalate(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.open(request)
    alice.choose("escalate")
    alice.send("Escalate")
    alice.hears("Not sent yet")
    alice.write(alice.field("Note"), "Too large for me: r and e are letters here.")
    alice.send("Escalate")
    alice.hears("Escalated to step 1")
    request.refresh_from_db()
    assert (request.rung, request.state) == (1, "pending")


def assign(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.open(request)
    alice.press(alice.page.locator("summary").filter(has_text="Assign"))
    alice.press(alice.button("Assign"))
    alice.hears("Choose to whom.")
    alice.pick(alice.field("To"), "dana")
    alice.press(alice.button("Assign"))
    alice.hears("Assigned to dana.")
    request.refresh_from_db()
    assert request.assigned_to == desk.dana


def approve_and_take_back(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.open(request)
    alice.choose("approve")
    alice.send("Approve: issue refund, $129.00")
    alice.hears("Not sent yet")
    alice.write(alice.field("What I checked"), "The order.")
    alice.send("Approve: issue refund, $129.00")
    alice.hears("It is carried out at", focus="#outcome")
    alice.press(alice.button("Take it back"))
    alice.hears("Taken back.")
    expect(alice.page.locator("#decide")).to_be_visible()
    request.refresh_from_db()
    assert request.state == "pending"


def reject(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.open(request)
    alice.start_rejecting()
    alice.send("Reject")
    alice.hears("Not sent yet")
    alice.mark(alice.field("Wrong amount"))
    alice.write(alice.page.locator("#why"), "The jacket was sold at half the price.")
    alice.send("Reject")
    alice.hears("“Wrong amount: The jacket was sold at half the price.”", focus="#outcome")
    desk.stage.finish(request)


def edit(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.open(request)
    alice.choose("edit")
    alice.send("Open the form")
    expect(alice.page.get_by_text("another person must decide")).to_be_visible()
    alice.write(alice.page.locator("[name=arg-amount_minor]"), "100")
    alice.write(alice.field("Why you change it"), "Only a dollar is owed.")
    alice.press(alice.button("Resubmit with changes"))
    told = alice.page.get_by_role("status").filter(has_text="Edited and proposed anew")
    expect(told).to_be_visible()
    work_until_quiet()
    alice.open(ApprovalRequest.objects.get(supersedes=request))
    told = alice.page.get_by_role("status").filter(has_text="You asked for this and changed this")
    expect(told).to_be_visible()
    expect(alice.page.locator("#decide")).to_have_count(0)


def take_over(desk: Desk, request: ApprovalRequest) -> None:
    alice = desk.alice
    alice.open(request)
    alice.choose("take_over")
    alice.send("Take over the session")
    alice.hears("Not sent yet")
    alice.write(alice.field("Why"), "I know the customer.")
    alice.send("Take over the session")
    alice.hears("Taken over by you", focus="#stands")
    session = Session.objects.get(pk=request.session_id)
    assert (session.status, session.taken_by) == ("paused", "user:alice")


def approve_for_good(desk: Desk, request: ApprovalRequest) -> None:
    """What cannot be undone: a typed fact, a second factor, and another person; the draft comes back from the way."""
    alice, label = desk.alice, re.compile("^Type ")
    alice.open(request)
    alice.choose("approve")
    alice.write(alice.page.get_by_label(label), "64.00 USD")
    alice.write(alice.field("What I checked"), "The order.")
    alice.send("Approve: cancel pending order, $64.00")
    alice.write(alice.page.get_by_label("Code of your authenticator app"), code_of())
    alice.press(alice.button("Confirm"))
    expect(alice.field("What I checked")).to_have_value("The order.")
    alice.write(alice.page.get_by_label(label), "64.00 USD")
    alice.send("Approve: cancel pending order, $64.00")
    alice.hears("You have approved", focus="#outcome")
    assert request.decisions.count() == 1


def skip(desk: Desk, other: ApprovalRequest) -> None:
    alice = desk.alice
    alice.page.goto("/approvals/")
    if alice.scripts:
        expect(alice.page.locator("#live")).to_have_text("Live since")
    alice.serve_next()
    expect(alice.page.get_by_role("heading", level=1)).to_have_text(other.effect)
    alice.press(alice.page.locator("summary").filter(has_text="Skip…"))
    alice.write(alice.field("Why not now? It is not served to you again for an hour."), "Waiting for the bank.")
    alice.press(alice.button("Skip and serve the next"))
    alice.hears("Skipped.")
    assert desk.kinds(other) == ["claimed", "skipped"]
