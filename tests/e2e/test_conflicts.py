"""Every conflict at a request's page, in every way, with the other person in another browser."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone
from guardian.shortcuts import assign_perm, remove_perm
from playwright.sync_api import expect
from pytest_django.fixtures import Settings

from agentops.kernel import crashpoints
from agentops.kernel.crashpoints import CrashPoint
from agentops.registry import roles
from agentops.registry.tool import CallContext, OutcomeUnknown, Result
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Role
from approvals.models import ApprovalQueue, ApprovalRequest
from support_agent.models import Customer, DeskOperation, Order
from support_agent.role import ROLE
from tests.e2e.conftest import Opened, Stage
from tests.e2e.walkers import WAYS, Walker, look
from tests.factories.people import make_person
from tests.factories.runs import come_back, lose_worker

WORDS = "The jacket was worn for a year."
CHECKED = "The order."


@dataclass(frozen=True)
class Two:
    """Alice in one of the ways, and others with a mouse in browsers of their own."""

    stage: Stage
    way: str
    opened: Opened
    alice: Walker
    others: dict[str, Walker] = field(default_factory=dict)

    def other(self, name: str) -> Walker:
        """Return somebody else with a browser of their own, or Alice in a second one."""
        if name not in self.others:
            self.others[name] = self.opened(name)
        return self.others[name]

    def look(self, name: str) -> None:
        """Keep pictures of what Alice sees where somebody asked for pictures."""
        if self.way == "mouse":
            look(self.alice.page, name)


@pytest.fixture(params=WAYS)
def two(request: pytest.FixtureRequest, stage: Stage, opened: Opened, dana: User) -> Two:
    make_person("dora", stage.shop.tenant, Role.ADMIN)
    return Two(stage, request.param, opened, opened("alice", request.param))


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can be asked what became of a refund."""

    def reconcile(context: CallContext) -> Result | None:
        raise OutcomeUnknown("The shop does not answer.")

    tools = tuple(replace(tool, reconcile=reconcile) if tool.name == "issue_refund" else tool for tool in ROLE.tools)
    monkeypatch.setattr(roles, "all_roles", lambda: (replace(ROLE, tools=tools),))


@pytest.fixture
def crash() -> Iterator[list[CrashPoint]]:
    """The points at which a worker dies, each once."""
    points: list[CrashPoint] = []

    def trap(point: CrashPoint) -> None:
        if point in points:
            points.remove(point)
            raise KeyboardInterrupt

    crashpoints.arm(trap)
    yield points
    crashpoints.arm(None)


def test_every_conflict(two: Two, subtests: pytest.Subtests) -> None:
    walks = {
        "T-1009": two_at_once,
        "T-1008": same_person_twice,
        "T-1022": changed_since,
        "T-1007": expired,
        "T-1002": cancelled,
        "T-1018": permission_lost,
        "T-1006": login_ran_out,
    }
    for ticket, walk in walks.items():
        with subtests.test(walk.__name__):
            walk(two, two.stage.ask(ticket))
    with subtests.test("frozen"):
        frozen(two, ApprovalRequest.objects.get(state="pending", tool="return_delivered_items"))


def begin(walker: Walker, request: ApprovalRequest, verb: str) -> None:
    """Open a request and fill in a verdict, but do not send it."""
    walker.open(request)
    if verb == "approve":
        walker.choose(verb)
        walker.write(walker.field("What I checked"), CHECKED)
    else:
        walker.start_rejecting()
        walker.write(walker.page.locator("#why"), WORDS)


def approve(walker: Walker) -> None:
    walker.send(walker.page.locator("#decide [data-verb=approve] button").inner_text())


def is_turned_down(two: Two, says: str, name: str, *, draft: str = WORDS) -> None:
    """Alice is told, keeps her words, and finds no form."""
    two.alice.hears(says)
    expect(two.alice.page.locator("main")).to_contain_text("Your decision was not recorded.")
    expect(two.alice.page.get_by_role("alert")).to_contain_text(draft)
    expect(two.alice.page.locator("#decide")).to_have_count(0)
    two.look(name)


def two_at_once(two: Two, request: ApprovalRequest) -> None:
    begin(two.alice, request, "reject")
    dana = two.other("dana")
    begin(dana, request, "approve")
    approve(dana)
    dana.hears("Approved by you")
    two.alice.send("Reject")
    is_turned_down(two, "dana decided first.", "two-at-once")
    expect(two.alice.page.locator("#outcome")).to_contain_text(re.compile(r"Approved by dana, .*\d\d:\d\d"))
    assert list(request.decisions.values_list("person__username", "verdict")) == [("dana", "approve")]


def same_person_twice(two: Two, request: ApprovalRequest) -> None:
    begin(two.alice, request, "approve")
    again = two.other("alice")
    begin(again, request, "approve")
    approve(again)
    again.hears("Approved by you")
    approve(two.alice)
    two.alice.hears("You had decided this already.")
    expect(two.alice.page.locator("#outcome")).to_contain_text("Approved by you")
    two.look("same-person-twice")
    two.stage.finish(request)
    assert request.decisions.count() == 1
    assert DeskOperation.objects.filter(action="RefundOrder", key__in=_keys(request)).count() == 1


def _keys(request: ApprovalRequest) -> list[str]:
    return list(Invocation.objects.filter(pk=request.invocation_id).values_list("idempotency_key", flat=True))


def changed_since(two: Two, request: ApprovalRequest) -> None:
    """The record moved after somebody's approval: the request is replaced, and what was said about it starts anew."""
    begin(two.alice, request, "reject")
    dana = two.other("dana")
    begin(dana, request, "approve")
    Customer.objects.filter(last_name="Diallo").update(last_name="Diallo-Berg")
    Order.objects.filter(ref="#L2026").update(version=F("version") + 1)
    approve(dana)
    dana.hears("Approved by you")
    work_until_quiet()
    anew = ApprovalRequest.objects.get(supersedes=request)
    two.alice.send("Reject")
    is_turned_down(two, "Changed since you looked.", "changed")
    moved = two.alice.page.get_by_role("alert").get_by_role("row")
    expect(moved.filter(has_text="Effect")).to_contain_text(["Amara Diallo-Berg"])
    expect(moved.filter(has_text="Version of order:#L2026")).to_have_count(1)
    two.alice.press(two.alice.page.get_by_role("link", name="Open the request that replaced this one"))
    expect(two.alice.page.get_by_role("heading", level=1)).to_have_text(anew.effect)
    expect(two.alice.page.locator("#decide [name=verb]:checked")).to_have_count(0)
    two.alice.choose("reject")
    expect(two.alice.page.locator("#why")).to_have_value(WORDS)
    two.alice.send("Reject")
    two.alice.hears(WORDS, focus="#outcome")


def expired(two: Two, request: ApprovalRequest) -> None:
    begin(two.alice, request, "reject")
    ApprovalRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    two.alice.send("Reject")
    is_turned_down(two, "It expired before your decision arrived.", "expired")
    outcome = two.alice.page.locator("#outcome")
    expect(outcome).to_contain_text("Expired")
    expect(outcome).not_to_contain_text("Rejected")


def cancelled(two: Two, request: ApprovalRequest) -> None:
    begin(two.alice, request, "reject")
    dora = two.other("dora").page
    dora.goto(f"/sessions/{request.session_id}/")
    dora.locator(".acts summary", has_text="Cancel").click()
    dora.get_by_role("textbox", name="Why").fill("She withdrew it.")
    dora.get_by_label("Yes, end this session").check()
    dora.get_by_role("button", name="Cancel the session for good").click()
    expect(dora.locator("#stands")).to_contain_text("Cancelled by")
    two.alice.send("Reject")
    is_turned_down(two, "It was retired before your decision arrived.", "cancelled")
    expect(two.alice.page.locator("#outcome")).to_contain_text("She withdrew it.")


def frozen(two: Two, request: ApprovalRequest) -> None:
    begin(two.alice, request, "reject")
    dora = two.other("dora").page
    dora.goto("/operations/freezes/new/")
    dora.get_by_label("Whose work").select_option(label=f"The agent {two.stage.shop.agent.name}")
    dora.get_by_label("Why").fill("It quotes last year's prices.")
    dora.get_by_role("button", name="Freeze now").click()
    expect(dora.get_by_text("No worker begins a call that it covers from now on.")).to_be_visible()
    two.alice.send("Reject")
    is_turned_down(two, "It was retired before your decision arrived.", "frozen")
    expect(two.alice.page.locator("#outcome")).to_contain_text("It quotes last year's prices.")


def permission_lost(two: Two, request: ApprovalRequest) -> None:
    """Alice may not decide it any more, then not see it. She signs in again each time, and her words are there."""
    person, queue, alice = two.stage.shop.approver, ApprovalQueue.objects.get(pk=request.queue_id), two.alice
    assign_perm("approvals.see_queue", person, queue)
    begin(alice, request, "reject")
    remove_perm("approvals.decide_queue", person, queue)
    alice.send("Reject")
    is_turned_down(two, "You do not have the right to decide this now.", "permission-lost")
    _sign_in_again(two, request)
    alice.write(alice.page.locator("#why"), f"{WORDS} Twice.")
    remove_perm("approvals.see_queue", person, queue)
    remove_perm("approvals.decide_queue", person, queue)
    alice.send("Reject")
    is_turned_down(two, "You may not see this request any more.", "request-lost", draft=f"{WORDS} Twice.")
    assert request.effect not in alice.page.content()
    _sign_in_again(two, request)
    expect(alice.page.locator("#why")).to_have_value(f"{WORDS} Twice.")
    request.refresh_from_db()
    assert request.state == "pending"


def _sign_in_again(two: Two, request: ApprovalRequest) -> None:
    """The right is given back, and Alice follows the link that the page offers."""
    assign_perm("approvals.decide_queue", two.stage.shop.approver, request.queue)
    two.alice.press(two.alice.button("Sign in again"))
    two.alice.sign_in("alice")
    expect(two.alice.page.locator("#why")).to_be_visible()


def login_ran_out(two: Two, request: ApprovalRequest) -> None:
    begin(two.alice, request, "reject")
    two.alice.page.context.clear_cookies(name="sessionid")
    two.alice.send("Reject")
    two.alice.page.wait_for_url("**/login/**")
    expect(two.alice.page.get_by_role("alert")).to_contain_text("nothing was recorded")
    expect(two.alice.page.get_by_label("Username")).to_be_focused()
    two.look("login-ran-out")
    two.alice.sign_in("alice")
    expect(two.alice.page.locator("#why")).to_have_value(WORDS)
    request.refresh_from_db()
    assert request.state == "pending"


def test_outcome_is_unknown_after_a_crash(two: Two, deaf: None, crash: list[CrashPoint], settings: Settings) -> None:
    """What Alice has open goes on by itself: to be taken back, on its way, and nobody knows. Her focus stays there."""
    settings.APPROVAL_UNDO_SECONDS = 120
    request = two.stage.ask("T-1009")
    begin(two.alice, request, "approve")
    approve(two.alice)
    two.alice.hears("It is carried out at", focus="#outcome")
    two.alice.button("Take it back").focus()
    ApprovalRequest.objects.filter(pk=request.pk).update(dispatch_at=timezone.now())
    sweep_once()
    two.alice.look_again()
    two.alice.hears("The agent carries it out next.", focus="#outcome")
    crash.append(CrashPoint.VENDOR_RETURNED)
    with pytest.raises(KeyboardInterrupt):
        work_until_quiet()
    session = lose_worker(Session.objects.get(pk=request.session_id))
    work_until_quiet()
    session.refresh_from_db()
    while session.status == "sleeping":
        come_back(session)
    two.alice.look_again()
    two.alice.hears("outcome unknown, reconcile", focus="#outcome")
    two.look("outcome-unknown")
    two.alice.press(two.alice.button("Reconcile it"))
    expect(two.alice.page.get_by_role("heading", level=2).filter(has_text=request.effect)).to_be_visible()
    assert DeskOperation.objects.filter(action="RefundOrder").count() == 1
