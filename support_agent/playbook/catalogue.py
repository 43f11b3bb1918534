"""Finding the things that words mean (pure): product names, lines of an order, variants by their options."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentops.registry.offline.looking import Unclear


@dataclass(frozen=True)
class Variant:
    """One buyable form of a product."""

    item_id: str
    options: Mapping[str, str]
    price_minor: int
    available: bool


@dataclass(frozen=True)
class Mention:
    """A place in a text that means one of ``names`` (more than one: it cannot be told which)."""

    start: int
    end: int
    names: tuple[str, ...]


_COMMON = """
smart wireless digital electric indoor portable mechanical led set large small mini pro light new action
office patio water running wall desk tea makeup garden bluetooth gaming cycling hiking yoga pet security air
jigsaw linen cotton wool oak cast iron enamel ceramic waxed canvas merino stoneware brass folding
"""
_ADJECTIVES = frozenset(_COMMON.split())


def _flexible(words: Sequence[str]) -> str:
    """Return a pattern for a name that allows hyphens, missing blanks and a plural."""
    last = words[-1]
    stem = re.escape(last[:-1]) if last.endswith("s") and not last.endswith("ss") else re.escape(last)
    plural = r"(?:es|s)?"
    if stem.endswith(("f", "y")):
        plural = r"(?:es|s|ves|ies)?"
    return r"[\s-]?".join([*map(re.escape, words[:-1]), stem]) + plural


def _patterns(name: str) -> list[str]:
    """Return patterns for a name, the most telling first: whole, its last words, its telling words."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    found = [_flexible(words[start:]) for start in range(len(words))]
    found += [_flexible([word]) for word in words[:-1] if len(word) > 3 and word not in _ADJECTIVES]
    return found


def mentions(text: str, names: Iterable[str]) -> tuple[Mention, ...]:
    """Return where ``text`` means which of ``names``, left to right, longest match first at a place."""
    found: dict[tuple[int, int], list[str]] = {}
    for name in dict.fromkeys(names):
        for pattern in _patterns(name):
            for match in re.finditer(rf"(?<![\w'])(?:{pattern})(?![\w])", text, re.IGNORECASE):
                at = found.setdefault((match.start(), match.end()), [])
                if name not in at:
                    at.append(name)
    kept: list[Mention] = []
    for (start, end), named in sorted(found.items(), key=lambda item: (item[0][0], -item[0][1])):
        if not kept or start >= kept[-1].end:
            kept.append(Mention(start, end, tuple(named)))
    return tuple(kept)


def named_in(text: str, names: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Return the names that ``text`` means, each once, and whether every mention was clear."""
    every = mentions(text, names)
    clear = [mention.names[0] for mention in every if len(mention.names) == 1]
    unclear = [mention for mention in every if len(mention.names) > 1 and not set(mention.names) & set(clear)]
    return tuple(dict.fromkeys(clear)), not unclear


_CHEAPEST = re.compile(r"\b(?:cheapest|least expensive|lowest[- ]priced?)\b", re.IGNORECASE)
_DEAREST = re.compile(r"\b(?:most expensive|priciest|dearest|highest[- ]priced?)\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:bigg?er|larger|smaller|longer|shorter|lighter|heavier|higher|lower|less|more|max(?:imum|imized"
    r"|imised)?|minimum|biggest|"
    r"largest|smallest|highest|lowest|easiest|hardest|best|better|closest|similar|near(?:est)?|prefer|or above"
    r"|or more|at least|most)\b",
    re.IGNORECASE,
)
_AS_BEFORE = re.compile(
    r"\{\s*\}|\b(?:exact(?:ly)? (?:the )?same|same (?:item|one|product|thing|specs|model)|identical|another one"
    r"|replacement|new one|new pair)\b",
    re.IGNORECASE,
)
_PAIR = re.compile(r"['\"]([\w/ -]{1,40})['\"]\s*:\s*['\"]([^'\"]{1,80})['\"]")
_TURN = re.compile(r"\b(?:to|for|into|with|be|in)\b", re.IGNORECASE)
_NOT_THAT = re.compile(
    r"\b(?:instead of|rather than|not|from|currently|no longer)\s+(?:the |a |an |in |my )?", re.IGNORECASE
)


def options_said(text: str, variants: Iterable[Variant]) -> dict[str, list[str]]:
    """Return option name to the values of it that ``text`` says, in the order of the text."""
    values: dict[str, dict[str, None]] = {}
    for variant in variants:
        for name, value in variant.options.items():
            values.setdefault(name, {})[value] = None
    pairs = dict(_PAIR.findall(text))
    if pairs:
        return {name: [pairs[name]] for name in values if name in pairs}
    said: dict[str, list[tuple[int, str]]] = {}
    for name, known in values.items():
        for value in known:
            match = _value_in(text, name, value)
            if match is not None:
                said.setdefault(name, []).append((match.start(), value))
    return {name: [value for _, value in sorted(found)] for name, found in said.items()}


def _value_in(text: str, name: str, value: str) -> re.Match[str] | None:
    """Find a value as whole words; yes/no and bare numbers count beside the option's name only."""
    words = re.findall(r"[A-Za-z0-9.%+]+", value)
    spelled = r"[\s-]*".join(map(re.escape, words))
    noun = r"[\s-]*".join(map(re.escape, re.findall(r"\w+", name)))
    if value.lower() in ("yes", "no", "none") or (value.isdigit() and len(value) < 3) or len(value) == 1:
        after = rf"\b{noun}\W{{0,3}}(?:is |of |to )?{spelled}(?![\w.])"
        before = rf"(?<![\w.$#])(?-i:{spelled})\s+{noun}\b"
        pattern = rf"{after}|{before}|\bsize\s+(?-i:{spelled})(?![\w.])"
    else:
        pattern = rf"(?<![\w.$#]){spelled}(?![\w%])"
    return re.search(pattern, text, re.IGNORECASE)


def target_of(text: str, current: Mapping[str, str], variants: Sequence[Variant], item_id: str) -> Variant:
    """Return the one available variant that ``text`` asks for in place of ``current``.

    Raises Unclear when nothing, several or something unavailable is asked for.
    """
    named = [variant for variant in variants if re.search(rf"\b{re.escape(variant.item_id)}\b", text)]
    named = [variant for variant in named if variant.item_id != item_id] or named
    if len(named) == 1:
        return _available(named[0])
    wanted_part = _wanted_part(text)
    wished = _wished(wanted_part, current, variants)
    if _CHEAPEST.search(text) or _DEAREST.search(text):
        return _by_price(wished, variants, item_id, cheapest=_CHEAPEST.search(text) is not None)
    if not wished and not _AS_BEFORE.search(text):
        raise Unclear("the text does not say which variant is wanted")
    if (
        not _PAIR.search(wanted_part)
        and _COMPARED.search(_without_unimportant(wanted_part))
        and not _AS_BEFORE.search(text)
    ):
        raise Unclear("the text compares instead of naming a variant")
    options = {**current, **wished}
    exact = [variant for variant in variants if dict(variant.options) == options]
    if not exact:
        raise Unclear("there is no such variant")
    return _available(exact[0])


def _wanted_part(text: str) -> str:
    """Return what stands after the turn from old to new; of "{...} to {...}" the second half."""
    braces = re.search(r"\{[^{}]*\}\s*(?:to|for|->|into)\s*(\{[^{}]*\})", text)
    return braces.group(1) if braces else text


def _without_unimportant(text: str) -> str:
    return re.sub(
        r"\b(?:no more|once more|more than|any ?more|at (?:the )?most|as soon as|best (?:regards|wishes))\b",
        " ",
        text,
        flags=re.I,
    )


def _wished(text: str, current: Mapping[str, str], variants: Sequence[Variant]) -> dict[str, str]:
    """Return the options to change. A value that is current or is named as unwanted is not wished for."""
    unwanted = " ".join(re.findall(rf"(?:{_NOT_THAT.pattern})((?:[\w.%+-]+\s?){{1,3}})", text, flags=re.IGNORECASE))
    said = options_said(text, variants)
    wished: dict[str, str] = {}
    for name, values in said.items():
        new = [value for value in values if value != current.get(name)]
        new = [value for value in new if len(new) == 1 or not re.search(rf"\b{re.escape(value)}\b", unwanted, re.I)]
        if len(new) > 1:
            raise Unclear(f"several values are named for {name}")
        if new:
            wished[name] = new[0]
    _require_one_meaning(text, wished)
    return wished


def _require_one_meaning(text: str, wished: Mapping[str, str]) -> None:
    """The same word wished for two options ("black": frame or lens?) counts only beside the option's name."""
    for value in set(wished.values()):
        sharing = [name for name in wished if wished[name] == value]
        if len(sharing) > 1 and not all(
            re.search(rf"\b{re.escape(name.split()[0])}\b", text, re.I) for name in sharing
        ):
            raise Unclear(f"{value} can be meant for {' or '.join(sharing)}")


def _by_price(wished: Mapping[str, str], variants: Sequence[Variant], item_id: str, *, cheapest: bool) -> Variant:
    fitting = [
        variant
        for variant in variants
        if variant.available and all(variant.options.get(name) == value for name, value in wished.items())
    ]
    if not fitting:
        raise Unclear("no available variant fits")
    best = (min if cheapest else max)(fitting, key=lambda variant: variant.price_minor)
    if sum(variant.price_minor == best.price_minor for variant in fitting) > 1:
        raise Unclear("several variants have that price")
    if best.item_id == item_id:
        raise Unclear("it is that variant already")
    return best


def _available(variant: Variant) -> Variant:
    if not variant.available:
        raise Unclear("the wanted variant is not available now")
    return variant
