"""Claims, next-item mode and skipping, through the buttons of the pages."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role
from approvals.claims import CLAIMED_FOR, SKIPPED_FOR
from approvals.models import Act, ActKind, ApprovalRequest
from tests.approvals.conftest import Stage, client_of, decide, overdue, page_url, queue_url
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(stage: Stage) -> User:
    """A second approver of the same queue."""
    dave = make_person("dave", stage.cast.tenant, Role.APPROVER)
    assign_perm("approvals.decide_queue", dave, stage.cast.queue)
    return dave


def press(client: Client, name: str, request: ApprovalRequest, **fields: str) -> HttpResponse:
    return client.post(reverse(f"approval_{name}", args=[request.pk]), fields, follow=True)


def serve(client: Client, **fields: str) -> str:
    """Press Next, and return where it leads."""
    return client.post(reverse("approval_next"), fields)["Location"]


def acts(request: ApprovalRequest) -> list[str]:
    return list(Act.objects.filter(request=request).exclude(kind=ActKind.ROUTED).values_list("kind", flat=True))


def holder(request: ApprovalRequest) -> User | None:
    request.refresh_from_db()
    return request.claimed_by if request.claimed_until and request.claimed_until > timezone.now() else None


def test_claim_lasts_fifteen_minutes_and_is_on_record(stage: Stage, alice: Client) -> None:
    request, before = stage.ask(), timezone.now()
    press(alice, "claim", request)
    request.refresh_from_db()
    assert request.claimed_by == stage.cast.alice
    assert request.claimed_until is not None
    assert before + CLAIMED_FOR <= request.claimed_until <= timezone.now() + CLAIMED_FOR
    assert acts(request) == ["claimed"]
    event = LedgerEvent.objects.get(type="request.claimed")
    assert (event.actor, event.facts["until"]) == (
        "user:alice",
        request.claimed_until.isoformat(timespec="seconds"),
    )


def test_claim_of_another_is_told_and_stays(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    press(alice, "claim", request)
    body = press(client_of(dave), "claim", request).content.decode()
    assert "alice has it until" in body
    assert "You may still read and decide it" in body
    assert holder(request) == stage.cast.alice


def test_claim_does_not_keep_others_from_deciding(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    press(alice, "claim", request)
    assert decide(client_of(dave), request).status_code == 302
    request.refresh_from_db()
    assert request.state == "approved"


def test_claim_is_released_by_its_person_alone(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    press(alice, "claim", request)
    press(client_of(dave), "release", request)
    assert holder(request) == stage.cast.alice
    press(alice, "release", request)
    assert (holder(request), acts(request)) == (None, ["claimed", "released"])
    assert "Nobody has claimed it." in press(alice, "release", request).content.decode()


def test_claim_of_somebody_can_be_released_by_who_manages_the_queue(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    press(alice, "claim", request)
    assign_perm("approvals.manage_queue", dave, stage.cast.queue)
    press(client_of(dave), "release", request)
    assert holder(request) is None


def test_claim_is_for_those_who_may_decide(stage: Stage, bob: Client, charlie: Client) -> None:
    request = stage.ask()
    assert "so you cannot decide this" in press(bob, "claim", request).content.decode()
    assert press(charlie, "claim", request).status_code == 404
    assert (holder(request), acts(request)) == (None, [])


@pytest.mark.parametrize("name", ["claim", "release", "skip"])
def test_nothing_is_done_with_a_closed_request(stage: Stage, alice: Client, name: str) -> None:
    decided, late = stage.ask(), stage.ask(5100)
    decide(alice, decided)
    overdue(late)
    assert "already approved" in press(alice, name, decided, reason="Later.").content.decode()
    assert "has expired" in press(alice, name, late, reason="Later.").content.decode()
    assert acts(decided) == acts(late) == []


def test_button_in_a_row_leads_back_to_the_list(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    answer = alice.post(
        reverse("approval_claim", args=[request.pk]), {"back": "bucket=turn&q=amount:>10&next=//evil.example"}
    )
    assert answer["Location"] == f"{reverse('approval_queue')}?bucket=turn&q=amount%3A%3E10#open-{request.pk}"
    assert "You have it" in alice.get(queue_url()).content.decode()


def test_next_serves_the_most_urgent_and_claims_it(stage: Stage, alice: Client) -> None:
    late, soon = stage.ask(), stage.ask(5100)
    ApprovalRequest.objects.filter(pk=soon.pk).update(expires_at=timezone.now() + timedelta(minutes=10))
    assert serve(alice) == page_url(soon)
    assert (holder(soon), holder(late)) == (stage.cast.alice, None)


def test_next_goes_past_what_others_have(stage: Stage, alice: Client, dave: User) -> None:
    first, second = stage.ask(), stage.ask(5100)
    assert serve(alice) == page_url(first)
    assert serve(client_of(dave)) == page_url(second)
    assert serve(alice, at=str(first.pk)) == page_url(first), "what one has is decided or skipped first"
    assert "still the next" in alice.get(page_url(first)).content.decode()


def test_next_with_nothing_left_says_so(stage: Stage, alice: Client, bob: Client) -> None:
    request = stage.ask()
    for client in (bob, alice):
        if client is alice:
            decide(alice, request)
        answer = client.post(reverse("approval_next"), follow=True)
        assert answer.redirect_chain == [(reverse("approval_queue"), 302)]
        assert "Nothing else waits for you now." in answer.content.decode()


def test_skipping_needs_a_reason_and_serves_the_next(stage: Stage, alice: Client) -> None:
    first, second = stage.ask(), stage.ask(5100)
    serve(alice)
    assert "Skipping needs a reason." in press(alice, "skip", first, reason=" \x00 ").content.decode()
    assert holder(first) == stage.cast.alice
    answer = alice.post(reverse("approval_skip", args=[first.pk]), {"reason": "Waiting for the bank."})
    assert answer["Location"] == page_url(second)
    assert (holder(first), holder(second)) == (None, stage.cast.alice)
    act = Act.objects.get(request=first, kind=ActKind.SKIPPED)
    assert (act.person, act.words) == (stage.cast.alice, "Waiting for the bank.")


def test_skipped_request_comes_back_after_an_hour_and_at_once_to_others(
    stage: Stage, alice: Client, dave: User
) -> None:
    request = stage.ask()
    press(alice, "skip", request, reason="Later.")
    assert serve(alice) == reverse("approval_queue")
    assert request.code in alice.get(queue_url()).content.decode(), "it still waits for her"
    Act.objects.filter(kind=ActKind.SKIPPED).update(at=timezone.now() - SKIPPED_FOR)
    assert serve(alice) == page_url(request)
    press(alice, "release", request)
    press(alice, "skip", request, reason="Later.")
    assert serve(client_of(dave)) == page_url(request)


@pytest.mark.parametrize("whose", ["mine", "none", "others"])
def test_claims_are_a_filter(stage: Stage, alice: Client, dave: User, whose: str) -> None:
    mine, none, others = (stage.ask(5000 + n) for n in range(3))
    press(alice, "claim", mine)
    press(client_of(dave), "claim", others)
    wanted = {"mine": mine, "none": none, "others": others}[whose]
    bucket = "others" if whose == "others" else "turn"
    page = alice.get(queue_url(bucket=bucket, q=f"claimed:{whose}")).context["page"]
    assert [row.id for group in page.groups for row in group.rows] == [wanted.code]
