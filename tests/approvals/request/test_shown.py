"""The signed moment of showing: how long somebody had the page, and nothing for whoever forges it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from approvals import shown
from approvals.models import Decision
from tests.approvals.conftest import Stage, page_url
from tests.approvals.request.conftest import send

REQUEST, PERSON = UUID(int=7), 3
AT = datetime(2026, 11, 3, 14, 2, 5, 120_000, tzinfo=UTC)


def dwell(text: str, now: datetime, person: int = PERSON, request: UUID = REQUEST) -> int | None:
    return shown.dwell_ms(text, request_id=request, person_id=person, now=now)


@given(st.integers(min_value=0, max_value=10**9))
def test_dwell_is_measured_to_the_millisecond_and_bounded(ms: int) -> None:
    text = shown.seal(request_id=REQUEST, person_id=PERSON, at=AT)
    assert dwell(text, AT + timedelta(milliseconds=ms)) == min(ms, 86_400_000)


@given(st.text(max_size=400))
def test_forged_text_is_nothing(text: str) -> None:
    assert shown.opened(text) is None


def test_moment_of_somebody_else_of_another_request_and_of_the_future_is_nothing() -> None:
    text = shown.seal(request_id=REQUEST, person_id=PERSON, at=AT)
    assert dwell(text, AT, person=4) is None
    assert dwell(text, AT, request=UUID(int=8)) is None
    assert dwell(text, AT - timedelta(seconds=1)) is None
    assert dwell(text + "x", AT) is None


@pytest.mark.django_db
def test_decision_records_how_long_the_page_was_shown(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    send(alice, request, "approve", checked="Seen.")
    dwelt = Decision.objects.get().dwell_ms
    assert dwelt is not None
    assert dwelt >= 0
    forged = stage.ask(5100)
    send(alice, forged, "approve", checked="Seen.", shown="forged")
    assert Decision.objects.get(request=forged).dwell_ms is None


@pytest.mark.django_db
def test_page_that_comes_back_goes_on_counting(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    first = alice.get(page_url(request)).context["page"].panel.shown
    data = {"verb": "reject", "digest": request.digest, "shown": first}
    again = alice.post(reverse("approval_decide", args=[request.pk]), data)
    assert again.context["page"].panel.shown == first
