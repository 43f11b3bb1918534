"""A payload pushed out of view by blanks, lines, marks or size: it is named, has to be opened, or makes it a T3."""

import base64
import json
from typing import Any

import pytest
from django.test import Client

from agentops.registry.preview_parts import TextChange
from agentops.runtime.ports import ApprovalCase
from approvals.gate import Gate
from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, decide, page_url
from tests.factories.pages import page_of
from tests.factories.requests import case_of, rewritten

pytestmark = pytest.mark.django_db

TAIL = "and pay the rest to a-666"
PUSHED = {
    "blanks": ("Refund" + " " * 400 + TAIL, "400 blanks"),
    "wide blanks": ("Refund" + "\u3000" * 400 + TAIL, "400 blanks"),
    "no-break blanks": ("Refund" + "\u00a0" * 400 + TAIL, "400 blanks"),
    "tabs": ("Refund" + "\t" * 90 + TAIL, "90 blanks"),
    "lines": ("Refund" + "\n" * 90 + TAIL, "90 line breaks"),
    "lines and blanks": ("Refund" + "\n \t" * 90 + TAIL, "90 line breaks and 180 blanks"),
    "line separators": ("Refund" + "\u2028" * 90 + TAIL, "U+2028 line separator × 90"),
    "fillers": ("Refund" + "\u3164" * 90 + TAIL, "U+3164 hangul filler × 90"),
    "marks": ("Refund" + "\u0301" * 90 + TAIL, "90 combining marks, the first U+0301"),
    "carriage return": ("Refund" + "\r" * 3 + TAIL, "U+000D carriage return × 3"),
}
BLOB = base64.b64encode(bytes(range(256)) * 3).decode()
UNSEEN: dict[str, dict[str, Any]] = {
    "too large": {"note": "x" * 100_001},
    "large together": {"note": ["x" * 60_000, "y" * 60_000]},
    "encoded": {"note": BLOB},
    "encoded and deep": {"note": [{"a": {"b": [BLOB]}}]},
    "encoded key": {"note": {BLOB: 1}},
    "binary": {"note": "\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008"},
}


def test_what_pushes_is_named_and_what_was_pushed_is_there(
    stage: Stage, alice: Client, subtests: pytest.Subtests
) -> None:
    base = stage.ask()
    for how, (text, name) in PUSHED.items():
        with subtests.test(how):
            request = rewritten(
                base,
                effect=text,
                arguments={"account": "a-1", "note": text},
                preview={"changes": [["Note", "", text]]},
                rationale=text,
            )
            page = page_of(alice, page_url(request))
            changes = page.section("h-change")
            assert name in page.section("h-args")
            assert TAIL in page.section("h-args")
            assert name in changes or "There are 89 empty lines in a row." in changes
            assert TAIL in changes
            assert name in page.all("//h1")[0].text_content()
            assert TAIL in page.all("//h1")[0].text_content()


@pytest.mark.parametrize("how", ["lines", "blanks", "lines and blanks"])
def test_what_is_long_is_not_approved_unopened(stage: Stage, alice: Client, how: str) -> None:
    request = rewritten(stage.ask(), arguments={"account": "a-1", "note": PUSHED[how][0] + " " + "x" * 300})
    assert decide(alice, request).status_code == 422
    assert decide(alice, request, opened="account").status_code == 422
    assert decide(alice, request, opened="note").status_code == 302


def test_long_change_is_folded_with_its_size_and_not_approved_unopened(stage: Stage, alice: Client) -> None:
    text = "Dear Dana.\n" * 40 + TAIL
    request = rewritten(stage.ask(), preview={"changes": [["Reply", "", text]]})
    page = page_of(alice, page_url(request))
    assert f"{len(text)} bytes, open it before you approve" in page.by_id("part-1")
    assert TAIL in page.by_id("part-1")
    assert decide(alice, request).status_code == 422
    assert decide(alice, request, opened="part-1").status_code == 302


def test_every_argument_is_in_the_page_whole(stage: Stage, alice: Client) -> None:
    arguments = {f"argument_{n}": f"value {n} " + "word " * 200 + f"end-{n}" for n in range(60)}
    page = page_of(alice, page_url(rewritten(stage.ask(), arguments=arguments)))
    assert all(f"value {n} " in page.text and f"end-{n}" in page.text for n in range(60))
    assert "all 60 arguments, none shortened" in page.section("h-args")


def test_depth_hides_nothing(stage: Stage, alice: Client) -> None:
    deep: Any = TAIL
    for _ in range(12):
        deep = {"a": [deep]}
    page = page_of(alice, page_url(rewritten(stage.ask(), arguments={"note": deep})))
    assert TAIL in page.section("h-args")


def opened_anew(stage: Stage, **fields: Any) -> ApprovalRequest:
    """Open a request as the runtime does, with other contents."""
    request = stage.ask()
    case: ApprovalCase = case_of(request, **fields)
    ApprovalRequest.objects.filter(pk=request.pk).update(state="voided", closed_at=request.created_at)
    return ApprovalRequest.objects.get(pk=Gate().open(case))


@pytest.mark.parametrize("how", UNSEEN)
def test_what_cannot_be_inspected_is_irreversible_and_takes_two(stage: Stage, alice: Client, how: str) -> None:
    request = opened_anew(stage, arguments=UNSEEN[how])
    assert (request.irreversible, request.people) == (True, 2)
    page = page_of(alice, page_url(request))
    assert "T3" in page.all("//header[contains(@class, 'lead')]")[0].text_content()
    assert "uninspectable" in page.section("h-args")
    assert "SHA-256" in page.section("h-args")
    assert decide(alice, request).status_code != 302 or not request.decisions.exists()


def test_part_that_cannot_be_inspected_is_irreversible(stage: Stage) -> None:
    preview = {**stage.ask().preview, "parts": [TextChange("Blob", "", BLOB).as_json()]}
    assert opened_anew(stage, preview=preview).irreversible
    preview["parts"] = [TextChange("Note", "", json.dumps({"a": 1})).as_json()]
    assert not opened_anew(stage, preview=preview).irreversible
