"""What people say afterwards: marking an approval wrong, and examples with a second reader."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Role
from agentops.tenancy.queries import places_of
from approvals.insight.exemplars import accepted_for, propose, review
from approvals.insight.part import insight_of
from approvals.insight.regret import note_regret
from approvals.models import ApprovalRequest, Exemplar, Regret
from tests.approvals.conftest import Stage, client_of, decide
from tests.factories.people import make_approver, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def request_(stage: Stage) -> ApprovalRequest:
    """A payment that Alice approved and that was made."""
    request = stage.ask()
    decide(client_of(stage.cast.alice), request)
    stage.work()
    request.refresh_from_db()
    assert request.state == "approved"
    return request


@pytest.fixture
def dan(stage: Stage) -> Client:
    """Another approver of the queue."""
    return client_of(make_approver("dan", stage.cast.queue))


def url(name: str, pk: object) -> str:
    return reverse(name, args=[pk])


def test_support_marks_an_approval_wrong_with_a_reason(request_: ApprovalRequest, bob: Client) -> None:
    empty = bob.post(url("approval_regret", request_.pk), {"words": " "})
    assert (empty.status_code, Regret.objects.count()) == (422, 0)
    sent = bob.post(url("approval_regret", request_.pk), {"words": "Paid to the wrong person."})
    assert sent.status_code == 302
    again = bob.post(url("approval_regret", request_.pk), {"words": "Again."})
    assert again.status_code == 409
    assert "Nothing was recorded." in again.content.decode()
    assert [(r.kind, r.by, r.words) for r in Regret.objects.all()] == [
        ("marked", "user:bob", "Paid to the wrong person.")
    ]


def test_what_was_not_carried_out_cannot_be_marked(stage: Stage, bob: Client, charlie: Client) -> None:
    pending = stage.ask()
    assert bob.post(url("approval_regret", pending.pk), {"words": "No."}).status_code == 409
    assert charlie.post(url("approval_regret", pending.pk), {"words": "No."}).status_code == 404
    nobody = client_of(make_person("eve", stage.cast.tenant, Role.APPROVER))
    assert nobody.post(url("approval_regret", pending.pk), {"words": "No."}).status_code == 404


def test_support_comes_from_the_session_and_goes_back_there(stage: Stage, request_: ApprovalRequest) -> None:
    bob = client_of(make_person("sue", stage.cast.tenant, Role.SUPPORT))
    page, session = bob.get(url("approval_regret", request_.pk)), reverse("session_detail", args=[request_.session_id])
    assert page.status_code == 200
    assert session in page.content.decode()
    assert not Regret.objects.exists()
    assert bob.post(url("approval_regret", request_.pk), {"words": "Wrong."}).headers["Location"] == session
    assert bob.post(url("approval_exemplar_propose", request_.pk), {"words": "Fine."}).status_code == 404


def test_an_example_takes_two_people(stage: Stage, request_: ApprovalRequest, alice: Client, dan: Client) -> None:
    assert alice.post(url("approval_exemplar_propose", request_.pk), {"words": "Clean and short."}).status_code == 302
    example = Exemplar.objects.get()
    accept = {"accept": "yes", "words": "Read it all."}
    own = alice.post(url("approval_exemplar_review", example.pk), accept)
    assert own.status_code == 409
    assert "You proposed this example yourself." in own.content.decode()
    page = dan.get(reverse("approval_exemplars")).content.decode()
    assert "Clean and short." in page
    assert accepted_for("toy", "pay", stage.cast.tenant.pk, 5) == []
    assert dan.post(url("approval_exemplar_review", example.pk), {"words": "Hm."}).status_code == 422
    assert dan.post(url("approval_exemplar_review", example.pk), accept).status_code == 302
    assert accepted_for("toy", "pay", stage.cast.tenant.pk, 5) == [example]
    assert accepted_for("other", "pay", stage.cast.tenant.pk, 5) == []
    assert dan.post(url("approval_exemplar_review", example.pk), accept).status_code == 409
    assert dan.post(url("approval_exemplar_retire", example.pk), {"words": "Old."}).status_code == 302
    assert accepted_for("toy", "pay", stage.cast.tenant.pk, 5) == []
    told = LedgerEvent.objects.filter(type__startswith="exemplar.").order_by("position")
    assert [event.type for event in told] == ["exemplar.proposed", "exemplar.accepted", "exemplar.retired"]


def test_a_regret_retires_an_example_and_forbids_a_new_one(
    stage: Stage, request_: ApprovalRequest, alice: Client, dan: Client
) -> None:
    now = timezone.now()
    example = propose(request_id=request_.pk, person=stage.cast.alice, why="Clean.", now=now)
    review(exemplar_id=example.pk, person=stage.cast.bob, accept=True, words="Good.", now=now)
    note_regret(request_id=request_.pk, kind=Regret.Kind.DISPUTED, by="support", at=now)
    example.refresh_from_db()
    assert example.state == "retired"
    assert alice.post(url("approval_exemplar_propose", request_.pk), {"words": "Again."}).status_code == 409


def test_only_what_went_well_can_be_an_example(stage: Stage, alice: Client, charlie: Client) -> None:
    pending = stage.ask()
    assert alice.post(url("approval_exemplar_propose", pending.pk), {"words": "Fine."}).status_code == 409
    assert charlie.post(url("approval_exemplar_propose", pending.pk), {"words": "Fine."}).status_code == 404
    assert not Exemplar.objects.exists()


def test_the_part_of_the_request_page(stage: Stage, request_: ApprovalRequest) -> None:
    bob, now = stage.cast.bob, timezone.now()
    reader = Reader(bob, stage.cast.tenant, (stage.cast.tenant,), places_of(bob)[stage.cast.tenant])
    part = insight_of(reader, request_, now)
    assert (part.after, part.may_mark, part.may_propose, part.may_rule) == (True, True, True, False)
    note_regret(request_id=request_.pk, kind=Regret.Kind.MARKED, by="user:bob", words="Wrong.", at=now)
    part = insight_of(reader, request_, now)
    assert ([said.by for said in part.regrets], part.may_mark, part.may_propose) == (["bob"], False, False)
    assert not insight_of(reader, stage.ask(), now).after
