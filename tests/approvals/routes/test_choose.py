"""Which queue a request goes to, and that it says why."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from agentops.kernel.money import Money
from agentops.ledger.models import LedgerEvent
from approvals.digest import is_intact
from approvals.gate import NoQueue
from approvals.models import Act, ActKind, ApprovalQueue, ApprovalRequest, BusinessHours, Detector, ToolRoute
from approvals.routes.choose import queue_for
from tests.factories.cases import case_of
from tests.factories.people import Cast, make_queue

pytestmark = pytest.mark.django_db

Open = Callable[..., ApprovalRequest]


def threat(queue: ApprovalQueue, **other: object) -> Detector:
    """A detector of legal threats."""
    usual = {"tenant": queue.tenant, "name": "Legal threat", "phrases": ["my lawyer"], "queue": queue}
    return Detector.objects.create(**{**usual, **other})


def test_without_routes_a_request_goes_to_the_tools_own_queue(opened: Open) -> None:
    request = opened()
    assert (request.queue.slug, request.opened_in, request.routed_by) == ("payments", "payments", "")
    assert not Act.objects.filter(request=request).exists()


def test_a_tag_goes_to_its_queue_and_says_so(opened: Open, legal: ApprovalQueue, cast: Cast) -> None:
    ToolRoute.objects.create(tenant=cast.tenant, tag="money", queue=legal)
    request = opened(tags=("outbound", "money"))
    assert (request.queue, request.opened_in) == (legal, "legal")
    assert request.routed_by == "Calls with the tag money go to this queue."
    act = Act.objects.get(request=request)
    assert (act.kind, act.person, act.facts, act.words) == (ActKind.ROUTED, None, {"to": "legal"}, request.routed_by)


def test_the_digest_covers_the_queue_that_it_came_to(opened: Open, legal: ApprovalQueue, cast: Cast) -> None:
    ToolRoute.objects.create(tenant=cast.tenant, tag="money", queue=legal)
    request = opened(tags=("money",), money=Money(5000, "USD"))
    assert is_intact(request)
    request.opened_in = "payments"
    assert not is_intact(request)


def test_of_a_tools_tags_the_first_with_a_route_decides(opened: Open, legal: ApprovalQueue, cast: Cast) -> None:
    other = make_queue(cast.tenant, "other")
    ToolRoute.objects.create(tenant=cast.tenant, tag="orders", queue=other)
    ToolRoute.objects.create(tenant=cast.tenant, tag="money", queue=legal)
    assert opened(tags=("permissions", "money", "orders")).queue == legal
    assert opened(tags=("orders", "money")).queue == other


def test_a_queue_that_a_rule_named_wins_over_tags(opened: Open, legal: ApprovalQueue, cast: Cast) -> None:
    ToolRoute.objects.create(tenant=cast.tenant, tag="money", queue=legal)
    request = opened(tags=("money",), queue_named=True)
    assert request.queue == cast.queue
    assert request.routed_by == "A rule that fired asks the people of this queue."


def test_a_detector_wins_over_the_rule_and_the_tags(opened: Open, legal: ApprovalQueue, cast: Cast) -> None:
    threat(legal)
    ToolRoute.objects.create(tenant=cast.tenant, tag="money", queue=cast.queue)
    request = opened(subject_text="You will hear from my LAWYER.", tags=("money",), queue_named=True)
    assert request.queue == legal
    assert request.routed_by == "Legal threat: “my lawyer” in the message."


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"subject_title": "my lawyer"}, "its title"),
        ({"sender": "my.lawyer@example.com"}, None),
        ({"sender": "My Lawyer <x@example.com>"}, "the sender"),
        ({"arguments": {"note": {"deep": ["ask my lawyer"]}}}, "the argument note"),
        ({"preview": {"changes": [["Note", "", "my lawyer"]]}}, "the preview"),
        ({"rationale": "my lawyer"}, None),
    ],
)
def test_a_detector_reads_all_that_people_and_the_call_say(
    opened: Open, legal: ApprovalQueue, where: dict[str, object], words: str | None
) -> None:
    threat(legal)
    request = opened(**where)
    assert request.routed_by == (f"Legal threat: “my lawyer” in {words}." if words else "")


def test_the_detector_of_the_lowest_rank_decides(opened: Open, legal: ApprovalQueue, cast: Cast) -> None:
    first = make_queue(cast.tenant, "privacy")
    threat(legal)
    Detector.objects.create(tenant=cast.tenant, name="Cards", kind="personal", queue=first, rank=1)
    request = opened(subject_text="My lawyer says: card 4242 4242 4242 4242")
    assert request.queue == first
    assert request.routed_by == "Cards: a card number in the message."
    assert opened(subject_text="My lawyer says no").queue == legal


def test_detectors_and_routes_of_others_and_those_switched_off_do_nothing(
    opened: Open, legal: ApprovalQueue, cast: Cast
) -> None:
    threat(legal, is_active=False)
    theirs = make_queue(cast.other, "legal")
    threat(theirs, name="Theirs")
    threat(theirs, name="Wrongly theirs", tenant=cast.tenant)
    ToolRoute.objects.create(tenant=cast.other, tag="money", queue=theirs)
    assert opened(subject_text="my lawyer", tags=("money",)).queue == cast.queue


def test_a_queue_that_is_not_there_is_said_to_be_missing(cast: Cast) -> None:
    with pytest.raises(NoQueue):
        queue_for(case_of(cast.tenant.pk, queue="nowhere"))


def test_the_deadline_counts_the_hours_of_the_queue(opened: Open, cast: Cast) -> None:
    week = [[["09:00", "17:00"]]] * 5 + [[], []]
    cast.queue.hours = BusinessHours.objects.create(
        tenant=cast.tenant, name="Office", timezone="Europe/Vienna", week=week
    )
    cast.queue.save()
    request = opened(requested_at=datetime(2026, 11, 27, 15, tzinfo=UTC))  # Friday 16:00 in Vienna
    assert request.expires_at == datetime(2026, 11, 30, 11, tzinfo=UTC)
    assert request.next_at == datetime(2026, 11, 30, 9, tzinfo=UTC)


def test_hours_that_cannot_be_read_do_not_stop_a_request(opened: Open, cast: Cast) -> None:
    cast.queue.hours = BusinessHours.objects.create(
        tenant=cast.tenant, name="Broken", timezone="Mars/Base", week=[[["late", "later"]]]
    )
    cast.queue.save()
    request = opened()
    assert request.expires_at == request.created_at + timedelta(hours=4)


def test_the_way_stands_in_the_ledger(opened: Open, legal: ApprovalQueue) -> None:
    threat(legal)
    request = opened(subject_text="my lawyer")
    event = LedgerEvent.objects.get(type="request.routed")
    assert event.refs["request"] == str(request.pk)
    assert event.facts == {"request": request.code, "to": "legal"}
