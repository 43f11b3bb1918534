"""No page has a serious or critical finding of axe, in either theme, and none is heavier than it may be."""

import gzip
import re
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.db import transaction
from django.urls import reverse
from guardian.shortcuts import assign_perm
from playwright.sync_api import Page, Response

from agentops.runtime.dispatch import work_until_quiet
from agentops.tenancy.models import Role
from approvals.models import Verdict
from billing_agent.connectors.port import RetryCharge
from tests.e2e.conftest import SignedIn, Stage
from tests.factories.billing import make_desk, make_dispute, usd
from tests.factories.books import decide
from tests.factories.people import make_person

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RUN = "() => axe.run(document, {resultTypes: ['violations']})"
GRAVE = ("serious", "critical")
MOST_KB = {"queue": 120, "request": 150}
MOST_SCRIPT_KB = 60


def pages_of(stage: Stage) -> dict[str, tuple[str, str]]:
    """Return who opens which address, by the page's name."""
    pending, decided = stage.ask("T-1009"), stage.ask("T-1007")
    decide(decided, stage.shop.approver, Verdict.REJECT)
    assign_perm("approvals.manage_queue", stage.shop.approver, pending.queue)
    work_until_quiet()
    desk = make_desk(stage.shop.tenant)
    with transaction.atomic():
        make_dispute(desk.charge(), 500)
    desk.act(RetryCharge(desk.invoice("INV-000001").ref, "card-2", usd(2200)))
    make_person("dora", stage.shop.tenant, Role.ADMIN)
    return {
        "home": ("alice", "/"),
        "queue": ("alice", reverse("approval_queue")),
        "decided ones": ("alice", f"{reverse('approval_queue')}?bucket=decided"),
        "request": ("alice", reverse("approval_request", args=[pending.pk])),
        "decided request": ("alice", reverse("approval_request", args=[decided.pk])),
        "print": ("alice", reverse("approval_print", args=[decided.pk])),
        "edit": ("alice", reverse("approval_edit", args=[pending.pk])),
        "duties": ("alice", reverse("approval_duties")),
        "away": ("alice", reverse("approval_away")),
        "notices": ("alice", reverse("notice_preferences")),
        "drills": ("alice", reverse("approval_drills")),
        "calibration": ("alice", reverse("approval_calibration")),
        "metrics": ("alice", reverse("approval_metrics")),
        "signals": ("alice", reverse("approval_signals")),
        "exemplars": ("alice", reverse("approval_exemplars")),
        "sessions": ("bob", reverse("session_list")),
        "waiting session": ("bob", reverse("session_detail", args=[pending.session_id])),
        "finished session": ("bob", reverse("session_detail", args=[decided.session_id])),
        "new session": ("bob", reverse("session_new")),
        "blast radius": ("bob", reverse("blast_radius")),
        "reconciliation": ("bob", reverse("reconciliation")),
        "customers": ("bob", reverse("billing_customers")),
        "no customers": ("bob", f"{reverse('billing_customers')}?q=nobody"),
        "customer": ("bob", reverse("billing_customer", args=["dana"])),
        "invoice": ("bob", reverse("billing_invoice", args=["INV-000001"])),
        "journal": ("dora", f"{reverse('billing_journal')}?from=2026-11-01&to=2026-11-30"),
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(stage: Stage, signed_in: SignedIn, theme: str) -> None:
    pages = pages_of(stage)
    browsers = {name: signed_in(name, color_scheme=theme) for name in {who for who, _ in pages.values()}}
    found = {name: findings(browsers[who], address) for name, (who, address) in pages.items()}
    assert {name: problems for name, problems in found.items() if problems} == {}


def findings(page: Page, address: str) -> list[str]:
    """Return what axe has against a page with everything unfolded, by rule and place."""
    answer = page.goto(address)
    assert answer is not None
    assert answer.ok, f"{address} answers {answer.status}"
    page.evaluate("() => document.querySelectorAll('main details').forEach((part) => { part.open = true; })")
    page.evaluate(AXE)
    result: dict[str, Any] = page.evaluate(RUN)
    return [
        f"{rule['id']}: {', '.join(str(node['target']) for node in rule['nodes'][:5])}"
        for rule in result["violations"]
        if rule["impact"] in GRAVE
    ]


def test_pages_are_light(stage: Stage, signed_in: SignedIn) -> None:
    page = signed_in("alice")
    pending = stage.ask("T-1009")
    addresses = {"queue": reverse("approval_queue"), "request": reverse("approval_request", args=[pending.pk])}
    for name, address in addresses.items():
        sizes = weights(page, address)
        assert sum(sizes.values()) <= MOST_KB[name] * 1024, sizes
        scripts = sum(size for file, size in sizes.items() if re.search(r"\.js$", file))
        assert scripts <= MOST_SCRIPT_KB * 1024, sizes


def weights(page: Page, address: str) -> dict[str, int]:
    """Return the compressed size of everything that opening a page fetches."""
    found: dict[str, int] = {}

    def fetched(answer: Response) -> None:
        if answer.ok:
            found[answer.url] = len(gzip.compress(answer.body()))

    page.on("response", fetched)
    page.goto(address, wait_until="networkidle")
    page.remove_listener("response", fetched)
    return found
