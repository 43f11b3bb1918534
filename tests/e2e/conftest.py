"""The demo's shop, its people, and their browsers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from guardian.shortcuts import assign_perm
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from agentops.tenancy.models import Role, Tenant
from approvals.models import ApprovalQueue, ApprovalRequest
from support_agent.models import Ticket
from tests.e2e.walkers import WAYS, Walker
from tests.factories.books import Shop, open_shop
from tests.factories.people import make_person

PATIENCE_MS = 30_000
TICKETS = ("T-1002", "T-1004", "T-1006", "T-1007", "T-1008", "T-1009", "T-1018", "T-1022")
expect.set_options(timeout=PATIENCE_MS)


@dataclass(frozen=True)
class Stage:
    """The shop with Alice who approves and Bob who operates; Charlie belongs to another tenant."""

    url: str
    shop: Shop

    def ask(self, ticket: str) -> ApprovalRequest:
        """Start a session on a seeded ticket that comes to ask a person, and return its question."""
        session = start_session(agent=self.shop.agent, subject_id=ticket, actor="user:bob")
        work_until_quiet()
        return ApprovalRequest.objects.get(session_id=session.pk)

    def finish(self, request: ApprovalRequest) -> Session:
        """Let the workers go on, and return the request's session, which has ended."""
        work_until_quiet()
        session = Session.objects.get(pk=request.session_id)
        assert session.status == "finished"
        return session


@pytest.fixture
def stage(site: str) -> Stage:
    shop = open_shop("north", approver="alice")
    Ticket.objects.exclude(ref__in=TICKETS).delete()
    make_person("bob", shop.tenant, Role.SUPPORT)
    make_person("charlie", Tenant.objects.create(slug="south", name="South Goods"), Role.APPROVER)
    return Stage(site, shop)


@pytest.fixture
def dana(stage: Stage) -> User:
    """A second approver of every queue of the shop."""
    dana = make_person("dana", stage.shop.tenant, Role.APPROVER)
    for queue in ApprovalQueue.objects.filter(tenant=stage.shop.tenant):
        assign_perm("approvals.decide_queue", dana, queue)
    return dana


SignedIn = Callable[..., Page]
Opened = Callable[..., Walker]


@pytest.fixture
def signed_in(browser: Browser, stage: Stage) -> Iterator[SignedIn]:
    """Open a browser in which somebody has signed in, and fail when a page complained to its console."""
    opened: list[BrowserContext] = []
    complaints: list[str] = []

    def heed(message: ConsoleMessage) -> None:
        # A page that answers 404 or 409 on purpose is reported as an error, too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def open_for(name: str, **options: Any) -> Page:
        context = browser.new_context(base_url=stage.url, **options)
        opened.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", heed)
        page = context.new_page()
        page.goto("/login/")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill(name)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(".menu summary")).to_contain_text(name)
        return page

    yield open_for
    for context in opened:
        context.close()
    assert complaints == []


@pytest.fixture
def opened(signed_in: SignedIn) -> Opened:
    """Open a browser for somebody who works in one of the ways, with a mouse unless another one is named."""

    def open_for(name: str, way: str = "mouse", **options: Any) -> Walker:
        walker = WAYS[way]
        return walker(signed_in(name, **{**walker.options, **options}))

    return open_for
