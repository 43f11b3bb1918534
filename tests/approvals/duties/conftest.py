from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agentops.registry import roles
from approvals.access import View, view_of
from approvals.digest import digest_of
from approvals.models import ApprovalRequest, Delegation, Verdict
from approvals.operations import Receipt, decide_request
from tests.approvals.conftest import Stage
from tests.factories.irreversible import FinalToy
from tests.factories.people import make_approver


@pytest.fixture
def final(monkeypatch: pytest.MonkeyPatch, toy: FinalToy) -> FinalToy:
    """Paying cannot be undone. To be asked for before the stage."""
    toy.__class__ = FinalToy
    spec = toy.spec()
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    return toy


@pytest.fixture
def dave(stage: Stage) -> User:
    """A second approver of the same queue."""
    return approver(stage, "dave")


def approver(stage: Stage, name: str) -> User:
    return make_approver(name, stage.cast.queue)


def vote(request: ApprovalRequest, person: User, verdict: str = "approve", **given: Any) -> Receipt:
    """Decide what the request says."""
    given = {"digest": request.digest, "now": timezone.now(), **given}
    return decide_request(request_id=request.pk, person=person, verdict=Verdict(verdict), **given)


def needs(request: ApprovalRequest, people: int) -> ApprovalRequest:
    """Return the same request as if its rules had asked for so many people."""
    request.people = people
    request.digest = digest_of(request)
    request.save(update_fields=["people", "digest"])
    return request


def lend(stage: Stage, giver: User, taker: User, **given: Any) -> Delegation:
    now = timezone.now()
    given = {"begins": now, "ends": now + timedelta(days=1), **given}
    return Delegation.objects.create(tenant=stage.cast.tenant, giver=giver, taker=taker, **given)


def seen_by(stage: Stage, person: User) -> View:
    """Return what a person may do at this moment."""
    return view_of(person, stage.cast.tenant.pk, timezone.now())
