"""Secrets are taken out of the parts of a dry run, too."""

import pytest

from agentops.registry.preview_parts import Amount, Command, Fields, Mail, Part, Sql, TextChange
from agentops.registry.tool import Preview
from agentops.safety.scrub import Scrubber
from agentops.safety.shapes import REMOVED

SECRET = "q7Zx9kLm2vB4-and-more"
PARTS: list[tuple[Part, Part]] = [
    (TextChange("Note", "", f"use {SECRET}"), TextChange("Note", "", f"use {REMOVED}")),
    (Fields("x", ((SECRET, "a", "b"),)), Fields("x", ((REMOVED, "a", "b"),))),
    (Mail("d", (SECRET,), (), "s", "t"), Mail("d", (REMOVED,), (), "s", "t")),
    (Command("web", argv=("run", f"--key={SECRET}")), Command("web", argv=("run", f"--key={REMOVED}"))),
    (Sql(f"SELECT '{SECRET}'", ("t",)), Sql(f"SELECT '{REMOVED}'", ("t",))),
]


@pytest.mark.parametrize(("dirty", "expected"), PARTS, ids=lambda part: part.kind)
def test_a_part_is_scrubbed(dirty: Part, expected: Part) -> None:
    clean, count = Scrubber([SECRET]).preview(Preview("Do.", "x", parts=(dirty, Amount("Sum", 5, "USD"))))
    assert (clean.parts, count) == ((expected, Amount("Sum", 5, "USD")), 1)
