"""The database refuses by itself, whatever a program does: every case is raw SQL."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from approvals.models import ApprovalRequest, Decision, Exclusion
from tests.approvals.conftest import Stage
from tests.approvals.duties.conftest import approver, needs

pytestmark = pytest.mark.django_db

_INSERT = """
INSERT INTO approvals_decision (request_id, person_id, on_behalf_of_id, verdict, reason, checked, digest, at,
  acknowledged, stepped_up)
VALUES (%s, %s, %s, 'approve', '', '', %s, %s, '', '')"""


def run(sql: str, *params: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def insert(request: ApprovalRequest, person: User, behalf: User | None = None, *, digest: str = "") -> None:
    run(_INSERT, request.pk, person.pk, behalf and behalf.pk, digest or request.digest, timezone.now())


def refused(words: str) -> Any:
    return pytest.raises(IntegrityError, match=words)


@pytest.fixture
def request_(stage: Stage) -> ApprovalRequest:
    return needs(stage.ask(), 3)


def test_decision_of_an_excluded_person_is_refused(stage: Stage, request_: ApprovalRequest, dave: User) -> None:
    Exclusion.objects.create(request=request_, person=stage.cast.alice, why="owner")
    with refused("an excluded person"):
        insert(request_, stage.cast.alice)
    with refused("an excluded person"):
        insert(request_, dave, stage.cast.alice)
    with refused("an excluded person"):
        insert(request_, stage.cast.alice, dave)
    assert Decision.objects.count() == 0


@pytest.mark.parametrize("alias", ["Alice@Example.com ", "alice+x@example.com", "\uff41lice@example.com"])
def test_decision_from_another_account_of_an_excluded_person_is_refused(
    stage: Stage, request_: ApprovalRequest, dave: User, alias: str
) -> None:
    Exclusion.objects.create(request=request_, person=stage.cast.alice, why="owner")
    User.objects.filter(pk=dave.pk).update(email=alias)
    with refused("an excluded person"):
        insert(request_, dave)


def test_two_people_without_an_address_are_two_people(stage: Stage, request_: ApprovalRequest, dave: User) -> None:
    User.objects.update(email="")
    insert(request_, stage.cast.alice)
    insert(request_, dave)
    assert Decision.objects.count() == 2


def test_one_person_has_a_part_in_one_decision(stage: Stage, request_: ApprovalRequest, dave: User) -> None:
    erin, alice = approver(stage, "erin"), stage.cast.alice
    insert(request_, dave, alice)
    for person, behalf in ((alice, None), (erin, alice), (erin, dave), (alice, erin)):
        with refused("different people"):
            insert(request_, person, behalf)
    User.objects.filter(pk=erin.pk).update(email="ALICE@example.com")
    with refused("different people"):
        insert(request_, erin)
    assert Decision.objects.count() == 1


def test_decision_that_was_taken_back_stands_in_nobodys_way(
    stage: Stage, request_: ApprovalRequest, dave: User
) -> None:
    insert(request_, dave, stage.cast.alice)
    run("UPDATE approvals_decision SET taken_back_at = now()")
    insert(request_, stage.cast.alice)
    assert Decision.objects.filter(taken_back_at=None).get().person == stage.cast.alice


def test_decision_about_something_else_is_refused(stage: Stage, request_: ApprovalRequest) -> None:
    with refused("what the request says"):
        insert(request_, stage.cast.alice, digest="0" * 64)


@pytest.mark.parametrize("state", ["approved", "rejected", "expired", "voided"])
def test_decision_about_a_closed_request_is_refused(stage: Stage, request_: ApprovalRequest, state: str) -> None:
    ApprovalRequest.objects.update(state=state, closed_at=timezone.now())
    with refused("only a pending request"):
        insert(request_, stage.cast.alice)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM approvals_decision",
        "UPDATE approvals_decision SET verdict = 'reject', reason = 'x'",
        "UPDATE approvals_decision SET person_id = person_id + 1, taken_back_at = now()",
        "UPDATE approvals_decision SET digest = ''",
        "UPDATE approvals_decision SET dwell_ms = 1",
        "UPDATE approvals_decision SET taken_back_at = NULL",
        "UPDATE approvals_decision SET taken_back_at = now()",
    ],
)
def test_decision_that_was_taken_back_never_changes(stage: Stage, request_: ApprovalRequest, change: str) -> None:
    insert(request_, stage.cast.alice)
    run("UPDATE approvals_decision SET taken_back_at = '2026-01-01'")
    before = Decision.objects.values().get()
    with refused("a decision never changes"):
        run(change)
    assert Decision.objects.values().get() == before


def test_standing_decision_is_only_taken_back(stage: Stage, request_: ApprovalRequest) -> None:
    insert(request_, stage.cast.alice)
    for change in ("reason = 'x'", "verdict = 'reject', reason = 'x'", "at = now(), taken_back_at = now()"):
        with refused("a decision never changes"):
            run(f"UPDATE approvals_decision SET {change}")
    with refused("a decision never changes"):
        run("DELETE FROM approvals_decision")


def test_exclusion_never_changes(stage: Stage, request_: ApprovalRequest) -> None:
    Exclusion.objects.create(request=request_, person=stage.cast.alice, why="owner")
    for change in ("DELETE FROM approvals_exclusion", "UPDATE approvals_exclusion SET why = 'editor'"):
        with refused("an exclusion never changes"):
            run(change)
