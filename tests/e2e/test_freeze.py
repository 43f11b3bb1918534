"""Stopping an agent in a browser: it is frozen while it works, the page shows how it drains, and two people lift it."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import connection
from playwright.sync_api import expect

from agentops.registry import roles
from agentops.registry.tool import Arguments, CallContext, Result
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from agentops.tenancy.models import Role
from support_agent.role import ROLE
from tests.e2e.conftest import SignedIn, Stage
from tests.factories.people import make_person

TICKET, HELD_TOOL = "T-1004", "send_reply"


class SlowTool:
    """A write that waits, once it was called, until the test lets it go on."""

    def __init__(self) -> None:
        self.called, self.go_on = threading.Event(), threading.Event()
        tools = tuple(
            replace(tool, run=self._slow(tool.run)) if tool.name == HELD_TOOL else tool for tool in ROLE.tools
        )
        self.role = replace(ROLE, tools=tools)

    def _slow(self, run):  # type: ignore[no-untyped-def]  # the tool's own function, whatever it is
        def slow(context: CallContext, arguments: Arguments) -> Result:
            self.called.set()
            assert self.go_on.wait(60), "the test did not let the call go on"
            return run(context, arguments)

        return slow


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowTool]:
    tool = SlowTool()
    monkeypatch.setattr(roles, "all_roles", lambda: (tool.role,))
    yield tool
    tool.go_on.set()


@pytest.fixture
def worker() -> Iterator[threading.Thread]:
    """A worker beside the test."""

    def work() -> None:
        try:
            work_until_quiet()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    yield thread
    if thread.ident is not None:
        thread.join(60)
        assert not thread.is_alive()


def test_freeze_drains_to_quiet_and_a_second_person_lifts_it(
    stage: Stage, signed_in: SignedIn, slow: SlowTool, worker: threading.Thread
) -> None:
    make_person("dora", stage.shop.tenant, Role.ADMIN)
    session = start_session(agent=stage.shop.agent, subject_id=TICKET, actor="user:bob")
    worker.start()
    assert slow.called.wait(60), "the agent never called the tool"

    bob = signed_in("bob")
    bob.get_by_role("link", name="Operations").click()
    expect(bob.locator("#live")).to_contain_text("1 session at work, 1 call under way.")
    bob.get_by_role("link", name="Freeze…").click()
    bob.get_by_label("Whose work").select_option(label=f"The agent {stage.shop.agent.name}")
    expect(bob.locator("#effect")).to_contain_text("1 session at work stops after the present step.")
    bob.get_by_label("Why").fill("It quotes last year's prices.")
    bob.get_by_role("button", name="Freeze now").click()
    expect(bob.get_by_text("No worker begins a call that it covers from now on.")).to_be_visible()
    expect(bob.locator("#live")).to_contain_text("1 session at work, 1 call under way.")

    slow.go_on.set()
    expect(bob.locator("#live")).to_contain_text("no call is under way.")
    expect(bob.locator("#live")).to_contain_text("1 session waits in the queue.")
    assert bob.locator("#live [hx-trigger]").count() == 0
    session.refresh_from_db()
    assert session.status == "queued"

    bob.get_by_label("Why it is safe now").fill("The price list is the new one.")
    bob.get_by_role("button", name="Ask to lift").click()
    expect(bob.get_by_text("You asked to lift it, so another person has to do it.")).to_be_visible()
    assert bob.get_by_role("button", name="Lift the freeze").count() == 0

    dora = signed_in("dora")
    expect(dora.get_by_text("Frozen: The agent Support")).to_be_visible()
    dora.get_by_role("link", name="See the freeze").click()
    dora.get_by_role("button", name="Lift the freeze").click()
    expect(dora.get_by_text("Lifted. Workers go on with what waited.")).to_be_visible()
    expect(dora.get_by_text("Frozen: The agent Support")).to_have_count(0)
    worker.join(60)
    work_until_quiet()
    assert Session.objects.get(pk=session.pk).status == "finished"
