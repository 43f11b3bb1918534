"""Which invoice, subscription, plan, day or way to pay the words mean (pure). What is not certain raises Unclear."""

import re
from collections.abc import Sequence
from datetime import date

from agentops.registry.offline.looking import Unclear
from billing_agent.playbook.facts import Account, Billed, Desk, Head, Method, Sold, Subscribed
from billing_agent.playbook.wishes import Wish

MOST_NAMES = 2
"""An invoice may be named by its number and its id."""

_LATEST = re.compile(r"\b(?:last|latest|newest|most recent|this month'?s|current)\b", re.IGNORECASE)
_INTERVALS = (
    ("month", re.compile(r"\bmonth(?:ly|s?)\b", re.I)),
    ("year", re.compile(r"\b(?:year(?:ly)?|annual(?:ly)?)\b", re.I)),
)
_INTERVAL_WORD = re.compile(r"\W*\b(?:monthly|yearly|annual|per month|per year)\b\W*", re.IGNORECASE)
_TARGET = re.compile(r"\b(?:to|for|into)\b", re.IGNORECASE)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_DAYS = (
    re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b,?(?: (?P<year>\d{{4}}))?", re.I),
    re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (?P<year>\d{{4}}))?", re.I),
)


def one_invoice(wish: Wish, desk: Desk, *, among_open: bool = False) -> Billed:
    """Return the invoice that is meant: the named one, the only open one, or the latest when that is said."""
    if wish.invoices:
        named = [desk.invoice(each) for each in wish.invoices[:MOST_NAMES]]
        if len(wish.invoices) > MOST_NAMES or len({billed.head.id for billed in named}) > 1:
            raise Unclear("several invoices are named for one wish")
        return named[0]
    open_ones = desk.account().open_invoices
    if among_open:
        if len(open_ones) != 1:
            raise Unclear(f"no invoice is named and {len(open_ones)} are open")
        return desk.invoice(open_ones[0].id)
    return desk.invoice(_latest(wish, desk).id)


def _latest(wish: Wish, desk: Desk) -> Head:
    found = desk.latest()
    if not found:
        raise Unclear("the customer has no invoice")
    if len(found) > 1 and not _LATEST.search(wish.all_words):
        raise Unclear(f"no invoice is named and {len(found)} could be meant")
    return found[0]


def one_subscription(wish: Wish, account: Account) -> Subscribed:
    """Return the subscription that is meant: the one whose plan is named, otherwise the only one."""
    live = [each for each in account.subscriptions if each.status != "cancelled"]
    named = [each for each in live if _names(wish.all_words, base_of(each.plan))]
    found = named if len(live) > 1 else live
    if len(found) != 1:
        raise Unclear(f"{len(found)} subscriptions could be meant")
    return found[0]


def base_of(plan_name: str) -> str:
    """Return a plan's name without how often it is paid: ``Trade`` of ``Trade monthly``."""
    return _INTERVAL_WORD.sub(" ", plan_name).strip()


def _names(text: str, base: str) -> bool:
    return bool(base) and re.search(rf"\b{re.escape(base)}\b", text, re.IGNORECASE) is not None


def target_plan(wish: Wish, held: Subscribed, plans: Sequence[Sold]) -> Sold:
    """Return the plan that is wanted instead of the one that is held."""
    parts = _TARGET.split(wish.words, maxsplit=1)
    said = parts[1] if len(parts) > 1 else wish.words
    first = re.split(r"[.!?]", said)[0]
    base, interval = _base_named(first, plans), next((name for name, said in _INTERVALS if said.search(first)), "")
    wanted_base = base or base_of(held.plan)
    wanted = interval or next((plan.interval for plan in plans if plan.id == held.plan_id), "")
    fitting = [plan for plan in plans if base_of(plan.name) == wanted_base and plan.interval == wanted]
    if not (base or interval) or len(fitting) != 1:
        raise Unclear("the text does not say which plan is wanted")
    return fitting[0]


def _base_named(text: str, plans: Sequence[Sold]) -> str:
    bases = sorted({base_of(plan.name) for plan in plans}, key=lambda base: (-len(base), base))
    return next((base for base in bases if _names(text, base)), "")


def method_for(wish: Wish, account: Account) -> Method:
    """Return the way to pay that is meant: the one whose last digits are named, otherwise the default one."""
    digits = re.findall(r"\b\d{4}\b", wish.all_words)
    named = [method for method in account.methods if any(method.words.endswith(each) for each in digits)]
    if len(named) == 1:
        return named[0]
    if account.default_method is None:
        raise Unclear("the customer has no payment method to charge")
    return account.default_method


def day_in(text: str, today: date) -> date | None:
    """Return the day that ``text`` names, None when it names none; without a year, the next such day after today."""
    for pattern in _DAYS:
        match = pattern.search(text)
        if match:
            return _day(match.groupdict(), today)
    return None


def _day(said: dict[str, str | None], today: date) -> date:
    name = (said.get("month") or "").lower()
    month = _MONTHS.index(name) + 1 if name else int(said["number"] or 0)
    try:
        if said["year"]:
            return date(int(said["year"]), month, int(said["day"] or 0))
        this_year = date(today.year, month, int(said["day"] or 0))
        return this_year if this_year > today else this_year.replace(year=today.year + 1)
    except ValueError as error:
        raise Unclear("the text names a day that the calendar does not have") from error
