"""Replay, double click, approve against reject: one decision about one request, and the same receipt afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from approvals.models import ApprovalRequest, Decision
from tests.approvals.conftest import Stage, client_of, decide, overdue
from tests.factories.people import make_approver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dave(stage: Stage) -> Client:
    return client_of(make_approver("dave", stage.cast.queue))


def state(request: ApprovalRequest) -> str:
    return str(ApprovalRequest.objects.values_list("state", flat=True).get(pk=request.pk))


def test_the_same_post_again_is_the_same_receipt(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    answers = [decide(alice, request) for _ in range(5)]
    assert {answer.status_code for answer in answers} == {302}
    assert all("again" in answer["Location"] for answer in answers[1:])
    stage.work()
    assert [decide(alice, request).status_code, len(stage.toy.vendor.calls), Decision.objects.count()] == [302, 1, 1]


def test_double_click_at_the_same_moment_is_one_decision(stage: Stage, alice: Client) -> None:
    request, start = stage.ask(), threading.Barrier(4)

    def click(_: int) -> int:
        try:
            start.wait(30)
            return decide(alice, request).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(click, range(4))) == {302}
    stage.work()
    assert (Decision.objects.count(), len(stage.toy.vendor.calls)) == (1, 1)


@pytest.mark.parametrize(("first", "second"), [("approve", "reject"), ("reject", "approve")])
def test_the_other_way_round_comes_too_late(stage: Stage, alice: Client, dave: Client, first: str, second: str) -> None:
    request = stage.ask()
    assert decide(alice, request, first, why="No.").status_code == 302
    for client in (alice, dave):
        assert decide(client, request, second, why="No.").status_code == 409
    assert state(request) == {"approve": "approved", "reject": "rejected"}[first]
    stage.work()
    assert len(stage.toy.vendor.calls) == (1 if first == "approve" else 0)


def test_a_decision_is_not_replayed_on_another_request(stage: Stage, alice: Client) -> None:
    one, other = stage.ask(), stage.ask()
    assert decide(alice, one).status_code == 302
    assert decide(alice, other, digest=one.digest).status_code == 409
    assert state(other) == "pending"


def test_a_decision_is_not_replayed_on_the_request_that_replaced_it(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    decide(alice, request)
    stage.toy.vendor.versions["a-1"] += 1
    stage.work()
    new = ApprovalRequest.objects.get(supersedes=request)
    assert decide(alice, new, digest=request.digest).status_code == 409
    assert (state(new), stage.toy.vendor.calls) == ("pending", [])


def test_an_approval_runs_once_however_often_the_worker_comes(stage: Stage, alice: Client) -> None:
    decide(alice, stage.ask())
    for _ in range(3):
        stage.work()
    assert len(stage.toy.vendor.calls) == 1


def test_a_kept_form_decides_nothing_after_its_time(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    overdue(request)
    assert decide(alice, request).status_code == 409
    stage.work()
    assert (Decision.objects.count(), stage.toy.vendor.calls) == (0, [])


def test_two_equal_requests_have_two_digests(stage: Stage) -> None:
    assert stage.ask().digest != stage.ask().digest
