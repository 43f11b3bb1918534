"""Which alerts belong together, and which incident they join (pure).

Alerts of one service are one, and so are those of services that depend on each other, or that their source says belong
together, when they begin within WINDOW. Too many at once are a storm: then one incident is opened for each group of
services that hang together at all, and one for everything else.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise

WINDOW = timedelta(minutes=10)
STORM_ALERTS = 20
"""More alerts of one tenant in a minute are a storm."""
MOST_OPENED = 4
"""More incidents are not opened in a minute before it counts as a storm: by then nobody has seen twenty alerts yet."""
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Kind:
    """What alerts have in common that are always one: the service, or the rule where no service is known."""

    service: str
    area: str
    rule: str = ""

    @property
    def is_named(self) -> bool:
        """Whether the service is known."""
        return bool(self.service)

    def is_same(self, other: "Kind") -> bool:
        """Return whether alerts of both are about one thing."""
        return self.service == other.service and (self.is_named or (self.rule, self.area) == (other.rule, other.area))


def kind_of(service: str, area: str, rule: str) -> Kind:
    """Return what an alert counts as."""
    return Kind(service, area, "" if service else rule)


@dataclass(frozen=True)
class Fresh:
    """Alerts of one kind that have no incident yet. ``keys`` are theirs; the first began at ``first``."""

    kind: Kind
    first: datetime
    last: datetime
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """What an incident has of one kind: when its alerts began, whether one fires, and when the last one ended."""

    kind: Kind
    first: datetime
    last: datetime
    fires: bool
    ended: datetime | None


@dataclass(frozen=True)
class Standing:
    """An incident that is not over. ``is_open``: it is worked on, or waits for it. ``is_storm``: about everything."""

    key: int
    service: str
    is_open: bool
    is_storm: bool
    traces: tuple[Trace, ...] = ()


@dataclass(frozen=True)
class Opening:
    """An incident to open about these."""

    fresh: tuple[Fresh, ...]
    is_storm: bool = False


@dataclass(frozen=True)
class Plan:
    """What joins which incident, by its key, and what is opened."""

    joins: Mapping[int, tuple[Fresh, ...]]
    opens: tuple[Opening, ...]


@dataclass(frozen=True)
class Lately:
    """How many alerts got an incident within the last MINUTE, and how many incidents were opened for some."""

    alerts: int = 0
    opened: int = 0


@dataclass(frozen=True)
class Graph:
    """Which services each one needs, as far as anybody knows."""

    needs: Mapping[str, Collection[str]] = field(default_factory=dict)

    def knows(self, service: str) -> bool:
        """Return whether anything is known of a service."""
        return service in self._neighbours

    def related(self, service: str) -> frozenset[str]:
        """Return the services that it needs, directly or through others, and those that need it."""
        return self._reached(service, self.needs) | self._reached(service, self._users)

    def above(self, service: str) -> frozenset[str]:
        """Return the services that it needs, directly or through others."""
        return self._reached(service, self.needs)

    def group(self, service: str) -> str:
        """Return the name of the group of services that hang together in any way; every one is in one group."""
        return self._groups.get(service, "")

    @staticmethod
    def _reached(service: str, edges: Mapping[str, Collection[str]]) -> frozenset[str]:
        found: set[str] = set()
        wave = set(edges.get(service, ()))
        while wave:
            found |= wave
            wave = {each for ref in wave for each in edges.get(ref, ())} - found
        return frozenset(found - {service})

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        users: dict[str, set[str]] = {}
        for service, needed in self.needs.items():
            for ref in needed:
                users.setdefault(ref, set()).add(service)
        return users

    @cached_property
    def _neighbours(self) -> dict[str, set[str]]:
        found = {service: set(needed) for service, needed in self.needs.items()}
        for ref, users in self._users.items():
            found.setdefault(ref, set()).update(users)
        return found

    @cached_property
    def _groups(self) -> dict[str, str]:
        groups: dict[str, str] = {}
        for service in sorted(self._neighbours):
            if service not in groups:
                for ref in {service} | self._reached(service, self._neighbours):
                    groups[ref] = service
        return groups


def plan(fresh: Iterable[Fresh], standing: Iterable[Standing], graph: Graph, lately: Lately) -> Plan:
    """Return where alerts without an incident go."""
    found, incidents = list(fresh), list(standing)
    alerts = lately.alerts + sum(len(each.keys) for each in found)
    if alerts <= STORM_ALERTS:
        calm = _placed(found, incidents, graph, storm=False)
        if lately.opened + len(calm.opens) <= MOST_OPENED:
            return calm
    return _placed(found, incidents, graph, storm=True)


def _placed(fresh: list[Fresh], standing: list[Standing], graph: Graph, *, storm: bool) -> Plan:
    at: dict[Kind, int] = {}
    for each in fresh:
        key = _joined(each, standing, graph, storm=storm)
        if key is not None:
            at[each.kind] = key
    for parts in _together(fresh, graph, storm=False):
        joined = [at[part.kind] for part in parts if part.kind in at]
        if joined:
            at.update({part.kind: joined[0] for part in parts if part.kind not in at})
    left = [each for each in fresh if each.kind not in at]
    opens = [_opening(parts, graph, storm=storm) for parts in _together(left, graph, storm=storm)]
    joins: dict[int, list[Fresh]] = {}
    for each in fresh:
        if each.kind in at:
            joins.setdefault(at[each.kind], []).append(each)
    return Plan({key: tuple(parts) for key, parts in joins.items()}, tuple(opens))


def _opening(parts: list[Fresh], graph: Graph, *, storm: bool) -> Opening:
    return Opening(tuple(parts), is_storm=storm and not any(graph.knows(part.kind.service) for part in parts))


def _joined(fresh: Fresh, standing: list[Standing], graph: Graph, *, storm: bool) -> int | None:
    """Return the incident that alerts join by themselves: the one that is closest, of those the latest, or None."""
    ranked = [(_closeness(fresh, each, graph, storm=storm), _latest(each), -each.key) for each in standing]
    best = max(ranked, default=None, key=lambda each: (each[0], each[1] or fresh.first, each[2]))
    return -best[2] if best is not None and best[0] else None


def _latest(standing: Standing) -> datetime | None:
    return max((trace.last for trace in standing.traces), default=None)


def _closeness(fresh: Fresh, standing: Standing, graph: Graph, *, storm: bool) -> int:
    """Return how close they are: 3 the same thing, 2 related, 1 only because everything fails at once, 0 not at all."""
    kind = fresh.kind
    if standing.is_open and kind.is_named and kind.service == standing.service:
        return 3
    if any(kind.is_same(trace.kind) and _goes_on(fresh, trace) for trace in standing.traces):
        return 3
    near = [trace.kind for trace in standing.traces if _is_near(fresh, trace)]
    related = graph.related(kind.service) if kind.is_named else frozenset()
    if any(each.service in related or _share_area(kind, each, graph) for each in near):
        return 2
    if not storm:
        return 0
    if graph.knows(kind.service):
        group = graph.group(kind.service)
        return int(not standing.is_storm and any(graph.group(each.service) == group for each in near))
    return int(standing.is_storm and bool(near))


def _is_near(fresh: Fresh, other: Trace | Fresh) -> bool:
    return fresh.first <= other.last + WINDOW and other.first <= fresh.last + WINDOW


def _goes_on(fresh: Fresh, trace: Trace) -> bool:
    """Return whether alerts of the same thing continue what an incident has of it."""
    return trace.fires or _is_near(fresh, trace) or (trace.ended is not None and fresh.first <= trace.ended + WINDOW)


def _share_area(one: Kind, other: Kind, graph: Graph) -> bool:
    """Return whether their source says that they belong together, where no dependencies say more."""
    known = graph.knows(one.service) and graph.knows(other.service)
    return bool(one.area) and one.area == other.area and not known


def _together(fresh: list[Fresh], graph: Graph, *, storm: bool) -> list[list[Fresh]]:
    """Return the alerts in groups, in the order of their beginning: what is related is in one, directly or not."""
    order = sorted(fresh, key=lambda each: (each.first, each.kind.service, each.kind.area, each.kind.rule))
    parent = list(range(len(order)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for one, other in _links(order, graph, storm=storm):
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    groups: dict[int, list[Fresh]] = {}
    for place, each in enumerate(order):
        groups.setdefault(root(place), []).append(each)
    return list(groups.values())


def _links(order: list[Fresh], graph: Graph, *, storm: bool) -> Iterable[tuple[int, int]]:
    """Yield pairs of places that belong together. Looked up by name, so that thousands of kinds take no time."""
    by_service = _places(order, lambda kind: kind.service)
    for service, places in by_service.items():
        yield from pairwise(places)
        for ref in sorted(graph.related(service)):
            for other in by_service.get(ref, ()):
                yield from ((place, other) for place in places if _is_near(order[place], order[other]))
    for places in _places(order, lambda kind: kind.area).values():
        for one, other in pairwise(places):
            if _is_near(order[one], order[other]) and _share_area(order[one].kind, order[other].kind, graph):
                yield one, other
    if storm:
        for places in _places(order, lambda kind: graph.group(kind.service) or "nothing that is known").values():
            yield from pairwise(places)


def _places(order: list[Fresh], of: Callable[[Kind], str]) -> dict[str, list[int]]:
    """Return the places of the alerts of which this can be said, by what it is."""
    found: dict[str, list[int]] = {}
    for place, each in enumerate(order):
        name = of(each.kind)
        if name:
            found.setdefault(name, []).append(place)
    return found
