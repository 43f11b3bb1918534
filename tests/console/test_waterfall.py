"""The waterfall stays on its axis, whatever was recorded."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agentops.console.records import Told
from agentops.console.waterfall import AXIS, waterfall_of

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def told(position: int, second: float, type_: str, request: str = "", **facts: object) -> Told:
    refs = {"request": request} if request else {}
    return Told(position, NOON + timedelta(seconds=second), type_, "agent:x", refs, dict(facts), {}, 0)


def test_model_and_tool_share_a_row_and_the_wait_is_short() -> None:
    waterfall = waterfall_of(
        [
            told(0, 0, "session.opened"),
            told(1, 3, "call.read", tool="look", model_ms=2000, tool_ms=1000, cost_micro=24_000),
            told(2, 4, "approval.requested", "r-1", tool="pay", model_ms=1000),
            told(3, 3604, "approval.approved", "r-1"),
            told(4, 3606, "call.succeeded", tool="pay", tool_ms=2000),
        ],
        {},
    )
    assert waterfall is not None
    assert [(row.label, row.took, row.cost) for row in waterfall.rows] == [
        ("look", "3.0\u00a0s", "$0.0240"),
        ("Gate, people", "1\u00a0h 00\u00a0m", "–"),
        ("pay", "2.0\u00a0s", "–"),
    ]
    assert [key.label for key in waterfall.keys] == [
        "model 3.0\u00a0s",
        "tools 3.0\u00a0s",
        "people 1\u00a0h 00\u00a0m",
    ]
    wait = waterfall.rows[1].bars[1]
    assert (wait.kind, wait.compressed, wait.width) == ("human", True, 111)
    assert (waterfall.start, waterfall.end) == (NOON, NOON + timedelta(seconds=3606))


def test_nothing_took_time() -> None:
    assert waterfall_of([told(0, 0, "session.opened"), told(1, 0, "call.read", tool="look")], {}) is None
    assert waterfall_of([], {}) is None


TYPES = [
    "call.read",
    "approval.requested",
    "approval.rejected",
    "session.sleeping",
    "session.woken",
    "session.finished",
]
MOMENT = st.tuples(st.sampled_from(TYPES), st.floats(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))


@given(st.lists(MOMENT, max_size=30))
def test_bars_stay_on_the_axis(moments: list[tuple[str, float, int, int]]) -> None:
    seconds = sorted(second for _, second, _, _ in moments)
    events = [
        told(n, seconds[n], type_, "r-1" if type_.startswith("approval") else "", model_ms=model, tool_ms=tool)
        for n, (type_, _, model, tool) in enumerate(moments)
    ]
    waterfall = waterfall_of(events, {})
    for row in waterfall.rows if waterfall else ():
        for bar in row.bars:
            assert bar.x >= 0
            assert bar.width > 0
            assert bar.end <= AXIS
