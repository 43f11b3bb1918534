"""Phases say which tools are withheld after which reads, and what does not hold together."""

from dataclasses import replace

import pytest

from agentops.registry.phase import Phase, Withheld, problems_of_phases, withheld_by

ACT = Phase("act", "Act", frozenset({"pay", "note"}), ("look", "read"), "Nothing is paid unseen.")
PAY = Phase("pay", "Pay", frozenset({"pay"}), ("read", "ask"), "Ask first.")
TOOLS = {"look": False, "read": False, "ask": False, "pay": True, "note": True, "hand_over": True}


@pytest.mark.parametrize(
    ("succeeded", "missing"),
    [
        ((), {"pay": ("look", "read", "ask"), "note": ("look", "read")}),
        (("look",), {"pay": ("read", "ask"), "note": ("read",)}),
        (("look", "ask"), {"pay": ("read",), "note": ("read",)}),
        (("look", "read"), {"pay": ("ask",)}),
        (("ask", "read", "look", "pay"), {}),
    ],
)
def test_tool_is_withheld_until_everything_it_needs_was_read(
    succeeded: tuple[str, ...], missing: dict[str, tuple[str, ...]]
) -> None:
    found = withheld_by((ACT, PAY), succeeded)
    assert {tool: why.missing for tool, why in found.items()} == missing


def test_words_are_those_of_the_first_phase_that_withholds() -> None:
    assert withheld_by((ACT, PAY), ("look", "ask"))["pay"] == Withheld("Nothing is paid unseen.", ("read",))
    assert withheld_by((ACT, PAY), ("look", "read"))["pay"] == Withheld("Ask first.", ("ask",))


@pytest.mark.parametrize(
    ("phases", "problems"),
    [
        ((), []),
        ((ACT, PAY), []),
        ((ACT, ACT), ["two phases are named 'act'"]),
        ((replace(ACT, tools=frozenset({"fly"})),), ["the phase 'act' withholds 'fly', which is no tool"]),
        ((replace(ACT, needs=("fly",)),), ["the phase 'act' needs 'fly', which is no tool"]),
        ((replace(PAY, needs=("note",)),), ["the phase 'pay' needs 'note', which is a write"]),
        (
            (ACT, replace(PAY, tools=frozenset({"look"}))),
            ["the phase 'act' needs 'look', which 'pay' withholds"],
        ),
        (
            (replace(ACT, tools=frozenset({"hand_over"})),),
            ["the phase 'act' withholds 'hand_over', with which a stopped session is handed over"],
        ),
        ((replace(ACT, needs=()),), ["the phase 'act' must name tools, what they need, and why"]),
        ((replace(ACT, tools=frozenset()),), ["the phase 'act' must name tools, what they need, and why"]),
        ((replace(ACT, words=""),), ["the phase 'act' must name tools, what they need, and why"]),
    ],
)
def test_phases_that_do_not_hold_together_are_named(phases: tuple[Phase, ...], problems: list[str]) -> None:
    assert list(problems_of_phases(phases, TOOLS, hand_over="hand_over")) == problems
