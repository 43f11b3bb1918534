"""Drills: disclosed, answered once, told at once, and without any way to an effect."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.runtime.models import Invocation
from approvals.insight import drills
from approvals.insight.catalogue import CATALOGUE
from approvals.insight.errors import AlreadySaid
from approvals.models import ApprovalRequest, Drill, DrillAnswer, Verdict
from tests.approvals.conftest import Stage, client_of
from tests.factories.past import past
from tests.factories.people import make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(stage: Stage) -> Stage:
    drills.ensure(stage.cast.tenant)
    return stage


def url_of(drill: Drill) -> str:
    return reverse("approval_drill", args=[drill.pk])


def text(client: Client, url: str) -> str:
    return client.get(url).content.decode()


def test_the_catalogue_is_ten_whole_drills_of_which_some_are_right() -> None:
    assert len(CATALOGUE) == 10
    assert len({one.name for one in CATALOGUE}) == 10
    assert {one.right for one in CATALOGUE} == {"approve", "reject"}
    assert all(0 < len(one.lesson) <= 500 and len(one.name) <= 80 for one in CATALOGUE)
    needed = {"effect", "target", "tool", "tier", "changes", "arguments", "evidence", "rationale", "risk"}
    assert all(needed <= one.content.keys() for one in CATALOGUE)


def test_drills_are_seeded_once(stage: Stage) -> None:
    assert (drills.ensure(stage.cast.tenant), drills.ensure(stage.cast.tenant)) == (10, 0)
    Drill.objects.filter(tenant=stage.cast.tenant).update(is_active=False)
    assert drills.ensure(stage.cast.tenant) == 0
    assert drills.ensure(stage.cast.other) == 0


def test_the_list_says_what_drills_are_and_not_which_is_which(seeded: Stage, alice: Client) -> None:
    page = text(alice, reverse("approval_drills"))
    assert "invented request" in page
    assert all(one.name not in page for one in CATALOGUE)


@pytest.mark.parametrize("name", [one.name for one in CATALOGUE])
def test_a_drill_is_marked_and_gives_nothing_away(seeded: Stage, alice: Client, name: str) -> None:
    drill = Drill.objects.get(tenant=seeded.cast.tenant, name=name)
    page = text(alice, url_of(drill))
    assert "<b>Drill.</b> This request is invented." in page
    assert drill.lesson not in page
    assert name not in page
    assert "\u200b" not in page


def test_an_answer_is_told_at_once_and_can_carry_out_nothing(seeded: Stage, alice: Client) -> None:
    drill = Drill.objects.get(tenant=seeded.cast.tenant, name="Another currency")
    before = (ApprovalRequest.objects.count(), Invocation.objects.count())
    sent = alice.post(url_of(drill), {"verb": "approve", "confidence": "90"})
    assert (sent.status_code, sent.url) == (302, url_of(drill))
    page = text(alice, url_of(drill))
    assert "Not right." in page
    assert "Read the currency with the number." in page
    given = DrillAnswer.objects.get()
    assert (given.person, given.verdict, given.confidence, given.right) == (seeded.cast.alice, "approve", 90, False)
    assert (ApprovalRequest.objects.count(), Invocation.objects.count()) == before
    event = LedgerEvent.objects.get(type="drill.answered")
    assert event.facts == {"drill": "Another currency"}
    assert payload_of(event.stream, event.position) is None


def test_the_first_answer_stands(seeded: Stage, alice: Client) -> None:
    drill = Drill.objects.filter(tenant=seeded.cast.tenant).first()
    assert drill is not None
    alice.post(url_of(drill), {"verb": "approve", "confidence": "60"})
    again = alice.post(url_of(drill), {"verb": "reject", "confidence": "100"})
    assert again.status_code == 409
    assert "Your first answer stands." in again.content.decode()
    assert DrillAnswer.objects.get().verdict == "approve"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "Choose approve or reject."),
        ({"verb": "escalate", "confidence": "90"}, "Choose approve or reject."),
        ({"verb": "approve"}, "Say how sure you are"),
        ({"verb": "approve", "confidence": "49"}, "Say how sure you are"),
        ({"verb": "approve", "confidence": "101"}, "Say how sure you are"),
        ({"verb": "approve", "confidence": "9e9\x00"}, "Say how sure you are"),
    ],
)
def test_half_an_answer_is_sent_back(seeded: Stage, alice: Client, sent: dict[str, str], said: str) -> None:
    drill = Drill.objects.filter(tenant=seeded.cast.tenant).first()
    assert drill is not None
    answer = alice.post(url_of(drill), sent)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not DrillAnswer.objects.exists()


def test_answers_are_seen_by_their_person_alone(seeded: Stage, alice: Client, bob: Client, charlie: Client) -> None:
    drill = Drill.objects.filter(tenant=seeded.cast.tenant).order_by("id").first()
    assert drill is not None
    alice.post(url_of(drill), {"verb": "approve", "confidence": "60"})
    assert drill.lesson not in text(bob, url_of(drill))
    assert drill.name not in text(bob, reverse("approval_drills"))
    assert charlie.get(url_of(drill)).status_code == 404
    assert charlie.post(url_of(drill), {"verb": "approve", "confidence": "60"}).status_code == 404


def test_the_time_on_the_page_is_what_it_was_shown_for(seeded: Stage, alice: Client) -> None:
    drill = Drill.objects.filter(tenant=seeded.cast.tenant).first()
    assert drill is not None
    shown = alice.get(url_of(drill)).context["page"].shown
    alice.post(url_of(drill), {"verb": "approve", "confidence": "60", "shown": shown})
    dwell = DrillAnswer.objects.get().dwell_ms
    assert dwell is not None
    assert dwell >= 0
    bob = client_of(seeded.cast.bob)
    bob.post(url_of(drill), {"verb": "approve", "confidence": "60", "shown": "forged"})
    assert DrillAnswer.objects.get(person=seeded.cast.bob).dwell_ms is None


def test_a_drill_is_due_after_so_many_decisions(seeded: Stage, settings: Any) -> None:
    alice, tenant, now = seeded.cast.alice, seeded.cast.tenant.pk, timezone.now()
    model = seeded.ask()
    for _ in range(3):
        past(model, "approved", alice)
    assert drills.due_for(alice, tenant, now) is None
    settings.APPROVAL_DRILL_EVERY = 4
    assert drills.due_for(alice, tenant, now) is None
    settings.APPROVAL_DRILL_EVERY = 3
    due = drills.due_for(alice, tenant, now)
    assert due is not None
    assert drills.due_for(seeded.cast.bob, tenant, now) is None
    drills.answer(drill=due, person=alice, verdict=Verdict.APPROVE, confidence=50, now=now)
    assert drills.due_for(alice, tenant, now + timedelta(minutes=1)) is None


def test_calibration_shows_ones_own_and_to_managers_sums_of_five(seeded: Stage, alice: Client) -> None:
    url, every = reverse("approval_calibration"), Drill.objects.filter(tenant=seeded.cast.tenant)
    assert "You have answered no drill yet." in text(alice, url)
    assert "Everybody" not in text(alice, url)
    now = timezone.now()
    for drill in every[:4]:
        drills.answer(drill=drill, person=seeded.cast.alice, verdict=Verdict(drill.right), confidence=80, now=now)
    page = text(alice, url)
    assert "4 of 4 right (100 %). Brier score 0.040." in page
    manager = client_of(manager_of(seeded))
    assert "sums are shown from 5 on" in text(manager, url)
    drills.answer(drill=every[5], person=seeded.cast.alice, verdict=Verdict.APPROVE, confidence=50, now=now)
    assert "of 5 right" in text(manager, url)


def manager_of(stage: Stage) -> Any:
    from guardian.shortcuts import assign_perm  # noqa: PLC0415 - one test needs it

    assign_perm("approvals.manage_queue", stage.cast.bob, stage.cast.queue)
    return stage.cast.bob


@pytest.mark.django_db(transaction=True)
def test_answers_at_once_are_one_answer() -> None:
    cast = make_cast()
    drills.ensure(cast.tenant)
    drill = Drill.objects.filter(tenant=cast.tenant).first()
    assert drill is not None
    begin, outcomes = threading.Barrier(6), []

    def answer(verdict: Verdict) -> None:
        begin.wait()
        try:
            drills.answer(drill=drill, person=cast.alice, verdict=verdict, confidence=70, now=timezone.now())
            outcomes.append("recorded")
        except AlreadySaid:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=answer, args=[verdict]) for verdict in list(Verdict) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["recorded", *["refused"] * 5]
    assert LedgerEvent.objects.filter(type="drill.answered").count() == 1
