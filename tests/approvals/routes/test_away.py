"""The page on which people say that they are away."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role
from approvals.models import Absence
from tests.approvals.conftest import client_of
from tests.factories.people import Cast, make_person

pytestmark = pytest.mark.django_db

PAGE = "/approvals/away/"


@pytest.fixture
def alice(cast: Cast) -> Client:
    cast.tenant.timezone = "Europe/Vienna"
    cast.tenant.save()
    return client_of(cast.alice)


def sent(**other: object) -> dict[str, object]:
    year = timezone.now().year + 1
    return {"begins": f"{year}-01-02T09:00", "ends": f"{year}-01-09T17:30", "stand_in": "", **other}


def note(cast: Cast, *, begins: int, ends: int) -> Absence:
    """An absence of Alice, in hours from now."""
    now = timezone.now()
    return Absence.objects.create(
        tenant=cast.tenant,
        person=cast.alice,
        begins=now + timedelta(hours=begins),
        ends=now + timedelta(hours=ends),
    )


def test_an_absence_is_noted_in_local_times(alice: Client, cast: Cast) -> None:
    soon = timezone.now() + timedelta(days=3)
    times = {"begins": f"{soon:%Y-%m-%d}T09:00", "ends": f"{soon + timedelta(days=2):%Y-%m-%d}T17:30"}
    answer = alice.post(PAGE, sent(**times, stand_in=cast.bob.pk), follow=True)
    assert answer.status_code == 200
    absence = Absence.objects.get()
    assert (absence.person, absence.tenant, absence.stand_in) == (cast.alice, cast.tenant, cast.bob)
    local = datetime.fromisoformat(times["begins"])
    assert absence.begins.astimezone(UTC).hour in (local.hour - 1, local.hour - 2)
    assert "17:30" in answer.content.decode()
    event = LedgerEvent.objects.get(type="absence.added")
    assert (event.actor, event.facts["stand_in"]) == ("user:alice", "bob")


@pytest.mark.parametrize(
    "wrong",
    [
        {"begins": ""},
        {"ends": "soon"},
        {"ends": "2020-01-01T09:00", "begins": "2019-01-01T09:00"},
        {"ends": "2099-01-01T09:00"},
        {"begins": "0001-01-01T00:00"},
        {"begins": "9999-12-31T23:59", "ends": "9999-12-31T23:58"},
        {"stand_in": "999999"},
        {"stand_in": "x"},
        {"begins": "\x00"},
    ],
)
def test_what_is_no_absence_comes_back_with_what_is_wrong(alice: Client, wrong: dict[str, str]) -> None:
    answer = alice.post(PAGE, sent(**wrong))
    assert answer.status_code == 422
    assert 'class="error"' in answer.content.decode() or "error" in answer.content.decode()
    assert not Absence.objects.exists()


def test_nobody_of_another_company_and_not_oneself_stands_in(alice: Client, cast: Cast) -> None:
    for person in (cast.charlie, cast.alice):
        assert alice.post(PAGE, sent(stand_in=person.pk)).status_code == 422
    assert "charlie" not in alice.get(PAGE).content.decode()


def test_an_absence_that_overlaps_another_is_refused(alice: Client, cast: Cast) -> None:
    note(cast, begins=1, ends=24 * 300)
    soon = timezone.now() + timedelta(days=3)
    times = {"begins": f"{soon:%Y-%m-%d}T09:00", "ends": f"{soon:%Y-%m-%d}T10:00"}
    answer = alice.post(PAGE, sent(**times))
    assert answer.status_code == 409
    assert "away then" in answer.content.decode()
    assert Absence.objects.count() == 1


def test_one_comes_back_early(alice: Client, cast: Cast) -> None:
    absence = note(cast, begins=-2, ends=2)
    assert "I am back" in alice.get(PAGE).content.decode()
    assert alice.post(f"{PAGE}{absence.pk}/end/").status_code == 302
    absence.refresh_from_db()
    assert absence.ends <= timezone.now()
    assert LedgerEvent.objects.filter(type="absence.ended").count() == 1
    assert alice.post(f"{PAGE}{absence.pk}/end/").status_code == 404


def test_an_absence_that_has_not_begun_is_removed(alice: Client, cast: Cast) -> None:
    absence = note(cast, begins=2, ends=4)
    assert alice.post(f"{PAGE}{absence.pk}/end/").status_code == 302
    assert not Absence.objects.exists()
    assert LedgerEvent.objects.filter(type="absence.removed").count() == 1


def test_nobody_ends_somebody_elses_absence(alice: Client, cast: Cast) -> None:
    absence = note(cast, begins=-2, ends=2)
    dave = make_person("dave", cast.tenant, Role.APPROVER)
    for person in (dave, cast.charlie):
        assert client_of(person).post(f"{PAGE}{absence.pk}/end/").status_code == 404
    assert alice.get(f"{PAGE}{absence.pk}/end/").status_code == 405
    assert alice.post(f"{PAGE}{10**30}/end/").status_code == 404
    absence.refresh_from_db()
    assert absence.ends > timezone.now()


def test_looking_writes_nothing(alice: Client, cast: Cast) -> None:
    note(cast, begins=-2, ends=2)
    before = LedgerEvent.objects.count()
    assert alice.get(PAGE).status_code == 200
    assert alice.head(PAGE).status_code == 200
    assert LedgerEvent.objects.count() == before
