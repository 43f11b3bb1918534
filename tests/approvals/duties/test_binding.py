"""A decision is about what the request says, and about nothing that somebody wrote there since."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from guardian.shortcuts import remove_perm
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.canonical import digest, dumps, loads
from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import Session
from approvals.digest import _bound_by, _written, digest_of, is_intact
from approvals.models import ApprovalRequest, Decision, Exclusion
from approvals.refusals import ChangedSince, DigestBroken
from approvals.sql import resolution_of
from tests.approvals.conftest import Stage
from tests.approvals.duties.conftest import needs, vote

pytestmark = pytest.mark.django_db

BEHIND = [
    ("arguments", {"account": "a-1", "minor": 1}),
    ("preview", {}),
    ("effect", "Pay $0.01 from a-1"),
    ("target", "customer:nobody"),
    ("money_minor", 1),
    ("money_currency", "EUR"),
    ("tool", "note"),
    ("tool_version", 2),
    ("tier", "write_soft"),
    ("irreversible", True),
    ("reversibility", "none"),
    ("policy_version", "none"),
    ("reasons", []),
    ("facts", {}),
    ("rationale", "Because."),
    ("subject_text", "Nothing."),
    ("sender", "eve@example.com"),
    ("requester", "agent:Other"),
    ("agent", "Other"),
    ("opened_in", "other"),
    ("nonce", "0" * 32),
]


@pytest.mark.parametrize(("column", "value"), BEHIND)
def test_row_that_was_changed_behind_the_program_is_withdrawn(stage: Stage, column: str, value: Any) -> None:
    request = stage.ask()
    ApprovalRequest.objects.filter(pk=request.pk).update(**{column: value})
    with pytest.raises(DigestBroken):
        vote(request, stage.cast.alice)
    request.refresh_from_db()
    assert (request.state, Decision.objects.count()) == ("voided", 0)
    told = LedgerEvent.objects.filter(stream=request.session_id).order_by("-position").values_list("type", flat=True)
    assert list(told[:2]) == ["call.refused", "approval.voided"]
    stage.work()
    assert stage.toy.vendor.calls == []
    assert Session.objects.get().status != "waiting_approval"


def test_row_and_digest_changed_together_are_not_what_was_shown(stage: Stage) -> None:
    request = stage.ask()
    shown = request.digest
    request.arguments = {"account": "a-1", "minor": 99_000}
    request.digest = digest_of(request)
    request.save()
    with pytest.raises(ChangedSince):
        vote(request, stage.cast.alice, digest=shown)
    assert ApprovalRequest.objects.get().state == "pending"


def test_time_that_was_stretched_is_noticed(stage: Stage) -> None:
    request = stage.ask()
    ApprovalRequest.objects.update(expires_at=request.expires_at + timedelta(days=1))
    with pytest.raises(DigestBroken):
        vote(request, stage.cast.alice)


def test_request_of_an_earlier_release_is_intact(stage: Stage) -> None:
    """Its digest leaves out what the preview says as well."""
    request = stage.ask()
    request.digest = digest(_written(_bound_by(request))).hex()
    assert is_intact(request)
    request.arguments = {}
    assert not is_intact(request)


NAMES = st.text("abcxyz_", min_size=1, max_size=5)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(arguments=st.dictionaries(NAMES, JSONS, max_size=4))
def test_digest_survives_being_stored(arguments: dict[str, Any]) -> None:
    """PostgreSQL orders keys anew; the digest does not care."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::jsonb::text", [dumps(arguments)])
        assert digest(loads(cursor.fetchone()[0])) == digest(arguments)


def approved(stage: Stage) -> ApprovalRequest:
    request = stage.ask()
    vote(request, stage.cast.alice)
    assert resolution_of(request.invocation_id).unfit == ""
    return request


@pytest.mark.parametrize("lost", ["permission", "membership", "active", "excluded"])
def test_approval_by_somebody_who_may_not_decide_any_more_is_unfit(stage: Stage, lost: str) -> None:
    request, alice = approved(stage), stage.cast.alice
    if lost == "permission":
        remove_perm("approvals.decide_queue", alice, stage.cast.queue)
    elif lost == "membership":
        alice.memberships.all().delete()
    elif lost == "active":
        User.objects.filter(pk=alice.pk).update(is_active=False)
    else:
        Exclusion.objects.create(request=request, person=alice, why="owner")
    words = "alice may no longer decide the queue Payments, so the approval does not hold."
    assert resolution_of(request.invocation_id).unfit == words
    stage.work()
    assert stage.toy.vendor.calls == []


@pytest.mark.parametrize(
    "change",
    [
        'UPDATE invocation SET arguments = \'{"account": "a-1", "minor": 5001}\'',
        'UPDATE approvals_approvalrequest SET arguments = \'{"account": "a-1", "minor": 5001}\'',
        "UPDATE approvals_approvalrequest SET digest = repeat('0', 64)",
        "UPDATE approvals_decision SET taken_back_at = now()",
    ],
)
def test_approval_of_something_else_than_would_run_is_unfit(stage: Stage, change: str) -> None:
    request = approved(stage)
    with connection.cursor() as cursor:
        cursor.execute(change)
    assert "not what was shown" in resolution_of(request.invocation_id).unfit
    stage.work()
    assert stage.toy.vendor.calls == []


def test_approved_without_enough_approvals_is_unfit(stage: Stage, dave: User) -> None:
    request = needs(stage.ask(), 2)
    vote(request, stage.cast.alice)
    ApprovalRequest.objects.update(state="approved", closed_at=timezone.now())
    assert "not what was shown" in resolution_of(request.invocation_id).unfit
