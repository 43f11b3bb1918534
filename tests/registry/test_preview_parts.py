"""Parts of a dry run: one closed, bounded form each, that comes back as it was and is part of what people approve."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.canonical import digest, dumps, loads
from agentops.kernel.money import Money
from agentops.registry.preview_parts import (
    MOST_CHARACTERS,
    MOST_ITEMS,
    MOST_PARTS,
    Amount,
    BadPart,
    Command,
    Fields,
    File,
    Mail,
    Opaque,
    Part,
    Sql,
    TextChange,
    part_of,
    parts_as_json,
)
from agentops.registry.tool import Preview

SHA = "0" * 64
PARTS: tuple[Part, ...] = (
    Fields("Order #W1", (("Status", "open", "closed"),)),
    Amount("Refund", 1200, "USD", (("Refunded", 0, 1200),)),
    Mail("desk", ("dana@example.com",), (), "Re: mug", "Hello.", "<p>Hello.</p>"),
    TextChange("Note", "a\nb", "a\nc"),
    Command("web-1", argv=("systemctl", "restart", "web")),
    Command("web-1", line="systemctl restart web"),
    Command("api.example.com", api="POST /restart", body="{}"),
    Sql("DELETE FROM t WHERE id = $1", ("t",), (("Delete", "t", 1),), (("$1", "7"),)),
    File("/etc/motd", 3, "text/plain", SHA, "a", "b"),
    File("/srv/logo.png", 900, "image/png", SHA),
    Opaque.of("Archive", b"\x00\x01", "not text"),
)
TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=40)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.kind)
def test_a_part_comes_back_from_its_form(part: Part) -> None:
    stored = loads(dumps(part.as_json()))
    assert stored == part.as_json()
    assert part_of(stored) == part


@given(TEXT, TEXT, TEXT)
def test_every_character_is_in_the_form_and_in_the_texts(title: str, before: str, after: str) -> None:
    part = TextChange(title, before, after)
    assert part_of(part.as_json()) == part
    assert dict(part.texts()) == {"title": title, "before": before, "after": after}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "mail",
        {},
        {"kind": "picture"},
        {"kind": ["mail"]},
        {"kind": "text", "title": "", "before": ""},
        {"kind": "text", "title": "", "before": "", "after": "", "more": ""},
        {"kind": "text", "title": "", "before": "", "after": 1},
        {"kind": "text", "title": "", "before": "", "after": "a\x00"},
        {"kind": "text", "title": "", "before": "", "after": "x" * (MOST_CHARACTERS + 1)},
        {"kind": "fields", "title": "", "lines": [["a", "b"]]},
        {"kind": "fields", "title": "", "lines": [["a", "b", "c"]] * (MOST_ITEMS + 1)},
        {"kind": "fields", "title": "", "lines": [["a", "b", ["c"]]]},
        {"kind": "money", "title": "", "minor": 12.5, "currency": "USD", "sums": []},
        {"kind": "money", "title": "", "minor": True, "currency": "USD", "sums": []},
        {"kind": "money", "title": "", "minor": 2**60, "currency": "USD", "sums": []},
        {"kind": "money", "title": "", "minor": 1, "currency": "usd", "sums": []},
        {"kind": "file", "path": "", "size": -1, "media_type": "", "digest": SHA, "before": None, "after": None},
        {"kind": "file", "path": "", "size": 1, "media_type": "", "digest": "Z" * 64, "before": None, "after": None},
        {"kind": "command", "place": "", "argv": [], "line": "", "api": "", "body": ""},
        {"kind": "command", "place": "", "argv": ["a"], "line": "a", "api": "", "body": ""},
    ],
)
def test_another_form_is_refused(value: Any) -> None:
    with pytest.raises(BadPart):
        part_of(value)


def test_a_part_is_not_made_of_something_else() -> None:
    with pytest.raises(BadPart):
        TextChange("Note", "a", None)  # type: ignore[arg-type]
    with pytest.raises(BadPart):
        Amount.of("Refund", Money(1, "USD"), [("Sum", Money(1, "EUR"), Money(2, "EUR"))])


def test_a_preview_says_itself_that_it_is_too_large() -> None:
    one = TextChange("", "", "x")
    with pytest.raises(BadPart):
        Preview("Do.", "x", parts=(one,) * (MOST_PARTS + 1))
    with pytest.raises(BadPart):
        Preview("Do.", "x", parts=(TextChange("", "", "x" * MOST_CHARACTERS),) * 3)
    assert len(parts_as_json([one] * MOST_PARTS)) == MOST_PARTS


def test_a_preview_without_parts_has_the_form_it_always_had() -> None:
    assert "parts" not in Preview("Do.", "x").as_json()


def test_parts_are_covered_by_the_digest_of_the_preview() -> None:
    seen = {digest(Preview("Do.", "x", parts=parts).as_json()) for parts in [(), *((part,) for part in PARTS)]}
    assert len(seen) == len(PARTS) + 1
