"""Drills, figures and examples in a browser: at a desk and on a phone, by keyboard, and without scripts."""

import os
from pathlib import Path

import pytest
from django.utils import timezone
from guardian.shortcuts import assign_perm
from playwright.sync_api import ViewportSize, expect

from agentops.runtime.dispatch import work_until_quiet
from approvals.insight import drills
from approvals.insight.regret import note_regret
from approvals.models import ApprovalQueue, Drill, DrillAnswer, Regret, Verdict
from tests.e2e.conftest import SignedIn, Stage
from tests.e2e.test_pages import excess_of
from tests.factories.books import decide
from tests.factories.past import past

SHOTS = os.environ.get("SHOTS")


def filled(stage: Stage) -> dict[str, str]:
    """Give Alice figures, drills and regrets, and return the addresses of her pages."""
    tenant, alice = stage.shop.tenant, stage.shop.approver
    for queue in ApprovalQueue.objects.filter(tenant=tenant):
        assign_perm("approvals.manage_queue", alice, queue)
    model = stage.ask("T-1009")
    for n in range(24):
        made = past(model, "rejected" if n % 8 == 7 else "approved", alice, dwell_ms=900 if n < 14 else 90_000)
    past(model, "expired")
    past(model, "pending")
    regretted = stage.ask("T-1007")
    decide(regretted, alice, Verdict.APPROVE)
    work_until_quiet()
    words = "The parcel had come back already."
    note_regret(request_id=regretted.pk, kind=Regret.Kind.MARKED, by="user:bob", words=words, at=timezone.now())
    drills.ensure(tenant)
    every = list(Drill.objects.filter(tenant=tenant).order_by("id"))
    for n, drill in enumerate(every[:6]):
        verdict = Verdict.APPROVE if n % 3 == 0 else Verdict(drill.right)
        drills.answer(drill=drill, person=alice, verdict=verdict, confidence=50 + 10 * (n % 6), now=timezone.now())
    return {
        "metrics": "/approvals/figures/",
        "metrics-tool": "/approvals/figures/?by=tool&days=7",
        "signals": "/approvals/figures/people/",
        "drills": "/approvals/drills/",
        "drill": f"/approvals/drills/{every[7].pk}/",
        "drill-hidden": f"/approvals/drills/{next(d for d in every if d.name.startswith('Characters')).pk}/",
        "drill-answered": f"/approvals/drills/{every[0].pk}/",
        "calibration": "/approvals/drills/calibration/",
        "examples": "/approvals/examples/",
        "regret": f"/approvals/{made.pk}/regret/",
        "request-siblings": f"/approvals/{model.pk}/",
        "request-regretted": f"/approvals/{regretted.pk}/",
    }


@pytest.mark.parametrize("size", [(1280, 800), (360, 740)], ids=["desk", "phone"])
def test_no_page_is_wider_than_its_window(stage: Stage, signed_in: SignedIn, size: tuple[int, int]) -> None:
    addresses = filled(stage)
    page = signed_in("alice", viewport=ViewportSize(width=size[0], height=size[1]))
    excess = {}
    for name, address in addresses.items():
        excess[name] = excess_of(page, address)
        if SHOTS:
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                page.goto(address)
                page.screenshot(path=Path(SHOTS) / f"{name}-{size[0]}-{theme}.png", full_page=True)
    assert excess == dict.fromkeys(excess, 0)


def test_a_drill_is_answered_without_scripts(stage: Stage, signed_in: SignedIn) -> None:
    drills.ensure(stage.shop.tenant)
    page = signed_in("alice", java_script_enabled=False)
    page.goto("/approvals/drills/")
    page.get_by_role("link", name="Drill 1", exact=True).click()
    page.get_by_role("radio", name="Approve").check(force=True)
    page.get_by_label("How sure").fill("70")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("You said “Approved”, 70 % sure.")).to_be_visible()
    assert DrillAnswer.objects.get().confidence == 70


def test_a_drill_is_answered_by_keyboard(stage: Stage, signed_in: SignedIn) -> None:
    drills.ensure(stage.shop.tenant)
    drill = Drill.objects.filter(tenant=stage.shop.tenant).order_by("id")[1]
    page = signed_in("alice")
    page.goto(f"/approvals/drills/{drill.pk}/")
    page.get_by_role("radio", name="Approve").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("90")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You said “Rejected”, 90 % sure.")).to_be_visible()
    assert DrillAnswer.objects.get().verdict == "reject"
