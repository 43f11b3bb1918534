"""The request's page on risk, provenance and compliance: what was recorded is what an approver is told."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from agentops.console.marks import plain
from agentops.ledger.models import LedgerEvent
from agentops.policy.flow import ROWS
from agentops.policy.risk import table
from agentops.templatetags.console import flat
from approvals import provenance
from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, page_url
from tests.approvals.test_hostile import HIDDEN, MARKUP, NAMES, Elements
from tests.approvals.test_request import page

pytestmark = pytest.mark.django_db

ORIGINS = {
    "request": ("request", "request"),
    "operator": ("person of the house", "request"),
    "approved": ("approved before", "request"),
    "record": ("record", "record"),
    "computed": ("computed", "record"),
    "third": ("text by others", "untrusted"),
    "untrusted": ("text by others", "untrusted"),
    "nowhere": ("invented", "invented"),
}
RED_ROWS = ("unplanned", "leaks", "exit", "repeated")


def with_facts(stage: Stage, facts: dict[str, Any], arguments: dict[str, Any] | None = None) -> ApprovalRequest:
    """A request that was decided on these facts, as they are recorded."""
    request = stage.ask()
    changed = {"facts": {"form": 2, **facts}, "arguments": arguments or request.arguments}
    ApprovalRequest.objects.filter(pk=request.pk).update(**changed)
    return request


def leaf(path: str, origin: str, source: str = "", *rest: Any, kind: str = "value") -> list[Any]:
    return [path, kind, origin, source, *rest]


@pytest.mark.parametrize("origin", ORIGINS)
def test_argument_says_where_it_came_from(stage: Stage, alice: Client, origin: str) -> None:
    word, tone = ORIGINS[origin]
    request = with_facts(stage, {"flow": {"leaves": [leaf("account", origin)]}})
    account, minor = sorted(page(alice, request).arguments, key=lambda argument: argument.name)
    assert [(each.word, each.tone, each.values, each.places) for each in account.came_from] == [(word, tone, 0, ())]
    assert account.tone == (tone if tone in ("untrusted", "invented") else "")
    assert (minor.came_from, minor.tone) == ((), "")
    body = alice.get(page_url(request)).content.decode()
    assert f'data-from="{tone}"' in body
    assert f"</svg>{word}</" in body
    assert "not traced" in body


def test_words_that_nobody_trusted_gave_do_not_colour_their_row(stage: Stage, alice: Client) -> None:
    request = with_facts(stage, {"flow": {"leaves": [leaf("account", "nowhere", kind="text")]}})
    shown = {argument.name: argument for argument in page(alice, request).arguments}
    assert [each.word for each in shown["account"].came_from] == ["invented"]
    assert shown["account"].tone == ""


def test_record_links_to_the_step_that_read_it(stage: Stage, alice: Client) -> None:
    leaves = [leaf("account", "record", "step 1 look balance", "a-1", [], "digits only")]
    request = with_facts(stage, {"flow": {"leaves": leaves}})
    looked = LedgerEvent.objects.get(stream=request.session_id, type="call.read").position
    (place,) = next(a for a in page(alice, request).arguments if a.name == "account").came_from[0].places
    assert (place.step, place.words, place.document) == (looked, plain("look balance"), plain("a-1"))
    assert (place.how, place.within) == (plain("digits only"), "")
    session = reverse("session_detail", args=[request.session_id])
    assert (
        f'href="{session}?at={looked}#step-{looked}">step {looked}</a>' in alice.get(page_url(request)).content.decode()
    )


@pytest.mark.parametrize("source", ["step 1 pay receipt", "step 2 look balance", "step 0 look balance", "summary"])
def test_source_that_is_no_step_of_that_tool_has_no_link(stage: Stage, alice: Client, source: str) -> None:
    request = with_facts(stage, {"flow": {"leaves": [leaf("account", "untrusted", source)]}})
    (place,) = next(a for a in page(alice, request).arguments if a.name == "account").came_from[0].places
    assert place.step is None
    assert flat(place.words) == (source.split(" ", 2)[2] if source.startswith("step") else source)


def test_text_by_others_names_its_document_and_place(stage: Stage, alice: Client) -> None:
    leaves = [leaf("account", "untrusted", "step 1 look note", "Ticket 7", [119, 131], "")]
    request = with_facts(stage, {"flow": {"leaves": leaves}})
    body = alice.get(page_url(request)).content.decode()
    assert "<bdi>Ticket 7</bdi>, characters 120 to 131" in body


def test_list_from_several_places_says_how_many_values_came_from_each(stage: Stage, alice: Client) -> None:
    leaves = [leaf("items[].id", "record", f"step 1 look items[{n}]") for n in range(5)]
    leaves += [
        leaf("items[].id", "nowhere"),
        leaf("items[].by", "third", "step 1 look payer"),
        leaf("itemsize", "request"),
    ]
    request = with_facts(stage, {"flow": {"leaves": leaves}}, {"items": [{"id": "1"}], "itemsize": 1})
    items, size = sorted(page(alice, request).arguments, key=lambda argument: argument.name)
    found = [(each.word, each.values, len(each.places), each.more) for each in items.came_from]
    assert found == [("invented", 1, 0, 0), ("text by others", 1, 1, 0), ("record", 5, 3, 2)]
    assert [each.word for each in size.came_from] == ["request"]
    assert "and 2 more places" in alice.get(page_url(request)).content.decode()


def test_arguments_of_a_person_came_from_that_person(stage: Stage, alice: Client) -> None:
    request = with_facts(
        stage, {"session": {"by_person": True}, "risk": {"score": 3, "version": "risk-1", "factors": []}}
    )
    words = [[each.word for each in argument.came_from] for argument in page(alice, request).arguments]
    assert words == [["person of the house"]] * 2


@pytest.mark.parametrize("row", RED_ROWS)
def test_red_line_stands_above_the_data(stage: Stage, alice: Client, row: str) -> None:
    request = with_facts(stage, {"flow": {row: True, "leaves": []}})
    assert page(alice, request).red_lines == (ROWS[row],)
    body = alice.get(page_url(request)).content.decode()
    assert 0 < body.index(escape(ROWS[row])) < body.index("What changes")


def test_agents_choice_after_reading_others_is_a_red_line(stage: Stage, alice: Client) -> None:
    chosen = with_facts(stage, {"flow": {"chosen": True, "leaves": []}})
    assert page(alice, chosen).red_lines == (
        "The agent chose whom or what this is about after reading text by others.",
    )


def test_rows_that_provenance_shows_are_no_red_lines(stage: Stage, alice: Client) -> None:
    others = {row: True for row in ROWS if row not in RED_ROWS}
    request = with_facts(stage, {"flow": {**others, "leaves": []}})
    assert page(alice, request).red_lines == ()
    assert "red-lines" not in alice.get(page_url(request)).content.decode()
    everything = with_facts(stage, {"flow": {**dict.fromkeys(ROWS, True), "chosen": True, "leaves": []}})
    lines = page(alice, everything).red_lines
    assert lines[-1] == ROWS["repeated"]
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("score", "level", "band"),
    [(0, "low", "0–34"), (34, "low", "0–34"), (35, "medium", "35–64"), (64, "medium", "35–64"), (65, "high", "65–100")],
)
def test_risk_has_its_level_in_a_word_and_the_range_of_it(
    stage: Stage, alice: Client, score: int, level: str, band: str
) -> None:
    request = with_facts(stage, {"risk": {"score": score, "version": "risk-1", "factors": []}})
    risk = page(alice, request).risk
    assert (risk.score, risk.level, risk.band, risk.version) == (score, level, band, "risk-1")
    body = alice.get(page_url(request)).content.decode()
    assert f'data-band="{level}"' in body
    assert f"<strong>{level.capitalize()}</strong>" in body


def test_factors_say_what_raises_and_what_lowers_the_score(stage: Stage, alice: Client) -> None:
    factors = [["usual", -5], ["tier", 30], ["gone", 15], ["destructive", 15]]
    request = with_facts(stage, {"risk": {"score": 55, "version": "risk-0", "factors": factors}})
    assert [(f.words, f.points, f.raises, f.start, f.width) for f in page(alice, request).risk.factors] == [
        ("It changes something that counts.", "+30", True, 50, 50),
        ("gone (of an earlier version)", "+15", True, 50, 25),
        ("It destroys something.", "+15", True, 50, 25),
        ("It is at most half of what is usual for this tool.", "−5", False, 42, 8),
    ]


def test_every_factor_has_words_of_its_own() -> None:
    names = [(factor.name, factor.points) for factor in table()]
    assert len(set(names)) == len(names)


def test_real_request_is_scored_and_traced(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    shown = page(alice, request)
    assert shown.risk.score == request.facts["risk"]["score"]
    assert sum(int(f.points.replace("−", "-")) for f in shown.risk.factors) == shown.risk.score
    assert all(argument.came_from for argument in shown.arguments)


@pytest.mark.parametrize("facts", [{}, {"tool": {}, "grant": {}, "steps": 1, "writes": 0, "target": "", "money": {}}])
def test_old_request_is_not_scored_and_counts_as_high(stage: Stage, alice: Client, facts: dict[str, Any]) -> None:
    request = stage.ask()
    ApprovalRequest.objects.filter(pk=request.pk).update(facts=facts)
    shown = page(alice, request)
    assert (shown.risk.score, shown.risk.level, shown.risk.factors) == (None, "high", ())
    assert (shown.red_lines, shown.findings) == ((), ())
    body = alice.get(page_url(request)).content.decode()
    assert "Not scored, treat as high" in body
    assert body.count("not recorded") == len(shown.arguments)


TEXT = "Dear Ann,\nwe gu\u200barantee it <b>today</b>. Yours, Larkspur"
START = TEXT.index("we")
END = TEXT.index(" it <b>")


def finding(path: str, start: int, end: int, words: str = "Nothing is guaranteed.", effect: str = "ask") -> list[Any]:
    return ["advice", 2, "guarantee", path, start, end, words, effect]


def test_finding_marks_its_exact_place_in_the_text(stage: Stage, alice: Client) -> None:
    facts = {"compliance": {"ask": True, "findings": [finding("text", START, END, effect="forbid")]}}
    request = with_facts(stage, facts, {"other": "x", "text": TEXT})
    shown = page(alice, request)
    text = next(argument for argument in shown.arguments if argument.name == "text")
    assert [(flat(piece.text), piece.marked) for piece in text.pieces] == [
        ("Dear Ann,\n", False),
        ("we gu[U+200B zero width space]arantee", True),
        (" it <b>today</b>. Yours, Larkspur", False),
    ]
    assert flat(text.value) == "".join(flat(piece.text) for piece in text.pieces)
    (found,) = shown.findings
    assert (found.pack, found.version, found.rule, found.forbids) == ("advice", 2, "guarantee", True)
    assert list(request_arguments(request))[found.argument - 1] == "text"
    body = alice.get(page_url(request)).content.decode()
    marked = '<mark class="finding">we gu<mark class="glyph">U+200B zero width space</mark>arantee</mark> it &lt;b&gt;'
    assert marked in body
    assert f'href="#arg-{found.argument}"' in body
    assert f'id="arg-{found.argument}"' in body


def request_arguments(request: ApprovalRequest) -> dict[str, Any]:
    request.refresh_from_db()
    found: dict[str, Any] = request.arguments
    return found


def test_finding_inside_a_list_is_marked_in_its_json() -> None:
    value = [{"text": 'say "we promise" \u00e9 now'}, {"text": "x"}, {"note": "we promise"}]
    written = '[{"text": "say \\"we promise\\" \u00e9 now"}, {"text": "x"}, {"note": "we promise"}]'
    facts = {"compliance": {"findings": [finding("lines[].text", 5, 15)]}}
    pieces = provenance.pieces_of(facts, "lines", value, written)
    assert [flat(piece.text) for piece in pieces if piece.marked] == ["we promise"]
    assert "".join(flat(piece.text) for piece in pieces) == written
    assert flat(pieces[0].text).endswith('say \\"')


def test_findings_that_overlap_are_one_mark_and_those_of_no_place_none() -> None:
    text = "we promise and we guarantee"
    facts = {"compliance": {"findings": [finding("text", 3, 10), finding("text", 0, 10), finding("text", 27, 27)]}}
    pieces = provenance.pieces_of(facts, "text", text, text)
    assert [(flat(piece.text), piece.marked) for piece in pieces] == [
        ("we promise", True),
        (" and we guarantee", False),
    ]
    long = "word " * 40
    whole = {"compliance": {"findings": [finding("text", 0, len(long))]}}
    assert provenance.pieces_of(whole, "text", long, long) == ()
    assert provenance.pieces_of(facts, "other", text, text) == ()


def test_what_others_wrote_into_the_facts_is_escaped_and_visible(stage: Stage, alice: Client) -> None:
    bad = HIDDEN + MARKUP
    facts = {
        "risk": {"score": 50, "version": MARKUP, "factors": [[MARKUP, 5]]},
        "flow": {
            "leaves": [
                leaf("account", "untrusted", f"step 1 look {bad}", bad, [1, 2], bad),
                leaf("minor", "record", bad),
            ]
        },
        "compliance": {"findings": [["advice", 1, MARKUP, "account", 0, 9, bad, "ask"]]},
    }
    request = with_facts(stage, facts, {"account": bad, "minor": 1})
    reasons = [["pack.advice.x", "ask", bad]]
    ApprovalRequest.objects.filter(pk=request.pk).update(reasons=reasons)
    body = alice.get(page_url(request)).content.decode()
    assert Elements(body).acting == []
    for hidden in ("\u202e", "\u200b", "\u2066", "\x1b", "\ufeff"):
        assert hidden not in body
    for name in NAMES:
        assert body.count(name) >= 5
