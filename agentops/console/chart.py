"""A process as a state chart: where its boxes, arrows and words stand (pure).

States stand side by side in the order in which they can be reached. A step to the next one is a straight arrow with
its words in the gap; a step that leaps over states runs in a lane of its own above them, a step back or to the same
state in one below. So nothing lies on a box, and no two words lie on each other. All measures are pixels.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

from agentops.registry.process import Edge, ProcessSpec

BOX_HEIGHT = 36
LEAST_BOX = 92
LEAST_GAP = 56
MARGIN = 16
START = 28
LINE = 15
PAD = 8
HEAD = 7
WRAP = 30
_STATE_CHAR, _TOOL_CHAR, _GUARD_CHAR = 7.4, 7.3, 6.3

Kind = Literal["tool", "guard"]
Way = Literal["straight", "above", "below"]
_End = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A state. ``x`` and ``y`` are the upper left corner of its box, ``word`` is what a reader has to know of it."""

    state: str
    x: int
    y: int
    width: int
    height: int = BOX_HEIGHT
    initial: bool
    final: bool
    current: bool
    visited: bool

    @property
    def middle(self) -> int:
        """The x of its middle."""
        return self.x + self.width // 2

    @property
    def right(self) -> int:
        """The x of its right side."""
        return self.x + self.width

    @property
    def bottom(self) -> int:
        """The y of its lower side."""
        return self.y + self.height

    @property
    def baseline(self) -> int:
        """The y of its name."""
        return self.y + self.height // 2 + 4

    @property
    def word(self) -> str:
        """Where it stands in the process: in words, for those who see no colours."""
        if self.current:
            return "stands here"
        return "passed" if self.visited else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A line of words, centred on ``x`` with its baseline at ``y``. A tool's name is set in the typewriter face."""

    text: str
    x: int
    y: int
    kind: Kind

    @property
    def width(self) -> int:
        """How wide it is, at most."""
        return _width_of(self.text, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """The steps from one state to another. ``path`` and ``head`` are SVG path data, ``edges`` their names."""

    source: str
    target: str
    edges: Sequence[str]
    path: str
    head: str
    labels: Sequence[Label]
    taken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """A step in words. ``name`` is what the state chart calls it."""

    name: str
    source: str
    target: str
    tool: str
    guard: str
    taken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing of ``width`` by ``height``, and the same as a list. ``state`` may be none of the nodes'."""

    name: str
    title: str
    state: str
    width: int
    height: int
    nodes: Sequence[Node]
    arrows: Sequence[Arrow]
    steps: Sequence[StepLine]

    @property
    def start(self) -> str:
        """The path of the short arrow that leads into the initial state."""
        node = next(node for node in self.nodes if node.initial)
        return f"M{node.x - START + 8} {node.y + BOX_HEIGHT // 2}H{node.x - HEAD}"

    @property
    def start_head(self) -> str:
        """The head of that arrow."""
        node = next(node for node in self.nodes if node.initial)
        return _head_right(node.x, node.y + BOX_HEIGHT // 2)


@dataclass(frozen=True)
class _Group:
    """The edges from one state to another, their words, and which way they run."""

    source: str
    target: str
    edges: tuple[Edge, ...]
    way: Way

    @property
    def words(self) -> list[tuple[str, Kind]]:
        """Tools and guards, line by line; a guard that several edges share stands once, below their tools."""
        by_guard: dict[str, list[str]] = {}
        for edge in self.edges:
            by_guard.setdefault(edge.guard_words, []).append(edge.tool)
        lines: list[tuple[str, Kind]] = []
        for guard, tools in by_guard.items():
            lines += [(tool, "tool") for tool in dict.fromkeys(tools)]
            lines += [(line, "guard") for line in (wrap(f"[{guard}]", WRAP) if guard else ())]
        return lines

    @property
    def height(self) -> int:
        """How high its words are."""
        return LINE * len(self.words)

    @property
    def width(self) -> int:
        """How wide its words are, at most."""
        return max(_width_of(text, kind) for text, kind in self.words)


def chart_svg(spec: ProcessSpec, state: str, visited: Collection[str] = ()) -> Chart:
    """Return the drawing of ``spec`` for an instance at ``state``; ``visited`` are the names of the steps it took.

    ``state`` may lie outside the chart, as that of a process that was undone does; then no box is marked as current.
    """
    columns = _columns(spec)
    groups = _groups(spec, columns)
    layout = _Layout(columns, groups)
    passed = {spec.initial} if visited or state != spec.initial else set()
    passed |= {end for edge in spec.edges if edge.name in visited for end in (edge.source, edge.target)}
    nodes = [
        Node(
            state=name,
            x=layout.lefts[name],
            y=layout.middle - BOX_HEIGHT // 2,
            width=layout.widths[name],
            initial=name == spec.initial,
            final=name in spec.final,
            current=name == state,
            visited=name in passed,
        )
        for name in columns
    ]
    return Chart(
        name=spec.name,
        title=spec.title,
        state=state,
        width=layout.width,
        height=layout.height,
        nodes=nodes,
        arrows=[layout.arrow(group, visited) for group in groups],
        steps=[
            StepLine(
                name=edge.name,
                source=edge.source,
                target=edge.target,
                tool=edge.tool,
                guard=edge.guard_words,
                taken=edge.name in visited,
            )
            for edge in spec.edges
        ],
    )


def _columns(spec: ProcessSpec) -> dict[str, int]:
    """Return each state's column: nearest to the start first, otherwise as the edges name them."""
    depth = {spec.initial: 0}
    frontier = [spec.initial]
    while frontier:
        state = frontier.pop(0)
        for edge in spec.edges:
            if edge.source == state and edge.target not in depth:
                depth[edge.target] = depth[state] + 1
                frontier.append(edge.target)
    ordered = sorted(spec.states, key=lambda state: depth.get(state, len(depth)))
    return {state: column for column, state in enumerate(ordered)}


def _groups(spec: ProcessSpec, columns: Mapping[str, int]) -> list[_Group]:
    ends = dict.fromkeys((edge.source, edge.target) for edge in spec.edges)
    return [
        _Group(
            source,
            target,
            tuple(edge for edge in spec.edges if (edge.source, edge.target) == (source, target)),
            _way(columns[target] - columns[source]),
        )
        for source, target in ends
    ]


def _way(columns: int) -> Way:
    if columns == 1:
        return "straight"
    return "above" if columns > 1 else "below"


class _Layout:
    """Where everything stands, worked out from the boxes outwards."""

    def __init__(self, columns: Mapping[str, int], groups: Sequence[_Group]) -> None:
        self.states = list(columns)
        self.ports = self._ports(columns, groups)
        self.widths = {state: self._width(state) for state in self.states}
        self.lefts = self._lefts(columns, groups)
        above = self._nested(columns, groups, "above")
        below = self._nested(columns, groups, "below")
        room = max([BOX_HEIGHT // 2, *(group.height + PAD for group in groups if group.way == "straight")])
        self.middle = MARGIN + sum(group.height + PAD for group in above) + room
        self.lanes: dict[tuple[str, str], int] = {}
        y = self.middle - room - PAD // 2
        for group in above:
            self.lanes[group.source, group.target] = y
            y -= group.height + PAD
        y = self.middle + BOX_HEIGHT // 2 + HEAD
        for group in below:
            self.lanes[group.source, group.target] = y + PAD
            y += group.height + 2 * PAD
        self.height = y + MARGIN
        self._shift([*above, *below])

    def arrow(self, group: _Group, visited: Collection[str]) -> Arrow:
        """Return the arrow of a group."""
        names = [edge.name for edge in group.edges]
        if group.way == "straight":
            x1, x2 = self.lefts[group.source] + self.widths[group.source], self.lefts[group.target]
            path, head = f"M{x1} {self.middle}H{x2 - HEAD}", _head_right(x2, self.middle)
            x, line = (x1 + x2 - HEAD) // 2, self.middle
        else:
            x1, x2 = self._port(group, "source"), self._port(group, "target")
            line = self.lanes[group.source, group.target]
            side = -1 if group.way == "above" else 1
            edge = self.middle + side * BOX_HEIGHT // 2
            path = f"M{x1} {edge}V{line}H{x2}V{edge + side * HEAD}"
            head = f"M{x2} {edge}l-4 {side * HEAD}h8z"
            x = (x1 + x2) // 2
        # Words stand above their line, and below it where the line itself runs below the boxes.
        first = line + LINE - 1 if group.way == "below" else line - 5 - group.height + LINE
        labels = [
            Label(text=text, x=x, y=first + LINE * number, kind=kind) for number, (text, kind) in enumerate(group.words)
        ]
        return Arrow(
            source=group.source,
            target=group.target,
            edges=names,
            path=path,
            head=head,
            labels=labels,
            taken=any(name in visited for name in names),
        )

    @staticmethod
    def _ports(columns: Mapping[str, int], groups: Sequence[_Group]) -> dict[tuple[str, Way], list[_End]]:
        """Return the ends of arrows on the upper and lower side of each box, from left to right."""
        found: dict[tuple[str, Way], list[tuple[int, int, _End]]] = {}
        for group in groups:
            if group.way == "straight":
                continue
            there, here = columns[group.target], columns[group.source]
            # An arrow in comes left of one out, so that a loop does not cross itself.
            found.setdefault((group.source, group.way), []).append((there, 1, (group.source, group.target, "source")))
            found.setdefault((group.target, group.way), []).append((here, 0, (group.source, group.target, "target")))
        return {side: [end for _, _, end in sorted(ends)] for side, ends in found.items()}

    def _width(self, state: str) -> int:
        most = max((len(ends) for (name, _), ends in self.ports.items() if name == state), default=0)
        return max(LEAST_BOX, round(len(state) * _STATE_CHAR) + 28, 24 * (most + 1))

    def _lefts(self, columns: Mapping[str, int], groups: Sequence[_Group]) -> dict[str, int]:
        gaps = {group.source: group.width + 2 * PAD + HEAD for group in groups if group.way == "straight"}
        lefts, x = {}, MARGIN + START
        for state in self.states:
            lefts[state] = x
            x += self.widths[state] + max(LEAST_GAP, gaps.get(state, 0))
        return lefts

    @staticmethod
    def _nested(columns: Mapping[str, int], groups: Sequence[_Group], way: Way) -> list[_Group]:
        """Return the arrows that run above or below, the shortest and thus innermost first."""
        ours = [group for group in groups if group.way == way]
        return sorted(ours, key=lambda group: abs(columns[group.target] - columns[group.source]))

    def _shift(self, lanes: Sequence[_Group]) -> None:
        """Move everything to the right as far as words reach over the left margin, and set the width."""
        spans = [((self._port(g, "source") + self._port(g, "target")) // 2, (g.width + 1) // 2) for g in lanes]
        shift = max([0, *(MARGIN - (x - half) for x, half in spans)])
        self.lefts = {state: left + shift for state, left in self.lefts.items()}
        last = self.states[-1]
        rights = [self.lefts[last] + self.widths[last], *(x + half + shift for x, half in spans)]
        self.width = max(rights) + MARGIN

    def _port(self, group: _Group, end: str) -> int:
        state = group.source if end == "source" else group.target
        ends = self.ports[state, group.way]
        place = ends.index((group.source, group.target, end)) + 1
        return self.lefts[state] + self.widths[state] * place // (len(ends) + 1)


def _head_right(x: int, y: int) -> str:
    return f"M{x} {y}l-{HEAD} -4v8z"


def _width_of(text: str, kind: Kind) -> int:
    return round(len(text) * (_TOOL_CHAR if kind == "tool" else _GUARD_CHAR))
