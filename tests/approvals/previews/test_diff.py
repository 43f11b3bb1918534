"""Texts line by line: nothing is lost, every blank that differs is named, and no pair of texts costs too much."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.previews import edits
from approvals.previews.diff import MOST_DIFFERENT, ONLY_BLANKS, TOO_DIFFERENT, Diff, Line, diff
from approvals.previews.edits import blocks

LETTERS = st.lists(st.sampled_from("abc"), max_size=30)
TEXTS = st.text(
    alphabet=st.one_of(st.sampled_from("ab \t\r\n\u200b\u202e\u0430\u00a0\u3000"), st.characters()), max_size=80
)


def text_of(lines: list[Line]) -> str:
    """Put the pieces together again. Lines end in LF, but for the last one of a text that does not."""
    return "\n".join("".join(part.text for piece in line.pieces for part in piece.text) for line in lines)


def sides(found: Diff) -> tuple[str, str]:
    left = [row.left for row in found.rows if row.left]
    return text_of(left), text_of([row.right for row in found.rows if row.right])


@settings(max_examples=400)
@given(LETTERS, LETTERS)
def test_blocks_lead_from_one_list_to_the_other(before: list[str], after: list[str]) -> None:
    found = blocks(before, after, most=100)
    assert found is not None
    a = c = 0
    for block in found:
        assert (block.a, block.c) == (a, c)
        assert not block.equal or before[block.a : block.b] == after[block.c : block.d]
        a, c = block.b, block.d
    assert (a, c) == (len(before), len(after))


def test_what_differs_too_much_is_given_up_after_bounded_work() -> None:
    looks = 0

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal looks
            looks += 1
            return str.__eq__(self, other)

    before = [Counted("ab"[n % 2]) for n in range(4_000)]
    after = [Counted("bc"[n % 2]) for n in range(4_000)]
    assert edits.blocks(before, after, most=MOST_DIFFERENT) is None
    assert looks < 4 * MOST_DIFFERENT * 4_000


@given(TEXTS, TEXTS)
def test_no_character_of_either_side_is_lost(before: str, after: str) -> None:
    found = diff(before, after)
    was, now = sides(found)
    assert was == before.removesuffix("\n")
    assert now == after.removesuffix("\n")
    assert text_of([line for line in found.unified if line.kind != "add"]) == was
    assert text_of([line for line in found.unified if line.kind != "del"]) == now


@given(TEXTS, TEXTS)
def test_every_character_is_visible_as_itself_or_by_its_name(before: str, after: str) -> None:
    for line in diff(before, after).unified:
        for piece in line.pieces:
            for part in piece.text:
                assert part.concealed == bool(part.name)
                if not part.concealed:
                    hidden = {c for c in part.text if unicodedata.category(c) in ("Cc", "Cn", "Co", "Zl", "Zp")}
                    assert hidden <= {"\t"}
                    assert not set(part.text) & set("\u200b\u202e\u2066\ufeff\u00ad")


@given(TEXTS)
def test_equal_texts_have_no_differences(text: str) -> None:
    assert {line.kind for line in diff(text, text).unified} <= {"same"}


def marks(found: Diff, kind: str) -> list[str]:
    return [
        part.name or part.text
        for line in found.unified
        if line.kind == kind
        for piece in line.pieces
        if piece.changed
        for part in piece.text
    ]


@pytest.mark.parametrize(
    ("before", "after", "gone", "come"),
    [
        ("pay 10 now", "pay 100 now", ["10"], ["100"]),
        ("pay 10", "pay  10", [], ["space"]),
        ("pay 10", "pay 10  ", [], ["2 spaces"]),
        ("a\tb", "a b", ["tab"], ["space"]),
        ("pay 10\n", "pay 10\r\n", [], ["U+000D carriage return"]),
        ("pay 10\n", "pay 10", [], ["no line end"]),
        ("pay 10 to", "pay 10\u00a0to", ["space"], ["no-break space"]),
        ("paypal now ok", "p\u0430ypal now ok", ["paypal"], ["p", "U+0430 cyrillic small letter a", "ypal"]),
    ],
)
def test_what_differs_inside_a_line_is_marked(before: str, after: str, gone: list[str], come: list[str]) -> None:
    found = diff(before, after)
    assert (marks(found, "del"), marks(found, "add")) == (gone, come)


@pytest.mark.parametrize(
    ("before", "after"), [("a b", "a  b"), ("a\nb", "a\r\nb"), ("a\n", "a"), ("a\n\nb", "a\nb"), ("x: 1", "x:  1")]
)
def test_a_change_of_blanks_alone_is_said(before: str, after: str) -> None:
    assert diff(before, after).note == ONLY_BLANKS


def test_texts_that_differ_too_much_are_shown_whole_and_it_is_said() -> None:
    before, after = "\n".join(map(str, range(3_000))), "\n".join(f"x{n}" for n in range(3_000))
    found = diff(before, after)
    assert found.note == TOO_DIFFERENT
    assert sides(found) == (before, after)


def test_one_side_alone_is_not_put_side_by_side() -> None:
    assert not diff("", "new").two_sided
    assert not diff("old", "").two_sided
    assert diff("old", "new").two_sided
