"""Signs of approving without looking."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Role
from approvals.insight import signals
from approvals.insight.signals import LIMITS, Measures, Seen, measures_of, signs_of
from approvals.models import Regret
from tests.approvals.conftest import Stage, client_of
from tests.factories.past import past
from tests.factories.people import make_person

SLOW = Seen(approved=True, dwell_ms=90_000, characters=1500, long=False, regretted=False)
FAST = Seen(approved=True, dwell_ms=1_000, characters=1500, long=True, regretted=False)
NO = Seen(approved=False, dwell_ms=90_000, characters=1500, long=False, regretted=False)


def names(measures: Measures) -> list[str] | None:
    signs = signs_of(measures)
    return None if signs is None else [sign.name for sign in signs]


def test_reading_time_is_by_words_and_has_a_floor() -> None:
    assert SLOW.reading_ms == 60_000
    assert Seen(True, 1, 10, False, False).reading_ms == signals.FLOOR_MS
    assert (FAST.fast, SLOW.fast) == (True, False)
    assert not Seen(False, 1, 1500, False, False).fast
    assert not Seen(True, None, 1500, False, False).fast


def test_small_numbers_tell_nothing() -> None:
    assert names(measures_of([FAST] * 19, drills=0, drills_failed=0)) is None
    assert names(measures_of([], drills=0, drills_failed=0)) is None


def test_somebody_who_reads_gives_no_sign() -> None:
    assert names(measures_of([*[SLOW] * 18, NO, NO], drills=10, drills_failed=1)) == []


def test_somebody_who_does_not_gives_all_of_them() -> None:
    regretted = Seen(approved=True, dwell_ms=1_000, characters=1500, long=True, regretted=True)
    measures = measures_of([*[FAST] * 20, *[regretted] * 5], drills=5, drills_failed=4)
    assert names(measures) == [limit.name for limit in LIMITS]
    assert (measures.streak, measures.long, measures.drills_failed) == (25, 1.0, 0.8)


def test_unknown_times_say_nothing_about_times() -> None:
    unknown = Seen(approved=True, dwell_ms=None, characters=1500, long=False, regretted=False)
    measures = measures_of([*[unknown] * 20, NO], drills=4, drills_failed=4)
    assert (measures.dwell, measures.streak, measures.drills_failed) == (None, 0, None)
    assert names(measures) == []


@pytest.mark.django_db
def test_managers_see_their_people_and_others_themselves(stage: Stage, alice: Client, charlie: Client) -> None:
    model, zoe = stage.ask(), make_person("zoe", stage.cast.tenant, Role.APPROVER)
    for _ in range(25):
        made = past(model, "approved", stage.cast.alice, dwell_ms=800)
    Regret.objects.create(request=made, kind=Regret.Kind.UNDONE, by="sweep", at=timezone.now())
    past(model, "approved", zoe)
    past(model, "approved", zoe, ago=timedelta(days=60))
    boss = make_person("boss", stage.cast.tenant, Role.APPROVER)
    assign_perm("approvals.manage_queue", boss, stage.cast.queue)
    url = reverse("approval_signals")
    seen = {
        name: [person.name for person in client.get(url).context["people"]]
        for name, client in (("boss", client_of(boss)), ("alice", alice), ("zoe", client_of(zoe)), ("charlie", charlie))
    }
    assert seen == {"boss": ["boss", "alice", "zoe"], "alice": ["alice"], "zoe": ["zoe"], "charlie": ["charlie"]}
    page = client_of(boss).get(url).content.decode()
    assert "Too few to tell: 1 decision in this time, 19 more needed." in page
    assert "Many approvals in a row were faster than anybody reads." in page
