"""The page of one request: what it shows before, while and after somebody decides."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from guardian.shortcuts import assign_perm

from agentops.console.codes import session_code
from agentops.console.marks import plain
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from agentops.runtime.models import Session
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Role
from approvals.models import ApprovalRequest
from approvals.request_presenters import RequestPage
from tests.approvals.conftest import Stage, client_of, decide, overdue, page_url
from tests.factories.people import make_person
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db


def page(client: Client, request: ApprovalRequest) -> RequestPage:
    response = client.get(page_url(request))
    assert response.status_code == 200
    found: RequestPage = response.context["page"]
    return found


def test_page_shows_what_would_happen_and_why_it_asks(stage: Stage, alice: Client) -> None:
    request = stage.ask(5000, text="My lamp is broken.", rationale="They said so.")
    shown = page(alice, request)
    assert (shown.title, shown.tier.level, shown.status) == ("Pay $50.00 from a-1", 2, "pending")
    assert [(c.label, c.before, c.after) for c in shown.changes] == [("Balance", plain("100000"), plain("95000"))]
    assert sorted((a.name, a.value, a.size) for a in shown.arguments) == [
        ("account", plain("a-1"), "3\u00a0bytes"),
        ("minor", plain("5000"), "4\u00a0bytes"),
    ]
    assert (shown.record, shown.reversibility) == ("a-1 version 0", "Can be paid back.")
    assert shown.blast_radius == "customer:ann, 1 record, $50.00"
    assert (shown.rules[0].effect, shown.rules[0].text) == (
        "asks",
        "More than $25.00 for one customer in one day.",
    )
    assert shown.tier_reason == "More than $25.00 for one customer in one day."
    assert shown.evidence[0].body == plain("Work w-1\n\nMy lamp is broken.")
    assert (shown.evidence[0].source, shown.evidence[0].author) == ("Work w-1", plain("ann@example.com"))
    assert shown.evidence[0].at.isoformat() == "2026-11-01T00:00:00+00:00"
    assert (shown.rationale, shown.rationale_by) == (plain("They said so."), "script")
    assert (shown.asked_by, shown.agent, shown.session_id) == ("bob", "Payer v1", session_code(request.session_id))
    assert shown.digest.replace(" ", "") == request.digest[:12]
    assert shown.digest_full == request.digest


def test_steps_and_the_question_link_to_their_place_in_the_session(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    shown = page(alice, request)
    looked = LedgerEvent.objects.get(stream=request.session_id, type="call.read").position
    asked = LedgerEvent.objects.get(stream=request.session_id, type="approval.requested").position
    assert [(step.position, step.label, step.detail) for step in shown.steps] == [(looked, "look", plain("a-1"))]
    session = reverse("session_detail", args=[request.session_id])
    body = alice.get(page_url(request)).content.decode()
    for position in (looked, asked):
        assert f'href="{session}?at={position}#step-{position}"' in body


def test_page_of_somebody_who_cannot_decide_has_no_form(stage: Stage, alice: Client, bob: Client) -> None:
    request = stage.ask()
    address = reverse("approval_decide", args=[request.pk])
    assert f'action="{address}"' in alice.get(page_url(request)).content.decode()
    body = bob.get(page_url(request)).content.decode()
    assert address not in body
    assert "You asked for this, so you cannot decide this." in body
    reader = make_person("rita", stage.cast.tenant, Role.SUPPORT)
    assign_perm("approvals.see_queue", reader, stage.cast.queue)
    body = client_of(reader).get(page_url(request)).content.decode()
    assert address not in body
    assert "That needs an approver of the queue Payments." in body


def test_form_names_the_effect_and_is_bound_to_the_digest(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    body = alice.get(page_url(request)).content.decode()
    assert f'name="digest" value="{request.digest}"' in body
    assert "Approve: pay, $50.00" in body
    assert 'value="approve" checked' not in body
    assert 'value="reject" data-key="r" checked' not in body


def test_approved_page_tells_the_outcome_with_its_proof(stage: Stage, alice: Client, bob: Client) -> None:
    request = stage.ask()
    decide(alice, request, checked="The balance is enough.")
    waiting = page(alice, request)
    assert waiting.outcome is not None
    assert (waiting.status, waiting.outcome.state.word, waiting.panel) == ("approved", "waiting for the agent", None)
    stage.work()
    mine, theirs = page(alice, request), page(bob, request)
    assert mine.outcome is not None
    assert (mine.outcome.state.word, mine.outcome.words, mine.outcome.proof) == ("done", "Carried out once.", "r-1")
    assert mine.outcome.at == LedgerEvent.objects.get(stream=request.session_id, type="call.succeeded").at
    assert mine.decision is not None
    assert theirs.decision is not None
    assert (mine.decision.by, theirs.decision.by) == ("you", "alice")
    assert mine.decision.checked == "The balance is enough."


@pytest.mark.parametrize(
    ("fault", "state", "words"),
    [
        (
            ToolFailure(FailureKind.CONFLICT, "The account is closed."),
            "failed",
            "It had no effect. The account is closed.",
        ),
        (OutcomeUnknown("timed out"), "outcome unknown, reconcile", "It may or may not have taken effect"),
    ],
)
def test_approved_page_tells_what_went_wrong(
    stage: Stage, alice: Client, fault: Exception, state: str, words: str
) -> None:
    request = stage.ask()
    (stage.toy.vendor.before if isinstance(fault, ToolFailure) else stage.toy.vendor.after).append(fault)
    stage.toy.vendor.deaf = isinstance(fault, OutcomeUnknown)
    decide(alice, request)
    for _ in range(3):  # an outcome that cannot be learnt is asked about three times
        stage.work()
        Session.objects.update(wake_at=timezone.now())
        sweep_once()
    outcome = page(alice, request).outcome
    assert outcome is not None
    assert (outcome.state.kind, outcome.state.word, outcome.proof) == ("stop", state, "")
    assert outcome.words.startswith(words)


def test_expired_page_has_no_buttons_and_never_says_rejected(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    overdue(request)
    response = alice.get(page_url(request))
    body = response.content.decode()
    assert response.context["page"].panel is None
    assert "Nobody decided in time, so nothing is carried out." in body
    assert "Rejected" not in body


def test_voided_page_says_what_changed_and_leads_to_its_successor_and_back(stage: Stage, alice: Client) -> None:
    first = stage.ask()
    decide(alice, first)
    stage.toy.vendor.balances["a-1"] -= 1
    stage.toy.vendor.versions["a-1"] += 1
    stage.work()
    second = ApprovalRequest.objects.get(state="pending")
    old, new = page(alice, first), page(alice, second)
    moved = [
        ("Balance, now", plain("100000"), plain("99999")),
        ("Balance, after", plain("95000"), plain("94999")),
        ("Version of a-1", plain("0"), plain("1")),
    ]
    assert (old.status, old.successor_pk) == ("voided", str(second.pk))
    assert [(c.label, c.before, c.after) for c in old.differences] == moved
    assert (new.status, new.predecessor_pk) == ("pending", str(first.pk))
    assert [(c.label, c.before, c.after) for c in new.differences] == moved
    assert f'href="{page_url(second)}"' in alice.get(page_url(first)).content.decode()
    assert f'href="{page_url(first)}"' in alice.get(page_url(second)).content.decode()


def test_voided_page_without_successor_says_why(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    decide(alice, request)
    stage.toy.vendor.balances["a-1"] = 10
    stage.work()
    body = alice.get(page_url(request)).content.decode()
    assert "Changed since it was asked" in body
    assert escape("More than the account holds.") in body


def test_page_costs_as_many_queries_after_a_long_session(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    stage.ask(5001)  # the first that asks the same costs a query of its own
    alice.get(page_url(request))
    with CaptureQueriesContext(connection) as short:
        alice.get(page_url(request))
    for number in range(9):
        stage.ask(5002 + number)
    with CaptureQueriesContext(connection) as long:
        alice.get(page_url(request))
    assert len(long) == len(short)
    assert len(short) <= 24


def test_long_arguments_are_whole_and_folded(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    text = "<word> " * 2000 + "THE END"
    request = rewritten(
        request, arguments={"text": text, "lines": "a\nb\nc\nd\ne\nf\ng", "list": list(range(200)), "short": "x"}
    )
    shown = page(alice, request)
    assert {a.name: a.long for a in shown.arguments} == {"text": True, "lines": True, "list": True, "short": False}
    assert shown.panel is not None
    assert sorted(shown.panel.must_open) == ["lines", "list", "text"]
    body = alice.get(page_url(request)).content.decode()
    assert escape(text) in body
    assert "14,007\u00a0bytes" in body
