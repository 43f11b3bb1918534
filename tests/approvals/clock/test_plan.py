"""When a request reminds and climbs, and what is due of it after a pause."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from approvals.clock.hours import Hours
from approvals.clock.plan import Due, deadline, due_of, plan_of
from approvals.clock.week import parse_week

MONDAY = datetime(2026, 11, 30, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
OFFICE = Hours.of("UTC", parse_week("Mon-Fri 09:00-17:00"))
LADDER = [(1, 60), (2, 80)]


def test_moments_are_shares_of_the_open_time() -> None:
    expires = deadline(MONDAY + 4 * HOUR, 8 * HOUR, OFFICE)
    assert expires == MONDAY + 28 * HOUR
    plan = plan_of(MONDAY + 4 * HOUR, expires, LADDER, OFFICE)
    assert [step.at for step in plan.reminders] == [MONDAY + 8 * HOUR, MONDAY + 26 * HOUR, MONDAY + 27.2 * HOUR]
    assert [step.at for step in plan.rungs] == [MONDAY + 24.8 * HOUR, MONDAY + 26.4 * HOUR]


def test_after_a_pause_the_latest_reminder_and_every_rung_are_due() -> None:
    plan = plan_of(MONDAY, MONDAY + 10 * HOUR, LADDER, None)
    due = due_of(plan, reminded=0, rung=0, now=MONDAY + 8 * HOUR)
    assert due == Due(2, (1, 2), MONDAY + 9 * HOUR)


def test_what_was_done_is_not_due_again() -> None:
    plan = plan_of(MONDAY, MONDAY + 10 * HOUR, LADDER, None)
    assert due_of(plan, reminded=1, rung=0, now=MONDAY + 5 * HOUR) == Due(0, (), MONDAY + 6 * HOUR)
    assert due_of(plan, reminded=3, rung=2, now=MONDAY + 9.5 * HOUR) == Due(0, (), None)


def test_a_rung_that_was_climbed_by_hand_is_not_climbed_again() -> None:
    plan = plan_of(MONDAY, MONDAY + 10 * HOUR, LADDER, None)
    assert due_of(plan, reminded=1, rung=1, now=MONDAY + 6 * HOUR).rungs == ()


def test_no_rung_is_passed_over() -> None:
    plan = plan_of(MONDAY, MONDAY + 10 * HOUR, [(1, 90), (2, 50)], None)
    assert due_of(plan, reminded=3, rung=0, now=MONDAY + 5 * HOUR).rungs == (1, 2)


def test_hours_that_were_changed_under_a_request_do_not_stop_its_clock() -> None:
    night = Hours.of("UTC", parse_week("Mon-Sun 22:00-23:00"))
    plan = plan_of(MONDAY, MONDAY + 4 * HOUR, [], night)
    assert plan.reminders[0].at == MONDAY + 2 * HOUR


def test_a_deadline_that_hours_never_reach_is_counted_around_the_clock() -> None:
    never = Hours.of("UTC", [[] for _ in range(7)])
    assert deadline(MONDAY, 4 * HOUR, never) == MONDAY + 4 * HOUR


MINUTES = st.integers(0, 600).map(lambda minutes: MONDAY + timedelta(minutes=minutes))
LADDERS = st.lists(st.integers(1, 99), max_size=4).map(lambda all_: list(enumerate(sorted(all_), start=1)))


@given(LADDERS, st.lists(MINUTES, min_size=1, max_size=8))
def test_however_often_a_sweep_looks_all_rungs_come_once_and_in_order(
    ladder: list[tuple[int, int]], looks: list[datetime]
) -> None:
    plan = plan_of(MONDAY, MONDAY + 10 * HOUR, ladder, None)
    reminded, rung, climbed = 0, 0, []
    for now in sorted(looks):
        due = due_of(plan, reminded=reminded, rung=rung, now=now)
        assert due.next_at is None or due.next_at > now
        reminded, rung = max(reminded, due.reminder), max([rung, *due.rungs])
        climbed += due.rungs
    assert climbed == [place for place, percent in ladder if MONDAY + 10 * HOUR * percent / 100 <= max(looks)]
