"""Whoever may call the next step of the ladder finds where, also without the right to decide; nobody else does."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Role
from approvals.access import view_of
from approvals.clock.ladder import AtTheTop, escalate, may_escalate
from approvals.models import Act, ApprovalRequest, Draft, Exclusion, Rung
from approvals.refusals import NotAllowed
from tests.approvals.conftest import Stage, client_of, overdue, page_url
from tests.approvals.request.conftest import body_of, send
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db

OTHERS = ("sees", "outsider")
ALLOWED = ("manager", "called", "assignee", "excluded", "voted")


@pytest.fixture
def erin(stage: Stage) -> User:
    return make_person("erin", stage.cast.tenant, Role.SUPPORT)


def ladder(stage: Stage, person: User, *places: int) -> None:
    for place in places:
        Rung.objects.create(queue=stage.cast.queue, place=place, kind="person", person=person, after_percent=20 * place)


def cast_as(stage: Stage, request: ApprovalRequest, part: str, erin: User) -> User:
    """Return somebody who may not decide the request, and has this to do with it."""
    if part == "outsider":
        return stage.cast.charlie
    if part == "sees":
        return stage.cast.bob
    if part in ("excluded", "voted"):
        person = stage.cast.alice
        if part == "excluded":
            Exclusion.objects.create(request=request, person=person, why=Exclusion.Why.OWNER)
        else:
            ApprovalRequest.objects.filter(pk=request.pk).update(people=2)
            request.decisions.create(person=person, verdict="approve", digest=request.digest, at=timezone.now())
        return person
    if part == "manager":
        assign_perm("approvals.manage_queue", erin, stage.cast.queue)
    elif part == "assignee":
        ApprovalRequest.objects.filter(pk=request.pk).update(assigned_to=erin)
    else:
        Rung.objects.filter(place=1).update(person=erin)
        ApprovalRequest.objects.filter(pk=request.pk).update(rung=1)
    return erin


def post(client: Client, request: ApprovalRequest, note: str = "Too large for us.") -> int:
    """Send the form of the page as a browser without scripts does."""
    body = body_of(client, request)
    form = body.split(f'action="{reverse("approval_escalate", args=[request.pk])}"')[1].split("</form>")[0]
    hidden = dict(re.findall(r'<input type="hidden" name="(digest|shown)" value="([^"]*)"', form))
    assert set(hidden) == {"digest", "shown"}
    answer = client.post(reverse("approval_escalate", args=[request.pk]), {**hidden, "note": note})
    return answer.status_code


@pytest.mark.parametrize("part", ALLOWED)
def test_who_may_escalate_and_not_decide_does_it_from_the_page(
    stage: Stage, dave_: User, erin: User, part: str
) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1, 2)
    person = cast_as(stage, request, part, erin)
    client = client_of(person)
    page = client.get(page_url(request)).context["page"]
    assert (page.panel, page.escalate.to) == (None, "dave")
    body = body_of(client, request)
    assert "Calls dave. They are told at once; who may decide stays the same." in body
    assert 'href="#escalate-note"' in body.split(page.cannot[0])[1].split('class="lead"')[0]
    assert post(client, request) == 302
    act = Act.objects.get(kind="escalated")
    assert (act.person, act.words, act.facts["to"]) == (person, "Too large for us.", "dave")


@pytest.mark.parametrize("part", [*ALLOWED, *OTHERS])
def test_page_and_post_allow_the_same(stage: Stage, dave_: User, erin: User, part: str) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1, 2)
    person = cast_as(stage, request, part, erin)
    request.refresh_from_db()
    may = may_escalate(request, view_of(person, request.tenant_id, timezone.now()))
    assert may == (part in ALLOWED)
    response = client_of(person).get(page_url(request))
    shown = response.status_code == 200 and response.context["page"].escalate is not None
    assert shown == may
    if may:
        escalate(request_id=request.pk, person=person, words="Up.", now=timezone.now())
    else:
        with pytest.raises(NotAllowed):
            escalate(request_id=request.pk, person=person, words="Up.", now=timezone.now())
        address = reverse("approval_escalate", args=[request.pk])
        data = {"digest": request.digest, "note": "Up."}
        assert client_of(person).post(address, data).status_code == {"sees": 403, "outsider": 404}[part]


def test_who_may_decide_has_the_verb_and_no_second_form(stage: Stage, alice: Client, dave_: User) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1)
    assert alice.get(page_url(request)).context["page"].escalate is None
    assert "escalate-note" not in body_of(alice, request)


def test_nothing_at_the_top_without_a_ladder_or_when_it_is_closed(stage: Stage, dave_: User, erin: User) -> None:
    request = stage.ask()
    client = client_of(cast_as(stage, request, "manager", erin))
    assert "escalate-note" not in body_of(client, request), "no ladder"
    ladder(stage, dave_, 1)
    assert "escalate-note" in body_of(client, request)
    ApprovalRequest.objects.filter(pk=request.pk).update(rung=1)
    assert "escalate-note" not in body_of(client, request), "at the top"
    ApprovalRequest.objects.filter(pk=request.pk).update(rung=0)
    overdue(request)
    assert "escalate-note" not in body_of(client, request), "closed"


def test_form_without_a_note_says_so_at_its_field(stage: Stage, dave_: User, erin: User) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1)
    client = client_of(cast_as(stage, request, "manager", erin))
    data = {"digest": request.digest, "note": " "}
    response = client.post(reverse("approval_escalate", args=[request.pk]), data)
    field = response.content.decode().split('id="escalate-note"')[1].split(">")[0]
    assert response.status_code == 422
    assert 'aria-invalid="true" aria-describedby="escalate-note-error"' in field
    assert response.context["page"].escalate.error == "Say in a word why, for whoever takes it."
    assert response.context["page"].conflict == ""
    assert "Not escalated yet: see the note." in response.content.decode().split('class="lead"')[0]


def test_step_that_somebody_else_took_meanwhile_is_told_and_the_note_is_kept(
    stage: Stage, alice: Client, dave_: User, erin: User
) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1)
    client = client_of(cast_as(stage, request, "manager", erin))
    send(alice, request, "escalate", note="First.")
    response = client.post(
        reverse("approval_escalate", args=[request.pk]), {"digest": request.digest, "note": "Second, at length."}
    )
    body = response.content.decode()
    assert response.status_code == 409
    assert AtTheTop.next_step in response.context["page"].turned_down
    assert "was escalated to the last step already" in body
    assert "Second, at length." in body
    assert Act.objects.filter(kind="escalated").count() == 1


def test_login_that_ran_out_keeps_the_note(stage: Stage, dave_: User, erin: User) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1)
    client = client_of(cast_as(stage, request, "manager", erin))
    shown = client.get(page_url(request)).context["page"].escalate.shown
    data = {"digest": request.digest, "shown": shown, "note": "Typed at length."}
    response = Client().post(reverse("approval_escalate", args=[request.pk]), data)
    assert response["Location"] == f"/login/?next={page_url(request)}"
    page = client.get(page_url(request)).context["page"]
    assert page.escalate.note == "Typed at length."
    assert body_of(client, request).count("Typed at length.") == 1
    assert post(client, request, "Typed at length.") == 302
    assert Draft.objects.count() == 0


def test_who_only_had_it_goes_to_the_queue_when_it_is_handed_on(stage: Stage, dave_: User, erin: User) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1)
    client = client_of(cast_as(stage, request, "assignee", erin))
    data = {"digest": request.digest, "note": "Not mine."}
    response = client.post(reverse("approval_escalate", args=[request.pk]), data, follow=True)
    assert response.redirect_chain == [(reverse("approval_queue"), 302)]
    assert "Escalated to step 1" in response.content.decode()


def test_escalating_stands_beside_assigning_for_a_manager(stage: Stage, dave_: User, erin: User) -> None:
    request = stage.ask()
    ladder(stage, dave_, 1)
    body = body_of(client_of(cast_as(stage, request, "manager", erin)), request)
    between = body.split('id="h-escalate"')[1].split('id="h-assign"')[0]
    assert between.count("<section") == 1
    assert 'name="to"' in body
