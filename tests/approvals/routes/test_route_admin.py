"""The admin's screens of hours, routes, detectors, shifts and ladders."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role
from approvals.access import rights_of
from approvals.models import ApprovalQueue, ApprovalRequest, BusinessHours, Detector, OnCallShift, Rung, ToolRoute
from tests.approvals.conftest import client_of
from tests.factories.cases import open_request
from tests.factories.people import Cast, make_person, make_queue

pytestmark = pytest.mark.django_db

Stored = BusinessHours | ToolRoute | Detector | OnCallShift


@pytest.fixture
def admin(cast: Cast) -> Client:
    """Bob, who administers the installation."""
    User.objects.filter(pk=cast.bob.pk).update(is_staff=True, is_superuser=True)
    cast.bob.refresh_from_db()
    return client_of(cast.bob)


def page(model: str, pk: int | None = None) -> str:
    return reverse(f"admin:approvals_{model}_{'add' if pk is None else 'change'}", args=[] if pk is None else [pk])


def text_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


HOURS = {"name": "Office", "timezone": "Europe/Vienna", "week_as_text": "Mon-Fri 9:00-17:00, 18:00-20:00"}


def test_hours_are_written_as_text_and_said_back(admin: Client, cast: Cast) -> None:
    sent = {**HOURS, "tenant": str(cast.tenant.pk), "holidays_as_text": "2026-12-25\n2026-12-26"}
    assert admin.post(page("businesshours"), sent).status_code == 302
    hours = BusinessHours.objects.get()
    assert hours.week == [[["09:00", "17:00"], ["18:00", "20:00"]]] * 5 + [[], []]
    assert hours.holidays == ["2026-12-25", "2026-12-26"]
    shown = text_of(admin, page("businesshours", hours.pk))
    assert "Mon-Fri 09:00-17:00, 18:00-20:00" in shown
    assert "Mon 09:00 to 17:00 and 18:00 to 20:00" in shown
    assert "Sun closed; Europe/Vienna; 2 holidays." in shown
    assert shown.count("Comes ") == 3
    event = LedgerEvent.objects.get(type="config.added")
    assert (event.actor, event.facts["model"]) == ("user:bob", "BusinessHours")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("week_as_text", "whenever", "is not readable"),
        ("week_as_text", "Mon 09:00-17:00, 16:00-18:00", "two spans overlap"),
        ("week_as_text", "", "required"),
        ("holidays_as_text", "Christmas", "is no date"),
        ("timezone", "Mars/Base", "not one of the available choices"),
    ],
)
def test_hours_that_cannot_be_read_come_back(admin: Client, cast: Cast, field: str, value: str, told: str) -> None:
    answer = admin.post(page("businesshours"), {**HOURS, "tenant": str(cast.tenant.pk), field: value})
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert not BusinessHours.objects.exists()


def test_other_hours_move_the_reminders_of_what_waits(admin: Client, cast: Cast) -> None:
    week = [[["00:00", "24:00"]]] * 7
    hours = BusinessHours.objects.create(tenant=cast.tenant, name="Office", timezone="UTC", week=week)
    ApprovalQueue.objects.update(hours=hours)
    request = open_request(cast.tenant.pk)
    assert admin.post(page("businesshours", hours.pk), HOURS).status_code == 302
    changed = ApprovalRequest.objects.get()
    assert changed.expires_at == request.expires_at
    assert changed.next_at != request.next_at


def test_a_route_names_a_queue_of_its_own_company(admin: Client, cast: Cast) -> None:
    theirs = make_queue(cast.other, "secret")
    sent = {"tenant": str(cast.tenant.pk), "tag": "money", "queue": str(cast.queue.pk)}
    assert "Secret" not in text_of(admin, page("toolroute"))
    assert admin.post(page("toolroute"), {**sent, "queue": str(theirs.pk)}).status_code == 200
    assert admin.post(page("toolroute"), sent).status_code == 302
    assert ToolRoute.objects.get().queue == cast.queue
    assert "Secret" not in text_of(admin, reverse("admin:approvals_toolroute_changelist"))


def test_an_admin_of_two_companies_mixes_nothing(admin: Client, cast: Cast) -> None:
    cast.bob.memberships.create(tenant=cast.other, role=Role.ADMIN)
    theirs = make_queue(cast.other, "secret")
    sent = {"tenant": str(cast.tenant.pk), "tag": "money", "queue": str(theirs.pk)}
    answer = admin.post(page("toolroute"), sent)
    assert "belongs to another company" in answer.content.decode()
    assert not ToolRoute.objects.exists()


def detector(cast: Cast, **other: Any) -> dict[str, Any]:
    usual = {"tenant": str(cast.tenant.pk), "name": "Legal threat", "kind": "phrases", "queue": str(cast.queue.pk)}
    return {
        **usual,
        "rank": "10",
        "is_active": "on",
        "phrases_as_text": "my lawyer\n\n  small   claims \nmy lawyer",
        **other,
    }


def test_phrases_stand_one_on_a_line(admin: Client, cast: Cast) -> None:
    assert admin.post(page("detector"), detector(cast)).status_code == 302
    stored = Detector.objects.get()
    assert stored.phrases == ["my lawyer", "small claims"]
    assert "my lawyer\nsmall claims" in text_of(admin, page("detector", stored.pk))


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"phrases_as_text": ""}, "at least one phrase"),
        ({"phrases_as_text": "a"}, "too short"),
        ({"phrases_as_text": "\u200b\u200b\u200b\u200b"}, "too short"),
        ({"phrases_as_text": "x" * 101}, "longer than 100"),
        ({"phrases_as_text": "\n".join(f"phrase {number}" for number in range(101))}, "At most 100"),
        ({"kind": "personal"}, "Leave this empty"),
    ],
)
def test_what_is_no_detector_comes_back(admin: Client, cast: Cast, other: dict[str, str], told: str) -> None:
    answer = admin.post(page("detector"), detector(cast, **other))
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert not Detector.objects.exists()


def test_a_detector_is_tried_on_the_last_requests(admin: Client, cast: Cast) -> None:
    admin.post(page("detector"), detector(cast))
    Detector.objects.update(is_active=False)
    found = open_request(cast.tenant.pk, subject_text="My lawyer will write.")
    open_request(cast.tenant.pk)
    url = page("detector", Detector.objects.get().pk)
    before = LedgerEvent.objects.count()
    assert f"It finds 1 of the last 2 requests: {found.code}." in text_of(admin, f"{url}?try=1")
    assert "It finds" not in text_of(admin, url)
    assert LedgerEvent.objects.count() == before


def test_a_shift_is_of_somebody_of_the_company_and_ends_later(admin: Client, cast: Cast) -> None:
    now = timezone.localtime().replace(microsecond=0)

    def sent(person: User, hours: int) -> dict[str, str]:
        ends = now + timedelta(hours=hours)
        moments = {"begins": now, "ends": ends}
        split = {f"{k}_{n}": str(part) for k, at in moments.items() for n, part in enumerate((at.date(), at.time()))}
        return {"tenant": str(cast.tenant.pk), "person": str(person.pk), **split}

    assert admin.post(page("oncallshift"), sent(cast.alice, -1)).status_code == 200
    assert admin.post(page("oncallshift"), sent(cast.charlie, 1)).status_code == 200
    for _ in range(2):  # two people, or one twice: nothing is wrong with that
        assert admin.post(page("oncallshift"), sent(cast.alice, 1)).status_code == 302
    assert OnCallShift.objects.count() == 2


def ladder(*steps: dict[str, Any]) -> dict[str, Any]:
    """What the browser sends for a queue with these steps."""
    sent: dict[str, Any] = {"ladder-TOTAL_FORMS": str(len(steps)), "ladder-INITIAL_FORMS": "0"}
    for number, step in enumerate(steps):
        sent |= {f"ladder-{number}-{name}": value for name, value in step.items()}
    return {"name": "Payments", "decide_within": "4 h", "on_expiry": "nothing", **sent}


def test_a_ladder_is_kept_on_record(admin: Client, cast: Cast) -> None:
    group = Group.objects.create(name="seniors")
    request = open_request(cast.tenant.pk)
    steps = [
        {"place": "1", "kind": "group", "group": str(group.pk), "after_percent": "50"},
        {"place": "2", "kind": "on_call", "after_percent": "80"},
    ]
    assert admin.post(page("approvalqueue", cast.queue.pk), ladder(*steps)).status_code == 302
    assert list(Rung.objects.values_list("place", "kind")) == [(1, "group"), (2, "on_call")]
    events = LedgerEvent.objects.filter(type="config.added")
    assert [event.facts["model"] for event in events] == ["Rung", "Rung"]
    assert ApprovalRequest.objects.get().next_at != request.next_at


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([{"place": "1", "kind": "group", "after_percent": "50"}], "Choose the group."),
        ([{"place": "1", "kind": "on_call", "person": "ALICE", "after_percent": "50"}], "Leave this empty"),
        ([{"place": "1", "kind": "person", "person": "ALICE", "after_percent": "100"}], "From 1 to 99."),
        (
            [
                {"place": "1", "kind": "on_call", "after_percent": "80"},
                {"place": "2", "kind": "on_call", "after_percent": "50"},
            ],
            "put the percents in order",
        ),
    ],
)
def test_a_ladder_that_makes_no_sense_comes_back(
    admin: Client, cast: Cast, steps: list[dict[str, Any]], told: str
) -> None:
    sent = [{k: str(cast.alice.pk) if v == "ALICE" else v for k, v in step.items()} for step in steps]
    answer = admin.post(page("approvalqueue", cast.queue.pk), ladder(*sent))
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert not Rung.objects.exists()


def test_a_queues_rights_are_see_decide_and_manage(admin: Client, cast: Cast) -> None:
    url = reverse("admin:approvals_approvalqueue_permissions_manage_user", args=[cast.queue.pk, cast.bob.pk])
    shown = text_of(admin, url)
    assert all(f'value="{right}"' in shown for right in ("see_queue", "decide_queue", "manage_queue"))
    assert "delete_approvalqueue" not in shown
    assert admin.post(url, {"permissions": ["see_queue", "manage_queue"]}).status_code == 302
    assert rights_of(cast.bob).manage == {cast.queue.pk}
    assert rights_of(cast.bob).decide == frozenset()
    assert admin.post(url, {"permissions": ["delete_approvalqueue"]}).status_code == 200


@pytest.mark.parametrize("model", ["businesshours", "toolroute", "detector", "oncallshift", "approvalqueue"])
def test_lists_and_forms_open(admin: Client, cast: Cast, model: str) -> None:
    make_person("dave", cast.tenant, Role.APPROVER)
    assert text_of(admin, reverse(f"admin:approvals_{model}_changelist"))
    assert text_of(admin, page(model))
