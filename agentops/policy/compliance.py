"""Compliance packs: what an outgoing text must not say, must say, and who has to read it first (pure).

A pack is a versioned document. Its findings name the exact place of the text, so that a person sees what is meant and a
planner can mend it. Phrases are words, compared without regard to case, width, accents, hidden characters and spacing
(``policy.phrases``); they are no patterns, so no document can make the comparison slow.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from agentops.policy.phrases import Folded, Found, Phrases, Range, folded
from agentops.policy.rules import Effect, Rule

MOST_RULES = 200
MOST_PHRASES = 100
MOST_PHRASE = 200
MOST_TEXT = 4_000
MOST_SENTENCE = 1_000
MOST_HOLE = 200
MOST_QUOTED = 80
MOST_FINDINGS = 20
"""Findings kept of one call. The first of the strongest effect is always among them."""

PREFIX = "pack."
"""What the ids of findings begin with in a verdict."""

OFF_TEMPLATE = "template"
"""The rule of a finding that a text follows no template."""


@dataclass(frozen=True)
class _Phrased:
    id: str
    phrases: tuple[str, ...]
    words: str

    @cached_property
    def wanted(self) -> tuple[str, ...]:
        """The phrases as they are compared."""
        return tuple(map(folded, self.phrases))


@dataclass(frozen=True)
class Banned(_Phrased):
    """Phrases that an outgoing text may not hold (``effect`` forbid), or not without a person (ask)."""

    effect: Effect = Effect.FORBID
    queue: str = ""


@dataclass(frozen=True)
class Disclaimer(_Phrased):
    """A sentence that a text has to hold when it speaks of one of the phrases; always, when there are none.

    ``above_risk``: only for calls whose risk is above this score.
    """

    text: str
    above_risk: int | None = None

    @cached_property
    def sentence(self) -> str:
        """The text as it is compared."""
        return folded(self.text)


@dataclass(frozen=True)
class Review(_Phrased):
    """A text that holds one of the phrases, such as a personal recommendation, is read by a person first."""

    queue: str = ""


@dataclass(frozen=True)
class Template:
    """A reviewed text. ``{}`` stands for at most MOST_HOLE characters. With templates, any other text asks a person."""

    id: str
    text: str

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """What stands around the holes, as it is compared."""
        return tuple(map(folded, self.text.split("{}")))

    def is_followed_by(self, text: str) -> bool:
        """Return whether a whole folded text is the template, with some words at each hole.

        Each part is taken where it first stands. A text that repeats a part inside a hole may so be refused, which
        asks a person.
        """
        first, last = self.parts[0], self.parts[-1]
        if len(self.parts) == 1:
            return text == first
        at, end = len(first), len(text) - len(last)
        if not (text.startswith(first) and text.endswith(last)):
            return False
        for part in self.parts[1:-1]:
            place = text.find(part, at, min(end, at + MOST_HOLE + len(part)))
            if place < 0:
                return False
            at = place + len(part)
        return 0 <= end - at <= MOST_HOLE


@dataclass(frozen=True)
class Pack:
    """One pack. ``tools`` limits it to these; empty: every tool that sends a text out."""

    name: str
    version: int
    tools: frozenset[str] = frozenset()
    banned: tuple[Banned, ...] = ()
    disclaimers: tuple[Disclaimer, ...] = ()
    reviews: tuple[Review, ...] = ()
    templates: tuple[Template, ...] = ()
    template_queue: str = ""

    @cached_property
    def phrases(self) -> Phrases:
        """Everything that is looked for in a text, as one index."""
        phrased = (*self.banned, *self.disclaimers, *self.reviews)
        sentences = (needed.text for needed in self.disclaimers)
        return Phrases((*(phrase for each in phrased for phrase in each.phrases), *sentences))


@dataclass(frozen=True)
class Finding:
    """What a pack says about one place of a text. ``start`` and ``end`` are characters of the text as it is sent."""

    pack: str
    version: int
    rule: str
    path: str
    start: int
    end: int
    words: str
    effect: Effect
    queue: str = ""

    @cached_property
    def as_json(self) -> list[Any]:
        """The finding as canonical JSON."""
        place = [self.path, self.start, self.end]
        return [self.pack, self.version, self.rule, *place, self.words, self.effect.value]

    @cached_property
    def as_rule(self) -> Rule:
        """The finding as a rule that fires for this call."""
        return Rule(f"{PREFIX}{self.pack}.{self.rule}", self.effect, self.words, queue=self.queue)


def findings_of(
    texts: Iterable[tuple[str, str]], packs: Iterable[Pack], *, tool: str, risk: int | None
) -> tuple[Finding, ...]:
    """Return what the packs say about the outgoing ``texts`` (path and text) of a call of ``tool``, forbidding first.

    A call without a risk score counts as one with the highest.
    """
    score = 100 if risk is None else risk
    concerned = [pack for pack in packs if not pack.tools or tool in pack.tools]
    findings = [
        finding
        for path, text in (texts if concerned else ())
        for as_compared in (Folded.of(text),)
        for pack in concerned
        for finding in _findings(pack, path, as_compared, score)
    ]
    findings.sort(key=lambda finding: finding.effect is not Effect.FORBID)
    return tuple(findings if len(findings) <= MOST_FINDINGS else _most_telling(findings))


def _most_telling(findings: list[Finding]) -> list[Finding]:
    """Keep the first ones, and among them one that asks: the first that names a queue, when one does."""
    asking = [finding for finding in findings if finding.effect is Effect.ASK]
    asked = next((finding for finding in asking if finding.queue), asking[0] if asking else None)
    kept = findings[:MOST_FINDINGS]
    return kept if asked is None or asked in kept else [*kept[:-1], asked]


def review_facts(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the facts under ``compliance``."""
    effects = {finding.effect for finding in findings}
    return {
        "forbid": Effect.FORBID in effects,
        "ask": Effect.ASK in effects,
        "findings": [finding.as_json for finding in findings],
    }


_Said = tuple[str, Range, str, Effect, str]
"""Rule, place, words, effect and queue."""


def _findings(pack: Pack, path: str, text: Folded, score: int) -> Iterator[Finding]:
    found = pack.phrases.found_in(text, most=MOST_FINDINGS)
    for rule, place, words, effect, queue in (
        *_banned(pack, found),
        *_missing(pack, found, len(text.text), score),
        *_to_review(pack, found),
        *_off_template(pack, text),
    ):
        where = f"in {path}, at character {place[0] + 1}"
        quoted = _quoted(text.text[place[0] : place[1]])
        said = f'{words} Found {where}: "{quoted}".' if quoted else f"{words} Missing {where}."
        yield Finding(pack.name, pack.version, rule, path, *place, said, effect, queue)


def _quoted(text: str) -> str:
    """Return the beginning of a text as it may stand in a sentence: hidden characters and line breaks spelled out."""
    letters = (letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in text[:MOST_QUOTED])
    return "".join(letters)


def _banned(pack: Pack, found: Found) -> Iterator[_Said]:
    for banned in pack.banned:
        for place in islice(found.places(banned.wanted), MOST_FINDINGS):
            yield banned.id, place, banned.words, banned.effect, banned.queue


def _missing(pack: Pack, found: Found, end: int, score: int) -> Iterator[_Said]:
    """What is missing is missing at the end of the text."""
    for needed in pack.disclaimers:
        if needed.above_risk is not None and score <= needed.above_risk:
            continue
        concerned = not needed.wanted or found.first_of(needed.wanted)
        if concerned and not found.first_of((needed.sentence,)):
            words = f'{needed.words} The text has to hold: "{needed.text}"'
            yield needed.id, (end, end), words, Effect.FORBID, ""


def _to_review(pack: Pack, found: Found) -> Iterator[_Said]:
    for review in pack.reviews:
        place = found.first_of(review.wanted)
        if place:
            yield review.id, place, review.words, Effect.ASK, review.queue


def _off_template(pack: Pack, text: Folded) -> Iterator[_Said]:
    if not pack.templates:
        return
    compared = text.folded.strip()
    if not any(template.is_followed_by(compared) for template in pack.templates):
        words = "This text follows none of the reviewed templates."
        yield OFF_TEMPLATE, (0, len(text.text)), words, Effect.ASK, pack.template_queue
