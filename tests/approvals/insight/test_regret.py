"""Approvals that turned out to be wrong."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.registry.role import Disputed
from agentops.runtime.control import propose_undo
from agentops.runtime.models import Invocation
from agentops.runtime.states import InvocationState
from approvals.insight.errors import AlreadySaid, NeedsWords, NotCarriedOut
from approvals.insight.regret import gather, note_regret
from approvals.models import ApprovalRequest, Exemplar, Regret
from tests.approvals.conftest import Stage, client_of, decide

pytestmark = pytest.mark.django_db


def done(stage: Stage) -> ApprovalRequest:
    """A payment that Alice approved and that was made."""
    request = stage.ask()
    decide(client_of(stage.cast.alice), request)
    stage.work()
    request.refresh_from_db()
    return request


def test_a_person_marks_an_approval_wrong_once(stage: Stage) -> None:
    request, now = done(stage), timezone.now()
    Exemplar.objects.create(
        tenant=stage.cast.tenant, request=request, why="Clean.", proposed_by=stage.cast.alice, proposed_at=now
    )
    note_regret(request_id=request.pk, kind=Regret.Kind.MARKED, by="user:bob", words=" Wrong order. ", at=now)
    with pytest.raises(AlreadySaid):
        note_regret(request_id=request.pk, kind=Regret.Kind.MARKED, by="user:bob", words="Again.", at=now)
    note_regret(invocation_id=request.invocation_id, kind=Regret.Kind.DISPUTED, by="support", at=now)
    told = [(r.kind, r.words, r.by) for r in Regret.objects.order_by("pk")]
    assert told == [("marked", "Wrong order.", "user:bob"), ("disputed", "", "support")]
    assert Exemplar.objects.get().state == "retired"
    kinds = LedgerEvent.objects.filter(
        refs__request=str(request.pk), type__in=["request.regretted", "exemplar.retired"]
    )
    assert sorted(kinds.values_list("type", flat=True)) == [
        "exemplar.retired",
        "request.regretted",
        "request.regretted",
    ]


def test_what_was_not_approved_cannot_be_regretted(stage: Stage) -> None:
    request, now = stage.ask(), timezone.now()
    with pytest.raises(NotCarriedOut):
        note_regret(request_id=request.pk, kind=Regret.Kind.DISPUTED, by="support", at=now)
    with pytest.raises(NeedsWords):
        note_regret(request_id=request.pk, kind=Regret.Kind.MARKED, by="user:bob", words="  ", at=now)
    with pytest.raises(ApprovalRequest.DoesNotExist):
        note_regret(request_id=uuid4(), kind=Regret.Kind.DISPUTED, by="support", at=now)
    assert not Regret.objects.exists()


def test_an_undone_effect_is_a_regret_once(stage: Stage) -> None:
    request = done(stage)
    assert gather(timezone.now(), 50) == 0
    propose_undo(invocation_id=request.invocation_id, actor="user:bob", reason="Paid twice.")
    stage.work()
    assert Invocation.objects.get(pk=request.invocation_id).state == InvocationState.COMPENSATED
    assert (gather(timezone.now(), 50), gather(timezone.now(), 50)) == (1, 0)
    regret = Regret.objects.get()
    assert (regret.request_id, regret.kind) == (request.pk, "undone")


def test_a_disputed_effect_is_a_regret_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    request, now = done(stage), timezone.now()
    key = Invocation.objects.get(pk=request.invocation_id).idempotency_key or ""
    told = [
        Disputed(stage.cast.tenant.pk, key, now, "Fraudulent."),
        Disputed(stage.cast.tenant.pk, "of-nobody", now, ""),
        Disputed(stage.cast.other.pk, key, now, "Of another company."),
    ]
    asked: list[timedelta] = []

    def disputed(since: datetime, limit: int) -> list[Disputed]:
        asked.append(now - since)
        return told[:limit]

    spec = replace(stage.toy.spec(), disputed=disputed)
    monkeypatch.setattr("agentops.registry.roles.all_roles", lambda: (spec,))
    monkeypatch.setattr("approvals.insight.regret.all_roles", lambda: (spec,))
    assert (gather(now, 50), gather(now, 50)) == (1, 0)
    regret = Regret.objects.get()
    assert (regret.request_id, regret.kind, regret.words, regret.by) == (
        request.pk,
        "disputed",
        "Fraudulent.",
        "sweep",
    )
    assert all(span >= timedelta(hours=1) for span in asked)
