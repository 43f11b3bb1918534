"""The times that a price is paid for, and what a part of one costs: https://docs.stripe.com/billing/subscriptions/prorations."""

import calendar
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from tests.factories.fake_stripe.money import rounded
from tests.factories.fake_stripe.world import Obj

DAY = 86_400


def following(start: int, recurring: Obj, anchor: int) -> int:
    """Return when the period ends that begins at ``start``: on the day of the anchor, or the month's last before it."""
    begin, count = datetime.fromtimestamp(start, UTC), recurring["interval_count"]
    if recurring["interval"] in ("day", "week"):
        return int((begin + timedelta(days=count * (7 if recurring["interval"] == "week" else 1))).timestamp())
    months = count * (12 if recurring["interval"] == "year" else 1)
    number = begin.year * 12 + begin.month - 1 + months
    year, month = divmod(number, 12)
    wanted = datetime.fromtimestamp(anchor, UTC).day
    day = min(wanted, calendar.monthrange(year, month + 1)[1])
    return int(begin.replace(year=year, month=month + 1, day=day).timestamp())


def part(price: Obj, quantity: int, at: int, start: int, end: int) -> int:
    """Return what the time from ``at`` to the end of a period costs, by the second."""
    whole = Fraction(price["unit_amount_decimal"]) * quantity
    left = min(max(end - at, 0), end - start)
    return rounded(whole * Fraction(left, end - start))


def day_words(at: int) -> str:
    """Return a day as a line says it, for example ``11 Nov 2026``."""
    return datetime.fromtimestamp(at, UTC).strftime("%d %b %Y")
