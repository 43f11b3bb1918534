"""Expired session, role or request: nothing is decided, and the page says why."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from guardian.shortcuts import remove_perm

from agentops.tenancy.models import Membership
from approvals.models import ApprovalRequest, Decision
from tests.approvals.conftest import Stage, decide, overdue, page_url, queue_url
from tests.factories.pages import Page, page_of

pytestmark = pytest.mark.django_db


def nothing_decided(stage: Stage) -> bool:
    stage.work()
    return not Decision.objects.exists() and stage.toy.vendor.calls == []


def test_expired_login_leads_to_the_sign_in_and_back(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    alice.session.flush()
    response = decide(alice, request)
    assert response.status_code == 302
    assert "login" in response["Location"]
    assert str(request.pk) in response["Location"]
    assert nothing_decided(stage)


def test_new_password_ends_the_old_login(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    person = User.objects.get(username="alice")
    person.set_password("another one")
    person.save()
    assert decide(alice, request).status_code == 302
    assert nothing_decided(stage)


@pytest.mark.parametrize("lost", ["permission", "membership", "active", "role"])
def test_right_that_was_lost_since_the_page_was_opened_decides_nothing(stage: Stage, alice: Client, lost: str) -> None:
    request = stage.ask()
    assert page_of(alice, page_url(request)).can_decide()
    if lost == "permission":
        remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    elif lost == "membership":
        Membership.objects.filter(user=stage.cast.alice).delete()
    elif lost == "role":
        remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
        Membership.objects.filter(user=stage.cast.alice).update(role="support")
    else:
        User.objects.filter(username="alice").update(is_active=False)
    response = decide(alice, request)
    assert response.status_code in (302, 403, 404)
    if response.status_code == 302:
        assert "login" in response["Location"]
    assert nothing_decided(stage)


def test_expired_request_says_expired_and_never_rejected(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    overdue(request)
    page = page_of(alice, page_url(request))
    assert not page.can_decide()
    assert "Expired" in page.text
    assert "Rejected" not in page.text
    response = decide(alice, request)
    assert response.status_code == 409
    assert "It expired before your decision arrived." in Page(response.content.decode()).text
    assert nothing_decided(stage)


def test_expired_request_is_in_nobody_s_turn(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    assert str(request.pk) in alice.get(queue_url(bucket="turn")).content.decode()
    overdue(request)
    assert str(request.pk) not in alice.get(queue_url(bucket="turn")).content.decode()


@pytest.mark.parametrize("verb", ["approve", "reject", "ask", "escalate", "take_over"])
def test_no_verb_reaches_an_expired_request(stage: Stage, alice: Client, verb: str) -> None:
    request = stage.ask()
    overdue(request)
    decide(alice, request, verb, why="No.", question="Why?", note="Up.", because="Mine.")
    assert ApprovalRequest.objects.get(pk=request.pk).state in ("pending", "expired")
    assert nothing_decided(stage)


def test_clock_of_the_browser_does_not_matter(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    overdue(request)
    data = {"verb": "approve", "digest": request.digest, "checked": "x", "shown": "2100-01-01T00:00:00Z", "now": "1"}
    assert alice.post(reverse("approval_decide", args=[request.pk]), data).status_code == 409
    assert nothing_decided(stage)


def test_stranger_with_the_address_is_shown_nothing(stage: Stage, charlie: Client) -> None:
    request = stage.ask()
    assert charlie.get(page_url(request)).status_code == 404
    assert decide(charlie, request).status_code == 404
    assert Client().get(page_url(request)).status_code == 302
    assert nothing_decided(stage)
