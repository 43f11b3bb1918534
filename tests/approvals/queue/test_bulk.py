"""Several requests at once, through the forms: each with its own result, and nothing that was not shown."""

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from guardian.shortcuts import assign_perm

from agentops.agents.models import ToolGrant
from agentops.kernel.ids import new_id
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.operations import start_session
from agentops.tenancy.models import Role
from approvals.models import ApprovalQueue, ApprovalRequest, Decision
from tests.approvals.conftest import Stage, client_of, decide, overdue, queue_url
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(stage: Stage) -> User:
    """A second approver of the same queue."""
    dave = make_person("dave", stage.cast.tenant, Role.APPROVER)
    assign_perm("approvals.decide_queue", dave, stage.cast.queue)
    return dave


def send(client: Client, do: str, requests: list[ApprovalRequest], **fields: Any) -> HttpResponse:
    """Tick the requests and press a button below the list."""
    return client.post(reverse("approval_bulk"), {"do": do, "id": [str(one.pk) for one in requests], **fields})


def shown(*requests: ApprovalRequest) -> list[str]:
    return [f"{one.pk}:{one.digest}" for one in requests]


def results(response: HttpResponse) -> dict[str, tuple[bool, str]]:
    found = response.context["page"].results
    return {result.request.code: (result.done, result.words) for result, _ in found}


def states(*requests: ApprovalRequest) -> list[str]:
    found = dict(ApprovalRequest.objects.values_list("pk", "state"))
    return [found[one.pk] for one in requests]


def test_claiming_and_releasing_tell_of_each(stage: Stage, alice: Client, dave: User) -> None:
    free, taken = stage.ask(), stage.ask(5100)
    client_of(dave).post(reverse("approval_claim", args=[taken.pk]))
    told = results(send(alice, "claim", [free, taken]))
    assert told[free.code] == (True, "claimed")
    assert told[taken.code][0] is False
    assert "dave has it" in told[taken.code][1]
    told = results(send(alice, "release", [free, taken]))
    assert (told[free.code][0], told[taken.code][0]) == (True, False)


def test_rejecting_asks_for_one_reason_and_tells_of_each(stage: Stage, alice: Client) -> None:
    first, second, decided = stage.ask(), stage.ask(5100), stage.ask(5200)
    asked = send(alice, "reject", [first, second, decided])
    assert (asked.status_code, Decision.objects.count()) == (200, 0)
    for one in (first, second, decided):
        assert f"{one.pk}:{one.digest}" in asked.content.decode()
    decide(alice, decided)
    told = results(
        send(
            alice,
            "reject",
            [first, second, decided],
            final="1",
            reason="policy",
            why="All too late.",
            shown_digest=shown(first, second, decided),
        )
    )
    assert told[first.code] == told[second.code] == (True, "rejected")
    assert told[decided.code][0] is False
    assert states(first, second, decided) == ["rejected", "rejected", "approved"]
    reasons = set(Decision.objects.filter(verdict="reject").values_list("reason", flat=True))
    assert reasons == {"Against policy: All too late."}


@pytest.mark.parametrize("fields", [{}, {"reason": "other"}, {"reason": "none"}, {"why": "Only words."}])
def test_rejecting_without_a_reason_asks_again(stage: Stage, alice: Client, fields: dict[str, str]) -> None:
    request = stage.ask()
    answer = send(alice, "reject", [request], final="1", shown_digest=shown(request), **fields)
    assert (answer.status_code, states(request)) == (422, ["pending"])


def test_rejection_is_of_what_was_shown(stage: Stage, alice: Client) -> None:
    changed, left_out = stage.ask(), stage.ask(5100)
    told = results(
        send(
            alice,
            "reject",
            [changed, left_out],
            final="1",
            reason="policy",
            shown_digest=[f"{changed.pk}:{'0' * 64}", "junk", ":"],
        )
    )
    assert [done for done, _ in told.values()] == [False, False]
    assert states(changed, left_out) == ["pending", "pending"]


def test_who_only_reads_rejects_nothing(stage: Stage, bob: Client) -> None:
    request = stage.ask()
    answer = send(bob, "reject", [request], final="1", reason="policy", shown_digest=shown(request))
    assert results(answer)[request.code][0] is False
    assert states(request) == ["pending"]


def test_foreign_requests_are_as_good_as_none(stage: Stage, charlie: Client) -> None:
    request = stage.ask()
    for do in ("claim", "reject", "csv", "json", "approve", "assign"):
        answer = send(charlie, do, [request])
        assert answer.status_code == 302
        assert request.code not in str(answer.content)


def test_fifty_are_worked_on_and_not_one_more(stage: Stage, alice: Client) -> None:
    template = stage.ask()
    copies = []
    for _ in range(50):
        copy = ApprovalRequest.objects.get(pk=template.pk)
        copy.pk, copy.invocation_id = new_id(), new_id()
        copies.append(copy)
    ApprovalRequest.objects.bulk_create(copies)
    answer = send(alice, "claim", [template, *copies])
    assert answer.status_code == 302
    assert ApprovalRequest.objects.exclude(claimed_by=None).count() == 0
    assert len(results(send(alice, "claim", copies))) == 50


@pytest.mark.parametrize("do", ["", "delete", "final"])
def test_unknown_button_does_nothing(stage: Stage, alice: Client, do: str) -> None:
    assert send(alice, do, [stage.ask()], back="bucket=others")["Location"].endswith("?bucket=others")


def test_nothing_ticked_is_told(stage: Stage, alice: Client) -> None:
    stage.ask()
    answer = alice.post(reverse("approval_bulk"), {"do": "claim", "id": ["x", str(new_id())]}, follow=True)
    assert "Tick the requests that you mean." in answer.content.decode()


def test_export_as_json_and_csv_holds_what_the_list_shows(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    ApprovalRequest.objects.filter(pk=request.pk).update(effect='=HYPERLINK("http://evil.example")', target="-1")
    (row,) = json.loads(send(alice, "json", [request]).content)
    assert (row["code"], row["amount_minor"], row["currency"], row["tier"]) == (request.code, 5000, "USD", 2)
    assert row["effect"].startswith("=HYPERLINK")
    answer = send(alice, "csv", [request])
    assert answer["Content-Disposition"].startswith('attachment; filename="requests-')
    (cells,) = csv.DictReader(io.StringIO(answer.content.decode()))
    assert cells["effect"].startswith("'=HYPERLINK"), "a spreadsheet must not run it"
    assert (cells["target"], cells["code"]) == ("'-1", request.code)


def test_assigning_is_for_who_manages_the_queue(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    asked = send(alice, "assign", [request])
    assert asked.status_code == 200
    told = results(send(alice, "assign", [request], final="1", to=str(dave.pk), words="Yours."))
    assert told[request.code][0] is False
    assign_perm("approvals.manage_queue", stage.cast.alice, stage.cast.queue)
    told = results(send(alice, "assign", [request], final="1", to=str(dave.pk), words="Yours."))
    assert told[request.code] == (True, "assigned to dave")
    request.refresh_from_db()
    assert request.assigned_to == dave
    nobody = send(alice, "assign", [request], final="1", to=str(stage.cast.charlie.pk))
    assert nobody.status_code == 422


@pytest.fixture
def allowed(stage: Stage) -> None:
    """The queue allows it, and a note is asked about."""
    ApprovalQueue.objects.filter(pk=stage.cast.queue.pk).update(bulk_approve=True)
    ToolGrant.objects.filter(tool="note").update(dial="ask")


def ask_note(stage: Stage, text: str) -> ApprovalRequest:
    """Run a session as far as its question about a note, which is reversible, costs nothing and stays in the house."""
    work_id = f"w-{len(stage.toy.works) + 1}"
    stage.toy.add_work(work_id)
    stage.toy.taken.add(work_id)
    stage.toy.planner = ScriptedPlanner([ToolCall("note", {"text": text}, "To remember."), FinalAnswer("Done.")])
    session = start_session(agent=stage.agent, subject_id=work_id, actor="user:bob")
    work_until_quiet()
    return ApprovalRequest.objects.get(session_id=session.pk)


def test_notes_are_approved_together_after_all_were_shown_open(stage: Stage, alice: Client, allowed: None) -> None:
    long = "word " * 80
    first, second = ask_note(stage, "Called back."), ask_note(stage, long)
    page = send(alice, "approve", [first, second])
    body = page.content.decode()
    assert Decision.objects.count() == 0
    assert (long.strip() in body, "Approve all 2" in body) == (True, True)
    main = body[body.index("<main") : body.index("</main>")]
    assert "<details" not in main, "nothing is folded"
    told = results(send(alice, "approve", [first, second], final="1", shown_digest=shown(first, second)))
    assert told == {first.code: (True, "approved"), second.code: (True, "approved")}
    assert states(first, second) == ["approved", "approved"]
    stage.work()
    assert sorted(stage.toy.notes) == sorted(["Called back.", long])


def test_approval_is_of_what_was_shown(stage: Stage, alice: Client, allowed: None) -> None:
    seen, unseen, changed = (ask_note(stage, f"Note {n}.") for n in range(3))
    digests = [*shown(seen), f"{changed.pk}:{'0' * 64}"]
    told = results(send(alice, "approve", [seen, unseen, changed], final="1", shown_digest=digests))
    assert [told[one.code][0] for one in (seen, unseen, changed)] == [True, False, False]
    assert states(seen, unseen, changed) == ["approved", "pending", "pending"]


def test_money_is_left_out_and_the_others_go_on(stage: Stage, alice: Client, allowed: None) -> None:
    note, payment = ask_note(stage, "Called back."), stage.ask()
    page = send(alice, "approve", [note, payment]).context["page"]
    assert [item.row.id for item in page.items] == [note.code]
    assert [one.pk for one in page.left_out] == [str(payment.pk)]
    told = results(send(alice, "approve", [note, payment], final="1", shown_digest=shown(note, payment)))
    assert (told[note.code][0], told[payment.code][0]) == (True, False)
    assert states(note, payment) == ["approved", "pending"]


def test_money_alone_leaves_nothing_to_approve(stage: Stage, alice: Client, allowed: None) -> None:
    first, second = stage.ask(), stage.ask(5100)
    body = send(alice, "approve", [first, second]).content.decode()
    assert ("Approve all" in body, "Nothing was approved." in body) == (False, True)
    answer = send(alice, "approve", [first, second], final="1", shown_digest=shown(first, second))
    assert (answer.status_code, states(first, second)) == (409, ["pending", "pending"])


def test_approving_together_is_off_unless_the_queue_says_so(stage: Stage, alice: Client, allowed: None) -> None:
    request = ask_note(stage, "Called back.")
    assert "Approve together" in alice.get(queue_url()).content.decode()
    ApprovalQueue.objects.update(bulk_approve=False)
    assert "Approve together" not in alice.get(queue_url()).content.decode()
    assert "does not let" in send(alice, "approve", [request]).context["page"].left_out[0].words
    assert send(alice, "approve", [request], final="1", shown_digest=shown(request)).status_code == 409
    assert states(request) == ["pending"]


def test_eleven_are_too_many(stage: Stage, alice: Client, allowed: None) -> None:
    template = ask_note(stage, "Called back.")
    copies = []
    for _ in range(10):
        copy = ApprovalRequest.objects.get(pk=template.pk)
        copy.pk, copy.invocation_id = new_id(), new_id()
        copies.append(copy)
    ApprovalRequest.objects.bulk_create(copies)
    answer = send(alice, "approve", [template, *copies], final="1", shown_digest=shown(template, *copies))
    assert (answer.status_code, Decision.objects.count()) == (409, 0)
    assert "At most 10" in answer.content.decode()


def test_what_is_not_ones_turn_is_left_out(stage: Stage, alice: Client, dave: User, allowed: None) -> None:
    claimed, late = ask_note(stage, "One."), ask_note(stage, "Two.")
    client_of(dave).post(reverse("approval_claim", args=[claimed.pk]))
    overdue(late)
    answer = send(alice, "approve", [claimed, late], final="1", shown_digest=shown(claimed, late))
    assert (answer.status_code, states(claimed, late)) == (409, ["pending", "pending"])
