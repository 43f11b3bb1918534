"""The blast radius is what the tools declare, and nothing is lost on the way to a page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from agentops.registry.blast_radius import MARKER, BlastRow, document, rows_of
from agentops.registry.role import GrantDefault, RoleSpec, ThresholdDefault
from agentops.registry.tool import DataClass, Dial, Tier
from tests.factories.toy import Toy

LIMIT = ThresholdDefault("money.minor", ">", 5, "ask", "More than five.", "USD")


def toy(*grants: GrantDefault, **changes: Any) -> RoleSpec:
    """The toy role with one tool, ``pay``."""
    role = Toy().spec()
    pay = next(tool for tool in role.tools if tool.name == "pay")
    return replace(role, title="Toy agent", tools=(replace(pay, **changes),), grants=grants)


def test_row_holds_what_role_and_tool_declare() -> None:
    assert rows_of([toy(GrantDefault("pay", Dial.BOUNDED, (LIMIT,)))]) == [
        BlastRow(
            role="toy",
            role_title="Toy agent",
            tool="pay",
            tier=Tier.WRITE_HARD,
            always_asks=False,
            reversibility="can be paid back",
            data_class=DataClass.FINANCIAL,
            money_family="payment",
            dial=Dial.BOUNDED,
            limits=("More than five.",),
            worst="empties the account",
            stopped_by="more than $25 for one customer in one day asks",
        )
    ]


@pytest.mark.parametrize(
    ("dial", "limits", "changes", "words"),
    [
        (None, (), {}, "not granted"),
        (Dial.OBSERVE, (), {}, "may only read"),
        (Dial.SUGGEST, (), {}, "proposes, nothing runs"),
        (Dial.ASK, (), {}, "asks"),
        (Dial.BOUNDED, (LIMIT,), {}, "runs within limits"),
        (Dial.BOUNDED, (), {}, "asks"),
        (Dial.BOUNDED, (), {"tier": Tier.WRITE_SOFT}, "runs within limits"),
        (Dial.BOUNDED, (LIMIT,), {"irreversible": True}, "asks"),
        (Dial.AUTONOMOUS, (), {}, "runs"),
        (Dial.AUTONOMOUS, (), {"irreversible": True}, "asks"),
        (Dial.AUTONOMOUS, (), {"destructive": True}, "asks"),
        (Dial.SUGGEST, (), {"irreversible": True}, "proposes, nothing runs"),
        (Dial.OBSERVE, (), {"tier": Tier.READ}, "runs"),
    ],
)
def test_default_says_what_policy_does(
    dial: Dial | None, limits: tuple[ThresholdDefault, ...], changes: dict[str, Any], words: str
) -> None:
    grants = () if dial is None else (GrantDefault("pay", dial, limits),)
    assert [row.default for row in rows_of([toy(*grants, **changes)])] == [words]


def test_document_keeps_its_head_and_replaces_the_rest() -> None:
    rows = rows_of([toy(GrantDefault("pay", Dial.BOUNDED, (LIMIT,)), worst="a | b\n c")])
    text = document("# Blast radius\n\nWords.\n", rows)
    assert text == (
        f"# Blast radius\n\nWords.\n\n{MARKER}\n## Toy agent\n\n"
        "| tool | kind | data | fresh agent | taken back | worst call | what stops it |\n"
        "|---|---|---|---|---|---|---|\n"
        "| `pay` | hard write | financial, money: payment | runs within limits: More than five. | can be paid back"
        " | a \\| b c | more than $25 for one customer in one day asks |\n"
    )
    assert document(text, rows) == text
    assert document(text, []) == f"# Blast radius\n\nWords.\n\n{MARKER}\n"


def test_roles_of_one_title_have_a_section_each() -> None:
    text = document("", rows_of([toy(), replace(toy(), name="other")]))
    assert text.count("## Toy agent") == 2


def test_command_prints_or_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "docs" / "blast-radius.md"
    page.parent.mkdir()
    page.write_text("# Head\n", encoding="utf-8")
    with override_settings(BASE_DIR=tmp_path):
        call_command("blast_radius")
        assert page.read_text(encoding="utf-8") == "# Head\n"
        call_command("blast_radius", "--write")
    assert page.read_text(encoding="utf-8") == capsys.readouterr().out.rstrip("\n") + "\n"
    assert "| `issue_refund` | hard write |" in page.read_text(encoding="utf-8")
