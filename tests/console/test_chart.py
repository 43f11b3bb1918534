"""A process is drawn whole: every state, every step, nothing on top of anything else, and the same in words."""

from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from agentops.console.chart import LINE, MARGIN, Chart, Label, Node, chart_svg
from agentops.registry.process import Edge, ProcessSpec
from agentops.registry.roles import all_roles

PAY = Edge("pay", "open", "paid", "pay_order", None, "the order was looked up and is not paid by anybody else")
SPEC = ProcessSpec(
    "payment",
    1,
    "Payment",
    "open",
    frozenset({"told"}),
    (
        PAY,
        Edge("pay by card", "open", "paid", "pay_by_card", None, PAY.guard_words),
        Edge("pay more", "paid", "paid", "pay_order"),
        Edge("tell", "paid", "told", "send_reply", None, "<all> is known"),
        Edge("tell only", "open", "told", "send_reply"),
        Edge("again", "told", "open", "reopen"),
    ),
)
PROCESSES = [
    pytest.param(process, id=f"{role.name}-{process.name}") for role in all_roles() for process in role.processes
]

Box = tuple[float, float, float, float]


def box_of(thing: Node | Label) -> Box:
    """Return left, top, right and bottom."""
    if isinstance(thing, Node):
        return thing.x, thing.y, thing.right, thing.bottom
    return thing.x - thing.width / 2, thing.y - LINE + 4, thing.x + thing.width / 2, thing.y + 3


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def labels_of(chart: Chart) -> list[Label]:
    return [label for arrow in chart.arrows for label in arrow.labels]


def require_readable(chart: Chart, spec: ProcessSpec) -> None:
    assert [node.state for node in chart.nodes if node.initial] == [spec.initial]
    assert {node.state for node in chart.nodes} == set(spec.states)
    assert sorted(name for arrow in chart.arrows for name in arrow.edges) == sorted(edge.name for edge in spec.edges)
    things: list[Node | Label] = [*chart.nodes, *labels_of(chart)]
    for one, other in combinations(things, 2):
        assert not overlap(box_of(one), box_of(other)), (one, other)
    for left, top, right, bottom in map(box_of, things):
        assert left + 1 >= MARGIN
        assert top >= 0
        assert right <= chart.width
        assert bottom <= chart.height
    for arrow in chart.arrows:
        words = " ".join(label.text for label in arrow.labels)
        for edge in spec.edges:
            if edge.name in arrow.edges:
                assert edge.tool in words
                assert edge.guard_words in words


@pytest.mark.parametrize("spec", PROCESSES)
def test_every_process_of_the_installation_is_drawn_whole(spec: ProcessSpec) -> None:
    require_readable(chart_svg(spec, spec.initial), spec)


def test_states_stand_from_left_to_right_as_they_are_reached() -> None:
    chart = chart_svg(SPEC, "open")
    assert [node.state for node in chart.nodes] == ["open", "paid", "told"]
    assert all(one.right < other.x for one, other in pairwise(chart.nodes))
    assert len({node.y for node in chart.nodes}) == 1
    require_readable(chart, SPEC)


def test_steps_between_the_same_states_share_an_arrow_and_a_common_guard() -> None:
    chart = chart_svg(SPEC, "open")
    arrow = chart.arrows[0]
    assert (arrow.source, arrow.target, arrow.edges) == ("open", "paid", ["pay", "pay by card"])
    assert [(label.text, label.kind) for label in arrow.labels] == [
        ("pay_order", "tool"),
        ("pay_by_card", "tool"),
        ("[the order was looked up and", "guard"),
        ("is not paid by anybody else]", "guard"),
    ]


def test_where_it_stands_and_what_it_passed_is_marked() -> None:
    chart = chart_svg(SPEC, "paid", {"pay"})
    assert [(node.state, node.current, node.visited, node.word) for node in chart.nodes] == [
        ("open", False, True, "passed"),
        ("paid", True, True, "stands here"),
        ("told", False, False, ""),
    ]
    assert [arrow.edges for arrow in chart.arrows if arrow.taken] == [["pay", "pay by card"]]
    assert [step.name for step in chart.steps if step.taken] == ["pay"]


def test_a_process_that_stands_outside_its_chart_is_drawn_all_the_same() -> None:
    chart = chart_svg(SPEC, "compensated", ["pay"])
    assert not any(node.current for node in chart.nodes)
    assert chart.state == "compensated"


def test_the_page_shows_the_drawing_and_says_the_same_in_words() -> None:
    chart = chart_svg(SPEC, "paid", {"pay"})
    # What is well-formed XML is well-formed HTML, whatever a guard's words hold.
    page = ET.fromstring(render_to_string("console/_process_chart.html", {"chart": chart}))
    assert not [part.tag for part in page.iter() if part.tag in ("script", "style") or "style" in part.attrib]
    svg = page.find(".//svg")
    assert svg is not None
    assert svg.get("aria-hidden") == "true"
    drawn = ["".join(part.itertext()) for part in svg.iter("text")]
    assert [word for word in drawn if word in SPEC.states] == ["open", "paid", "told"]
    assert drawn.count("send_reply") == 2
    assert "[<all> is known]" in drawn
    assert [part.get("tabindex") for part in page.iter("div")] == ["0"]
    states, steps = (["".join(item.itertext()) for item in page.findall(f".//{tag}/li")] for tag in ("ul", "ol"))
    assert states == [
        "open, begins here: passed",
        "paid: stands here",
        "told, may end here",
    ]
    assert steps[:3] == [
        f"pay: from open to paid by pay_order, when {PAY.guard_words}: taken",
        f"pay by card: from open to paid by pay_by_card, when {PAY.guard_words}",
        "pay more: from paid to paid by pay_order",
    ]


NAMES = st.sampled_from(["open", "looked at", "settled", "a rather long name of a state", "told"])
WORDS = st.sampled_from(["", "it is known", "a guard that takes more than one line to say what it wants"])
EDGES = st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["pay", "send_a_reply"]), WORDS), min_size=1, max_size=14)


@given(EDGES, NAMES)
def test_whatever_the_chart_nothing_lies_on_anything(rows: list[tuple[str, str, str, str]], initial: str) -> None:
    edges = tuple(
        Edge(f"step {number}", source, target, tool, None, guard)
        for number, (source, target, tool, guard) in enumerate(rows)
    )
    spec = ProcessSpec("any", 1, "Any", initial, frozenset(), edges)
    require_readable(chart_svg(spec, initial, {"step 0"}), spec)
