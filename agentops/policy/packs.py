r"""Compliance packs as a document: its shape, what may be wrong with it, and the packs it compiles to (pure).

{"name": "advice", "version": 2, "tools": ["send_reply"],
"banned": [{"id": "guarantee", "phrases": ["we guarantee"], "words": "Nothing is guaranteed.", "effect": "forbid"}],
"disclaimers": [{"id": "returns", "phrases": ["return"], "text": "Returns take up to 10 days.", "words": "…"}],
"reviews": [{"id": "personal", "phrases": ["we recommend"], "words": "…", "queue": "orders"}],
"templates": [{"id": "thanks", "text": "Hello {},\n\nthank you."}], "template_queue": "orders"}
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from agentops.policy.compliance import (
    MOST_PHRASE,
    MOST_PHRASES,
    MOST_RULES,
    MOST_SENTENCE,
    MOST_TEXT,
    OFF_TEMPLATE,
    Banned,
    Disclaimer,
    Pack,
    Review,
    Template,
)
from agentops.policy.phrases import Folded, Phrases, folded
from agentops.policy.rules import Effect
from agentops.registry.flow import Sends
from agentops.registry.schemas import validator, violations
from agentops.registry.tool import ToolSpec

MOST_PACKS = 20
MOST_HOLES = 20
"""Holes of one template."""


def _text(most: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most}


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def _list(items: dict[str, Any], most: int, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


_ID = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,59}$", "maxLength": 60}
_WORDS = _text(300)
_PHRASES = _list(_text(MOST_PHRASE), MOST_PHRASES, 1)
_QUEUE = {"type": "string", "maxLength": 50}

SHAPE = _object(
    ("name", "version"),
    name=_ID,
    version={"type": "integer", "minimum": 1, "maximum": 1_000_000},
    tools=_list(_text(80), 50),
    banned=_list(
        _object(
            ("id", "phrases", "words"),
            id=_ID,
            phrases=_PHRASES,
            words=_WORDS,
            effect={"type": "string", "enum": ["forbid", "ask"]},
            queue=_QUEUE,
        ),
        MOST_RULES,
    ),
    disclaimers=_list(
        _object(
            ("id", "text", "words"),
            id=_ID,
            text=_text(MOST_SENTENCE),
            words=_WORDS,
            phrases=_list(_text(MOST_PHRASE), MOST_PHRASES),
            above_risk={"type": "integer", "minimum": 0, "maximum": 99},
        ),
        MOST_RULES,
    ),
    reviews=_list(
        _object(("id", "phrases", "words"), id=_ID, phrases=_PHRASES, words=_WORDS, queue=_QUEUE), MOST_RULES
    ),
    templates=_list(_object(("id", "text"), id=_ID, text=_text(MOST_TEXT)), MOST_RULES),
    template_queue=_QUEUE,
)
"""The JSON Schema of one pack."""

_CHECKER = validator(SHAPE)

PARTS = ("banned", "disclaimers", "reviews", "templates")
"""The lists of a pack's rules."""


def problems_of_packs(raw: Any, *, tools: Collection[ToolSpec], queues: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with a list of packs, in sentences that name the pack and the place."""
    if not isinstance(raw, list) or len(raw) > MOST_PACKS:
        yield f'"packs" must be a list of at most {MOST_PACKS} compliance packs.'
        return
    names = [pack.get("name") for pack in raw if isinstance(pack, dict)]
    for number, pack in enumerate(raw, start=1):
        wrong = violations(_CHECKER, pack)
        yield from (f"Pack {number}: {item.path or 'it'} {item.message}." for item in wrong)
        if wrong:
            continue
        name = pack["name"]
        if names.count(name) > 1:
            yield f'Pack {number} "{name}": another pack has the same name.'
        yield from (f'Pack {number} "{name}": {problem}' for problem in _problems(pack, tools, queues))


def _problems(pack: Mapping[str, Any], tools: Collection[ToolSpec], queues: Collection[str]) -> Iterator[str]:
    senders = {tool.name for tool in tools if tool.flow.sends is not Sends.NOWHERE}
    for tool in pack.get("tools", ()):
        if tool not in senders:
            yield f"{tool!a} is no tool that sends a text out."
    rules = [rule for part in PARTS for rule in pack.get(part, ())]
    if not rules:
        yield "it says nothing about any text."
    ids = [rule["id"] for rule in rules]
    for twice in sorted({each for each in ids if ids.count(each) > 1}):
        yield f"two rules have the id {twice!r}."
    for part in PARTS:
        for rule in pack.get(part, ()):
            yield from (f"{rule['id']!r} {problem}" for problem in _rule_problems(part, rule, queues))
    queue = pack.get("template_queue", "")
    if queue and queue not in queues:
        yield f"{queue!a}, for texts that follow no template, is no approval queue."
    elif queue and not pack.get("templates"):
        yield "it has a queue for texts that follow no template, and no templates."
    yield from (
        f"{template['id']!r} {problem}" for template in pack.get("templates", ()) for problem in _holes(template)
    )
    yield from _never(pack)


def _rule_problems(part: str, rule: Mapping[str, Any], queues: Collection[str]) -> Iterator[str]:
    if rule["id"] == OFF_TEMPLATE:
        yield "is the id of what follows no template; choose another."
    if any(not folded(phrase) for phrase in rule.get("phrases", ())) or not folded(rule.get("text", "-")):
        yield "has a phrase without anything that could be compared."
    words = rule.get("words", "-")
    if not words.strip() or not words.isprintable():
        yield "has words that cannot be read: they are one line, without hidden characters."
    queue = rule.get("queue", "")
    if queue and queue not in queues:
        yield f"names {queue!a}, which is no approval queue."
    elif queue and part == "banned" and rule.get("effect", "forbid") == "forbid":
        yield "forbids, which asks nobody, so it has no queue."


def _holes(template: Mapping[str, Any]) -> Iterator[str]:
    """A template of which little is fixed would let any text pass as reviewed."""
    parts = template["text"].split("{}")
    if len(parts) - 1 > MOST_HOLES:
        yield f"has more than {MOST_HOLES} holes."
    if not any(letter.isalnum() for part in parts for letter in folded(part)):
        yield "has no words around its holes."
    if any(not folded(part) for part in parts[1:-1]):
        yield "has holes with nothing between them."


def _never(pack: Mapping[str, Any]) -> Iterator[str]:
    """What the pack demands and forbids at once: no text could ever be sent."""
    forbidden = [rule for rule in pack.get("banned", ()) if rule.get("effect", "forbid") == "forbid"]
    index = Phrases(phrase for rule in forbidden for phrase in rule["phrases"])
    for needed in (*pack.get("disclaimers", ()), *pack.get("templates", ())):
        found = index.found_in(Folded.of(needed["text"]), most=1)
        for rule in forbidden:
            if found.first_of(map(folded, rule["phrases"])):
                yield f"{needed['id']!r} has a text that {rule['id']!r} forbids."


def compiled_packs(raw: Any) -> tuple[Pack, ...]:
    """Return the packs of a document that was accepted when it was saved. Raises ValueError for another shape."""
    if not isinstance(raw, list) or any(violations(_CHECKER, pack, most=1) for pack in raw):
        raise ValueError("a compliance pack cannot be read any more")
    return tuple(map(_compiled, raw))


def _compiled(raw: Mapping[str, Any]) -> Pack:
    def words(part: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(part.get("phrases", ()))

    return Pack(
        name=raw["name"],
        version=raw["version"],
        tools=frozenset(raw.get("tools", ())),
        banned=tuple(
            Banned(part["id"], words(part), part["words"], Effect(part.get("effect", "forbid")), part.get("queue", ""))
            for part in raw.get("banned", ())
        ),
        disclaimers=tuple(
            Disclaimer(part["id"], words(part), part["words"], part["text"], part.get("above_risk"))
            for part in raw.get("disclaimers", ())
        ),
        reviews=tuple(
            Review(part["id"], words(part), part["words"], part.get("queue", "")) for part in raw.get("reviews", ())
        ),
        templates=tuple(Template(part["id"], part["text"]) for part in raw.get("templates", ())),
        template_queue=raw.get("template_queue", ""),
    )
