"""The customer of a request is somebody of the house: they decide, change, take over and escalate nothing of it."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm

from approvals.access import view_of
from approvals.clock.ladder import escalate
from approvals.duties.rights import why_not
from approvals.models import ApprovalRequest, Decision, Exclusion, Rung, Verdict
from approvals.queries import Bucket, requests_in, turn_count
from approvals.refusals import Excluded, NotAllowed
from tests.approvals.conftest import Stage, client_of, decide, page_url
from tests.approvals.duties.conftest import lend
from tests.factories.pages import page_of
from tests.factories.people import make_approver
from tests.factories.requests import rewritten
from tests.factories.verbs import edit, take_over

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(stage: Stage) -> User:
    """An approver who is a customer, by an address that no request comes from."""
    dave = make_approver("dave", stage.cast.queue)
    User.objects.filter(pk=dave.pk).update(email="Dave+work@example.org")
    add_work = stage.toy.add_work

    def of_dave(work_id: str, *given: object, **named: object) -> None:
        add_work(work_id, *given, **named)  # type: ignore[arg-type]  # passed on as it is
        stage.toy.works[work_id] = replace(stage.toy.works[work_id], customer_email="dave@example.org")

    stage.toy.add_work = of_dave  # type: ignore[method-assign]  # the customer of each work is Dave
    return User.objects.get(pk=dave.pk)


def untouched(request: ApprovalRequest) -> bool:
    request.refresh_from_db()
    return request.state == "pending" and not Decision.objects.exists()


def test_it_is_not_their_turn_and_the_page_says_why(stage: Stage, dave: User) -> None:
    request = stage.ask()
    view = view_of(dave, request.tenant_id, timezone.now())
    assert Exclusion.objects.get(person=dave).why == "beneficiary"
    assert not requests_in(view, Bucket.TURN).filter(pk=request.pk).exists()
    assert turn_count(dave, request.tenant_id) == 0
    assert why_not(request, view) == (
        "You gain by this, so you cannot decide this.",
        "It takes somebody who has no part in it.",
    )
    assert not page_of(client_of(dave), page_url(request)).can_decide()
    assert "You gain by this" in client_of(dave).get(page_url(request)).content.decode()


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_they_do_not_decide_it(stage: Stage, dave: User, verb: str) -> None:
    request = stage.ask()
    assert decide(client_of(dave), request, verb, reason="Mine.").status_code == 403
    assert untouched(request)


def test_they_are_not_the_second_person(stage: Stage, dave: User) -> None:
    request = rewritten(stage.ask(), people=2)
    assert decide(client_of(stage.cast.alice), request).status_code == 302
    assert decide(client_of(dave), request).status_code == 403
    assert decide(client_of(stage.cast.alice), request).status_code == 302
    request.refresh_from_db()
    assert (request.state, Decision.objects.count()) == ("pending", 1)


def test_nobody_decides_for_them_and_they_for_nobody(stage: Stage, dave: User) -> None:
    request = stage.ask()
    lend(stage, dave, stage.cast.alice)
    lend(stage, stage.cast.alice, dave)
    assert decide(client_of(stage.cast.alice), request, on_behalf_of=str(dave.pk)).status_code in (403, 422)
    assert decide(client_of(dave), request, on_behalf_of=str(stage.cast.alice.pk)).status_code in (403, 422)
    assert untouched(request)


def test_they_do_not_change_it_nor_take_it_over(stage: Stage, dave: User) -> None:
    request = stage.ask()
    with pytest.raises(Excluded):
        edit(dave, request, minor=4000)
    with pytest.raises(Excluded, match="You gain by this, so you cannot take the work over"):
        take_over(dave, request)
    assert untouched(request)


def test_they_do_not_escalate_it(stage: Stage, dave: User) -> None:
    Rung.objects.create(queue=stage.cast.queue, place=1, kind="person", person=stage.cast.alice, after_percent=20)
    request = stage.ask()
    with pytest.raises(NotAllowed):
        escalate(request_id=request.pk, person=dave, words="Hurry.", now=timezone.now())
    there, browser = reverse("approval_escalate", args=[request.pk]), client_of(dave)
    assert browser.post(there, {"digest": request.digest, "note": "Hurry."}).status_code in (403, 409)
    request.refresh_from_db()
    assert request.rung == 0
    assert there not in browser.get(page_url(request)).content.decode()
    escalate(request_id=request.pk, person=stage.cast.alice, words="Please.", now=timezone.now())


def test_the_database_refuses_their_decision(stage: Stage, dave: User) -> None:
    request = stage.ask()
    with pytest.raises(DatabaseError, match="an excluded person decides in no way"), transaction.atomic():
        Decision.objects.create(
            request=request, person=dave, verdict=Verdict.APPROVE, digest=request.digest, at=timezone.now()
        )


def test_a_colleague_decides_it(stage: Stage, dave: User) -> None:
    assign_perm("approvals.decide_queue", dave, stage.cast.queue)
    request = stage.ask()
    assert decide(client_of(stage.cast.alice), request).status_code == 302
