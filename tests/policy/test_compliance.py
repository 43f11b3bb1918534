"""What compliance packs find in a text, where, and at what cost."""

from dataclasses import replace

import pytest

from agentops.policy.compliance import (
    MOST_FINDINGS,
    MOST_HOLE,
    Banned,
    Disclaimer,
    Finding,
    Pack,
    Review,
    Template,
    findings_of,
    review_facts,
)
from agentops.policy.phrases import Folded, Phrases, folded
from agentops.policy.rules import Effect
from tests.factories.effort import lines_of

NO_PROMISE = Banned("guarantee", ("we guarantee",), "Nothing is guaranteed.")


def found(text: str, *packs: Pack, tool: str = "reply", risk: int | None = 0) -> tuple[Finding, ...]:
    return findings_of([("body", text)], packs, tool=tool, risk=risk)


def places(text: str, *phrases: str) -> list[str]:
    """What stands where the phrases were found."""
    findings = found(text, Pack("p", 1, banned=(Banned("b", phrases, "No."),)))
    return [text[finding.start : finding.end] for finding in findings]


@pytest.mark.parametrize(
    "written",
    [
        "we guarantee",
        "WE GUARANTEE",
        "We  \t\n guarantee",
        "we\u00a0guarantee",
        "we\u3000guarantee",
        "\uff57\uff45 \uff47uarantee",
        "w\u00e9 guar\u00e4ntee",
        "we gua\u0301rante\u0301e",
        "we guar\u200bantee",
        "we gu\u00adar\u2060an\ufeffte\u202ee",
        "we gu\u3164ar\U000e0061antee",
        "we gu\u0430r\u0430nt\u0435\u0435",
        "\U0001d430\U0001d41e guarantee",
    ],
)
def test_phrase_is_found_however_it_is_written(written: str) -> None:
    assert places(f"Yes, {written}.", "we guarantee") == [written]
    assert places(f"Yes, {'we guarantee'}.", written) == ["we guarantee"]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("we guaranteed it", "we guarantee"),
        ("owe guarantee", "we guarantee"),
        ("we2 guarantee", "we guarantee"),
        ("weguarantee", "we guarantee"),
        ("we, guarantee", "we guarantee"),
        ("fall", "fail"),
        ("", "we guarantee"),
    ],
)
def test_other_words_are_not_the_phrase(text: str, phrase: str) -> None:
    assert places(text, phrase) == []


@pytest.mark.parametrize("edge", ["", " ", ".", "(", "_", "\n", "\u201d", "\U0001f600"])
def test_words_end_at_whatever_is_no_letter(edge: str) -> None:
    assert places(f"{edge}we guarantee{edge}", "we guarantee") == ["we guarantee"]


def test_phrase_may_begin_and_end_with_other_characters() -> None:
    assert places("now 100% off, risk-free!", "100% off", "-free!", "% o") == ["100% off", "-free!"]
    assert places("it\u2019s a don\u2018t \u2014 no", "it's", "- no") == ["it\u2019s", "\u2014 no"]


def test_place_is_that_of_the_original_text() -> None:
    text = "\U0001f600\u200b\u200b Stra\u00dfe, \ufb01ne:  we\u200b \u200b gua\u0301rantee\u200b."
    (finding,) = found(text, Pack("advice", 3, banned=(NO_PROMISE,)))
    assert text[finding.start : finding.end] == "we\u200b \u200b gua\u0301rantee"
    assert finding.as_json[:6] == ["advice", 3, "guarantee", "body", finding.start, finding.end]
    where = f"Found in body, at character {text.index('we') + 1}"
    assert finding.words == f'Nothing is guaranteed. {where}: "we<U+200B> <U+200B> gua\u0301rantee".'
    assert finding.as_json[6:] == [finding.words, "forbid"]


def test_letters_that_become_several_keep_their_place() -> None:
    assert places("die STRASSE und die Stra\u00dfe", "stra\u00dfe") == ["STRASSE", "Stra\u00dfe"]
    assert places("a \ufb01ne day", "fine") == ["\ufb01ne"]


def test_every_place_is_found_and_none_twice() -> None:
    assert places("we guarantee, we guarantee", "we guarantee", "WE  GUARANTEE") == ["we guarantee"] * 4
    assert places("no no no no", "no no") == ["no no", "no no"]
    assert places("ab ab ac", "ab ac", "ab ab", "ac") == ["ab ac", "ab ab", "ac"]
    assert places("a b c d", "b c d", "a b c x", "c") == ["b c d", "c"]


def test_phrase_without_letters_finds_nothing() -> None:
    assert (
        Phrases(["", "\u200b"]).found_in(Folded.of("anything \u200b"), most=5).first_of(["", folded("\u200b")]) is None
    )


def test_pack_holds_for_its_tools_only() -> None:
    everywhere, replies = Pack("a", 1, banned=(NO_PROMISE,)), Pack("b", 1, frozenset({"reply"}), (NO_PROMISE,))
    assert [finding.pack for finding in found("we guarantee", everywhere, replies)] == ["a", "b"]
    assert [finding.pack for finding in found("we guarantee", everywhere, replies, tool="mail")] == ["a"]


def test_banned_phrase_may_ask_instead_in_a_queue_of_its_own() -> None:
    asking = Banned("offer", ("special offer",), "Sales looks first.", Effect.ASK, "sales")
    (finding,) = found("A special offer!", Pack("p", 1, banned=(asking,)))
    rule = finding.as_rule
    assert (rule.id, rule.effect, rule.queue) == ("pack.p.offer", Effect.ASK, "sales")
    assert rule.fires({})
    assert review_facts([finding]) == {"forbid": False, "ask": True, "findings": [finding.as_json]}
    assert review_facts([]) == {"forbid": False, "ask": False, "findings": []}


SENTENCE = "Returns take up to 10 days."


def test_disclaimer_that_is_always_needed_is_missing_at_the_end() -> None:
    pack = Pack("p", 1, disclaimers=(Disclaimer("returns", (), "Say how long it takes.", SENTENCE),))
    (finding,) = found("Hello.", pack)
    assert (finding.start, finding.end, finding.effect) == (6, 6, Effect.FORBID)
    assert finding.words == (
        f'Say how long it takes. The text has to hold: "{SENTENCE}" Missing in body, at character 7.'
    )
    assert found("Hello. returns  TAKE up to\n10 days. Bye.", pack) == ()
    assert len(found("Hello. Returns take up to 10 daystime.", pack)) == 1


def test_disclaimer_is_needed_when_the_text_speaks_of_it() -> None:
    pack = Pack("p", 1, disclaimers=(Disclaimer("returns", ("send it back", "return"), "Say.", SENTENCE),))
    assert found("Hello.", pack) == ()
    assert len(found("You may return it.", pack)) == 1
    assert found(f"You may return it. {SENTENCE}", pack) == ()


@pytest.mark.parametrize(("risk", "needed"), [(40, False), (41, True), (100, True), (None, True), (0, False)])
def test_disclaimer_is_needed_above_a_risk(risk: int | None, needed: bool) -> None:
    pack = Pack("p", 1, disclaimers=(Disclaimer("d", (), "Say.", SENTENCE, above_risk=40),))
    assert bool(found("Hello.", pack, risk=risk)) is needed


def test_review_asks_once_at_the_first_place_in_its_queue() -> None:
    pack = Pack("p", 1, reviews=(Review("personal", ("you should buy", "we recommend"), "Read first.", "advice"),))
    text = "We recommend it, you should buy it, we recommend it."
    (finding,) = found(text, pack)
    assert (finding.start, finding.end) == (0, len("We recommend"))
    assert (finding.effect, finding.queue) == (Effect.ASK, "advice")
    assert found("Nothing here.", pack) == ()


TEMPLATES = Pack(
    *("p", 1),
    templates=(Template("thanks", "Hello {},\n\nthank you for {}. Yours, Larkspur"), Template("short", "It is done.")),
    template_queue="texts",
)


@pytest.mark.parametrize(
    "text",
    [
        "Hello Dana,\n\nthank you for your letter. Yours, Larkspur",
        "  HELLO Dana, thank you for it. Yours,\nLarkspur ",
        f"Hello {'x' * (MOST_HOLE - 2)}, thank you for it. Yours, Larkspur",
        "It is  done.",
    ],
)
def test_text_that_follows_a_template_needs_nobody(text: str) -> None:
    assert found(text, TEMPLATES) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello Dana",
        "Hello Dana, thank you for it. Yours, Larkspur and more",
        "Well. Hello Dana, thank you for it. Yours, Larkspur",
        f"Hello {'x' * (MOST_HOLE + 9)}, thank you for it. Yours, Larkspur",
        f"Hello Dana, thank you for {'x' * (MOST_HOLE + 9)}. Yours, Larkspur",
        "Hello Dana, thanks for it. Yours, Larkspur",
        "It is done. Or not.",
        "hello,yours, larkspur",
    ],
)
def test_any_other_text_is_read_in_the_queue_of_the_templates(text: str) -> None:
    (finding,) = found(text, TEMPLATES)
    assert (finding.rule, finding.effect, finding.queue) == ("template", Effect.ASK, "texts")
    assert (finding.start, finding.end) == (0, len(text))


def test_parts_of_a_template_never_overlap() -> None:
    assert Template("t", "one two{}two three").is_followed_by("one two three") is False
    assert Template("t", "a {} b {} c").is_followed_by("a b c") is True
    assert Template("t", "a {} b {} c").is_followed_by("a c b") is False


def test_what_forbids_comes_first_and_the_rest_in_order() -> None:
    pack = Pack("p", 1, banned=(Banned("no", ("never",), "No."),), reviews=(Review("look", ("maybe",), "Look."),))
    first = Pack("q", 1, reviews=(Review("see", ("maybe",), "See."),))
    assert [each.rule for each in found("maybe never never", first, pack)] == ["no", "no", "see", "look"]


def test_findings_are_bounded_and_keep_one_that_asks() -> None:
    pack = Pack("p", 1, banned=(Banned("no", ("never",), "No."),), reviews=(Review("look", ("maybe",), "Look.", "q"),))
    both = found("never " * 50 + "maybe", pack, pack)
    assert len(both) == MOST_FINDINGS
    assert [each.rule for each in both] == ["no"] * (MOST_FINDINGS - 1) + ["look"]
    asks = tuple(Review(f"r{n}", ("maybe",), "Look.") for n in range(MOST_FINDINGS + 5))
    plain = found("maybe", Pack("p", 1, reviews=asks))
    assert [each.rule for each in plain] == [f"r{n}" for n in range(MOST_FINDINGS)]
    queued = found("maybe", Pack("p", 1, reviews=(*asks, Review("last", ("maybe",), "Look.", "legal"))))
    assert [each.rule for each in queued] == [*(f"r{n}" for n in range(MOST_FINDINGS - 1)), "last"]


def hostile_packs() -> dict[str, tuple[str, Pack]]:
    def pack(phrase: "list[str]") -> Pack:
        rules = tuple(Banned(f"r{n}", tuple(phrase[n * 100 : n * 100 + 100]), "No.") for n in range(200))
        return Pack("p", 1, banned=rules)

    return {
        "nothing fits": ("The lamp arrived broken. " * 400, pack([f"some phrase number {n}" for n in range(20_000)])),
        "all begin alike": ("we " * 3_333, pack([f"we we we {n}" for n in range(20_000)])),
        "nearly everything fits": ("a " * 5_000, pack(["a " * (n % 99) + f"b{n}" for n in range(20_000)])),
        "one in another": ("a " * 5_000, pack([("a " * (n % 100 + 1)).strip() for n in range(20_000)])),
        "one long word": ("a" * 10_000, pack(["a" * (n % 190 + 1) + f" {n}" for n in range(20_000)])),
        "not Latin": ("\u0436\u0301\u200b " * 3_333, pack([f"\u0436 \u0436 {n}" for n in range(20_000)])),
    }


@pytest.mark.parametrize("name", hostile_packs())
def test_work_is_that_of_the_text_and_of_the_phrases_and_not_their_product(name: str) -> None:
    """Ten times the phrases add a few lines for each of them, however long the text. Work inside ``re`` is not seen."""
    text, pack = hostile_packs()[name]
    few = replace(pack, banned=pack.banned[: len(pack.banned) // 10])
    added = sum(len(rule.phrases) for rule in pack.banned[len(few.banned) :])
    for each in (pack, few):
        found("", each)  # a version's index is made once
    least, most = (lines_of(lambda each=each: found(text[:10_000], each)) for each in (few, pack))
    assert most - least <= 10 * added
    assert most <= 12 * lines_of(lambda: found(text[:1_000], pack))
