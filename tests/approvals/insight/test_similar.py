"""What the request page says about earlier and about other requests."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.acts import record_act
from approvals.insight.bands import band_of, band_words
from approvals.insight.siblings import counts, siblings_of
from approvals.insight.similar import Similar, similar_to
from approvals.models import ActKind, Regret
from tests.approvals.conftest import Stage
from tests.factories.past import past

pytestmark = pytest.mark.django_db


def test_nothing_is_similar_where_nothing_was_decided(stage: Stage) -> None:
    request = stage.ask()
    past(request, "expired")
    past(request, "voided")
    assert similar_to(request) is None


def test_what_became_of_like_calls_is_counted_in_one_query(stage: Stage) -> None:
    request, alice = stage.ask(), stage.cast.alice
    made = [past(request, "approved", alice) for _ in range(3)]
    oldest = past(request, "rejected", alice, ago=timedelta(days=2))
    edited = past(request, "voided")
    record_act(edited, ActKind.EDITED, person=alice, at=timezone.now())
    Regret.objects.create(request=made[0], kind=Regret.Kind.UNDONE, by="sweep", at=timezone.now())
    Regret.objects.create(request=made[0], kind=Regret.Kind.MARKED, by="user:bob", at=timezone.now())
    past(request, "approved", alice, tool="note")
    past(request, "approved", alice, irreversible=True)
    past(request, "approved", alice, tenant_id=stage.cast.other.pk)
    with CaptureQueriesContext(connection) as queries:
        found = similar_to(request)
    assert len(queries) == 1
    assert found == Similar(5, 3, 1, 1, 1, oldest.closed_at)
    assert found.kept == 2
    assert [(kind, begin) for kind, begin, _ in found.bars] == [
        ("kept", 0),
        ("regretted", 400),
        ("edited", 600),
        ("not", 800),
    ]


def test_the_same_amount_band_is_told_where_enough_are_of_it(stage: Stage) -> None:
    request, alice = stage.ask(5000), stage.cast.alice
    for _ in range(20):
        past(request, "approved", alice, minor=6000)
    past(request, "rejected", alice, minor=90_000)
    found = similar_to(request)
    assert found is not None
    assert (found.total, found.rejected, found.amount) == (20, 0, "$50.00 to $100.00")


def test_bands_of_amounts() -> None:
    assert [band_of(minor, "USD") for minor in (0, 999, 1000, 5000, 10_000)] == [
        (0, 1000),
        (0, 1000),
        (1000, 5000),
        (5000, 10_000),
        (10_000, 50_000),
    ]
    assert band_of(12, "JPY") == (10, 50)
    assert band_words((0, 1000), "USD") == "under $10.00"


def test_siblings_ask_the_same_question(stage: Stage) -> None:
    request = stage.ask()
    twin = past(request, "pending")
    elsewhere = past(request, "pending", target="customer:bea", session_id=request.pk, subject_id="w-9")
    other_rule = past(request, "pending", reasons=[["flow.sends", "ask", "It leaves."]])
    closed = past(request, "approved", stage.cast.alice)
    late = past(request, "pending", expires_at=timezone.now() - timedelta(minutes=1))
    assert siblings_of(request) == [twin]
    assert siblings_of(closed) == []
    shown = [request.pk, twin.pk, elsewhere.pk, other_rule.pk, closed.pk, late.pk]
    with CaptureQueriesContext(connection) as queries:
        found = counts(shown)
    assert len(queries) == 1
    assert found == {request.pk: 2, twin.pk: 2}
    assert counts([]) == {}


def test_requests_of_one_subject_are_siblings_whatever_they_touch(stage: Stage) -> None:
    request = stage.ask()
    of_subject = past(request, "pending", target="customer:cy", session_id=request.pk)
    past(request, "pending", target="customer:cy", subject_id="w-9")
    assert [found.pk for found in siblings_of(request)] == [of_subject.pk]
    assert counts([request.pk, of_subject.pk]).keys() == {request.pk, of_subject.pk}
