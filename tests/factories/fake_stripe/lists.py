"""Lists, which are cut by cursors, and searches, whose index lags.

https://docs.stripe.com/api/pagination and https://docs.stripe.com/search
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.factories.fake_stripe.errors import invalid, no_such
from tests.factories.fake_stripe.params import INT, LIST, STR, read
from tests.factories.fake_stripe.world import Obj, World

MOST = 100
_CLAUSE = re.compile(
    r"""\s*(-?)([a-z_]+)(?:\[(["'])(.+?)\3\])?\s*(:|~|>=|<=|>|<)\s*(?:(["'])(.*?)\6|(\d+)|(null))\s*"""
)


def page(objects: Iterable[Obj], asked: Mapping[str, Any], url: str) -> Obj:
    """Return one page of objects that come newest first. Raises ApiError for a limit or a cursor that cannot be."""
    limit = asked.get("limit")
    limit = 10 if limit is None else limit
    if not 1 <= limit <= MOST:
        raise invalid("Invalid limit: must be between 1 and 100", "limit")
    after, before = asked.get("starting_after"), asked.get("ending_before")
    if after and before:
        raise invalid("You may only specify one of these parameters: starting_after, ending_before.")
    rows = list(objects)
    if after:
        rows = rows[_position(rows, after, "starting_after") + 1 :]
    if before:
        rows = rows[: _position(rows, before, "ending_before")]
        return _list(rows[-limit:], len(rows) > limit, url)
    return _list(rows[:limit], len(rows) > limit, url)


def _position(rows: list[Obj], ref: str, param: str) -> int:
    for number, row in enumerate(rows):
        if row["id"] == ref:
            return number
    raise no_such("object", ref, param)


def _list(rows: list[Obj], more: bool, url: str) -> Obj:
    return {"object": "list", "data": rows, "has_more": more, "url": url}


def within(obj: Obj, asked: Mapping[str, Any], name: str = "created") -> bool:
    """Return whether a moment of the object lies in the range that was asked for."""
    bounds, at = asked.get(name), obj.get(name)
    if not bounds:
        return True
    tests: dict[str, Callable[[int, int], bool]] = {
        "gt": int.__gt__,
        "gte": int.__ge__,
        "lt": int.__lt__,
        "lte": int.__le__,
    }
    return at is not None and all(tests[each](at, bound) for each, bound in bounds.items())


def listed(world: World, kind: str, form: Mapping[str, Any], url: str, filters: Mapping[str, Any]) -> Obj:
    """Return a page of a kind, filtered by equal values and by ranges, as ``filters`` names and types them."""
    asked = read(form, LIST | dict(filters))

    def fits(obj: Obj) -> bool:
        for name, kind_of in filters.items():
            wanted = asked.get(name)
            if wanted is None:
                continue
            if kind_of == "range":
                if not within(obj, asked, name):
                    return False
            elif obj.get(name) != wanted:
                return False
        return True

    return page((obj for obj in world.all(kind) if not obj.get("deleted") and fits(obj)), asked, url)


def searched(world: World, kind: str, form: Mapping[str, Any], url: str) -> Obj:
    """Return what a query finds, joined by AND or by OR. Objects that changed lately are found as they were before."""
    asked = read(form, {"query": STR, "limit": INT, "page": STR}, needs=("query",))
    query = asked["query"]
    joins = set(re.findall(r"\b(AND|OR)\b", re.sub(r"([\"']).*?\1", "", query)))
    if len(joins) > 1:
        raise invalid("Queries cannot combine AND and OR.", "query")
    matching = any if joins == {"OR"} else all
    parts = re.split(r"\s+(?:AND|OR)\s+", query)
    clauses = [_clause(part) for part in parts]
    found = [obj for obj in world.indexed(kind) if not obj.get("deleted") and matching(each(obj) for each in clauses)]
    start = int(asked["page"]) if (asked.get("page") or "").isdigit() else 0
    limit = asked.get("limit") or 10
    more = len(found) > start + limit
    return {
        "object": "search_result",
        "data": found[start : start + limit],
        "has_more": more,
        "next_page": str(start + limit) if more else None,
        "url": url,
    }


def _clause(text: str) -> Callable[[Obj], bool]:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise invalid(f"We were unable to parse your search query: {text}", "query")
    negated, name, _, key, operator, _, quoted, number, null = match.groups()

    def fits(obj: Obj) -> bool:
        value = obj.get(name)
        if key is not None:
            value = (value or {}).get(key)
        return _holds(value, operator, quoted, number, null) != bool(negated)

    return fits


def _holds(value: Any, operator: str, quoted: str | None, number: str | None, null: str | None) -> bool:
    if null:
        return value is None
    if operator == "~":
        return quoted is not None and quoted.lower() in str(value or "").lower()
    if operator == ":":
        if isinstance(value, bool):
            return str(value).lower() == quoted
        return value is not None and str(value).lower() == str(number if quoted is None else quoted).lower()
    bound = int(number or quoted or 0)
    if not isinstance(value, int):
        return False
    return bool({">": value > bound, ">=": value >= bound, "<": value < bound, "<=": value <= bound}[operator])
