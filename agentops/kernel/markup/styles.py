"""Which text a style sheet hides from a reader (pure). Reads as much of CSS as mail and pages use to hide things.

Selectors are read by their last part, so a rule for some of the elements counts for all of that kind: rather too
much is hidden than too little, and what is hidden is counted. Rules for other screens than a wide one do not count.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

Colour = tuple[int, int, int]
Declarations = dict[str, str]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.DOTALL)
_PART = re.compile(r"([{};])")
_LAST = re.compile(r"(?:^|[\s>+~])(\*|[a-z][a-z0-9-]*)?((?:[.#][\w-]+)*)\s*\Z")
_WIDTH = re.compile(r"(min|max)-(?:device-)?width\s*:\s*(\d{1,5})")
_SCREEN = 1024
_MOST_VALUE = 200

_NUMBER = re.compile(r"(-?\d{0,9}\.?\d{1,9})\s*(px|pt|em|rem|ex|ch|vw|vh|%|cm|mm|in|pc)?")
_TO_PX = {"px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "cm": 37.8, "mm": 3.8, "in": 96.0}
_RELATIVE = ("em", "ex", "ch", "%")
_OFF_SCREEN = -250.0
_SMALLEST = 2.0
_OFFSETS = ("left", "top", "right", "bottom", "text-indent", "margin", "margin-left", "margin-top", "margin-right")
_ZERO_CLIP = re.compile(
    r"rect\(\s*(?:[01](?:px)?[\s,]*){4}\)|inset\(\s*(?:50|[5-9]\d|100)%|circle\(\s*0|polygon\(\s*0\s*0\s*\)"
)
_SHRUNK = re.compile(r"scale[xy]?\(\s*0(?:\.0\d*)?\s*[,)]|translate[xy]?\([^)]{0,60}-\d{3,}")

_NAMED_COLOURS: Mapping[str, Colour] = {
    "white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "navy": (0, 0, 128), "green": (0, 128, 0), "maroon": (128, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
}  # fmt: skip
_HEX = re.compile(r"#?([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\Z")
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})\s*[, ]\s*(\d{1,3})\s*[, ]\s*(\d{1,3})\s*(?:[,/]\s*(\d*\.?\d+)(%?)\s*)?\)")
_NEAR = 12
_INVISIBLE = "transparent"


@dataclass(frozen=True)
class Look:
    """What text looks like at a place, as far as it is inherited. A colour that is not plain is None."""

    colour: Colour | None = (0, 0, 0)
    background: Colour | None = (255, 255, 255)
    transparent: bool = False
    tiny: bool = False
    invisible: bool = False

    @property
    def hides(self) -> bool:
        """True when a reader does not see text that looks like this."""
        return self.tiny or self.invisible or self.transparent or self._like_its_background

    @property
    def _like_its_background(self) -> bool:
        if self.colour is None or self.background is None:
            return False
        return all(abs(one - other) <= _NEAR for one, other in zip(self.colour, self.background, strict=True))


def declarations(style: str) -> Declarations:
    """Return the properties of a ``style`` attribute in lower case, the last of each; those marked important win."""
    text = _ESCAPE.sub(_unescaped, _COMMENT.sub(" ", style.lower()))
    found: Declarations = {}
    urgent: Declarations = {}
    for part in text.split(";"):
        name, _, value = part.partition(":")
        value, mark, _ = value.partition("!")
        (urgent if mark else found)[name.strip()] = value.strip()[:_MOST_VALUE]
    return {**found, **urgent}


def _unescaped(match: re.Match[str]) -> str:
    code, letter = match.groups()
    if code is None:
        return str(letter)
    return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else ""


def rules(sheet: str) -> dict[str, Declarations]:
    """Return what a style sheet says, by the last part of each selector: ``p``, ``.note``, ``p.note``, ``#top``."""
    found: dict[str, Declarations] = {}
    held: list[bool] = []  # for each block that is open: do its rules count?
    selector, body = "", list[str]()
    pieces = _PART.split(_COMMENT.sub(" ", sheet))
    for text, end in zip(pieces[::2], pieces[1::2], strict=False):
        if end == "{":
            head = text.strip().lower()
            if head.startswith("@"):
                held.append(_counts(head))
                continue
            selector, body = head, []
            held.append(True)
        elif end == ";":
            body.append(text)
        elif held:
            if selector and all(held):
                said = declarations(";".join([*body, text]))
                for key in _keys(selector):
                    found.setdefault(key, {}).update(said)
            selector, body = "", []
            held.pop()
    return found


def _counts(head: str) -> bool:
    """Return whether rules inside ``@media …`` count on a wide screen."""
    if not head.startswith("@media"):
        return not head.startswith(("@font-face", "@keyframes", "@page", "@-"))
    if "print" in head and "screen" not in head:
        return False
    return all(
        int(width) <= _SCREEN if bound == "min" else int(width) >= _SCREEN for bound, width in _WIDTH.findall(head)
    )


def _keys(selector: str) -> Iterator[str]:
    for one in selector.split(","):
        match = _LAST.search(one[-200:])
        if match is None:
            continue
        tag, names = match.group(1) or "", re.findall(r"[.#][\w-]+", match.group(2))
        if names:
            yield f"{tag.strip('*')}{names[-1]}" if len(names) == 1 else names[-1]
        elif tag:
            yield tag


def said_about(tag: str, attributes: Mapping[str, str], sheet: Mapping[str, Declarations]) -> Declarations:
    """Return what sheet, old attributes and the element's own style say about an element; the last one wins."""
    said: Declarations = {}
    if sheet:
        classes = attributes.get("class", "").lower().split()
        keys = ["*", tag, *(f".{name}" for name in classes), *(f"{tag}.{name}" for name in classes)]
        name = attributes.get("id", "").lower().strip()
        for key in [*keys, f"#{name}", f"{tag}#{name}"]:
            said.update(sheet.get(key, {}))
    for attribute, meaning in (("bgcolor", "background-color"), ("color", "color"), ("text", "color")):
        if attribute in attributes:
            said.setdefault(meaning, attributes[attribute].lower().strip())
    if "style" in attributes:
        said.update(declarations(attributes["style"]))
    return said


def hides(said: Declarations) -> bool:
    """Return whether an element is hidden with everything in it."""
    if said.get("display") == "none" or said.get("mso-hide") == "all" or said.get("content-visibility") == "hidden":
        return True
    opacity = _number(said.get("opacity", ""))
    if opacity is not None and opacity < 0.1:
        return True
    if any(_ZERO_CLIP.search(said.get(name, "")) for name in ("clip", "clip-path")):
        return True
    if _SHRUNK.search(said.get("transform", "")):
        return True
    if any(size is not None and size <= _OFF_SCREEN for size in map(_length, _values(said, _OFFSETS))):
        return True
    boxed = any(
        name in said.get(prop, "") for prop in ("overflow", "overflow-y", "overflow-x") for name in ("hidden", "clip")
    )
    sizes = map(_length, _values(said, ("height", "max-height", "width", "max-width")))
    return boxed and any(size is not None and size <= 1 for size in sizes)


def look_of(said: Declarations, before: Look) -> Look:
    """Return what text inside an element looks like that stands in a place that looks like ``before``."""
    look = before
    if "visibility" in said:
        look = replace(look, invisible=said["visibility"] in ("hidden", "collapse"))
    size = said.get("font-size") or said.get("font", "")
    if size:
        look = replace(look, tiny=_is_tiny(size, before))
    colour = said.get("-webkit-text-fill-color") or said.get("color")
    if colour and colour not in ("inherit", "currentcolor", "unset"):
        seen = _colour(colour)
        look = replace(look, colour=seen if isinstance(seen, tuple) else None, transparent=seen == _INVISIBLE)
    if "background-image" in said and said["background-image"] != "none":
        return replace(look, background=None)
    background = said.get("background") or said.get("background-color")
    if background and background not in ("inherit", "none", "unset", "initial"):
        seen = _colour(background)
        if seen != _INVISIBLE:
            look = replace(look, background=seen if isinstance(seen, tuple) else None)
    return look


def _is_tiny(size: str, before: Look) -> bool:
    match = _NUMBER.search(size)
    if match is None:
        return before.tiny and size in ("inherit", "smaller", "larger", "unset")
    if match.group(2) in _RELATIVE and before.tiny:
        return True
    number = float(match.group(1))
    return number * (0.16 if match.group(2) == "%" else _TO_PX.get(match.group(2) or "px", 1.0)) < _SMALLEST


def _values(said: Declarations, names: Iterable[str]) -> Iterator[str]:
    return (value for name in names for value in said.get(name, "").split())


def _number(value: str) -> float | None:
    match = _NUMBER.match(value)
    if match is None:
        return None
    return float(match.group(1)) / (100 if match.group(2) == "%" else 1)


def _length(value: str) -> float | None:
    """Return a length in pixels, None for what is none or depends on the screen."""
    match = _NUMBER.fullmatch(value)
    if match is None:
        return None
    unit = match.group(2) or "px"
    number = float(match.group(1))
    if unit in ("vw", "vh", "%"):
        return number * 10 if number < 0 else (0.0 if number == 0 else None)
    return number * _TO_PX.get(unit, 16.0)


def _colour(value: str) -> Colour | str | None:
    """Return a plain colour, ``transparent``, or None for anything that is not plain."""
    if value == _INVISIBLE:
        return _INVISIBLE
    if value in _NAMED_COLOURS:
        return _NAMED_COLOURS[value]
    match = _HEX.match(value)
    if match is not None:
        digits = match.group(1)
        if len(digits) <= 4:
            digits = "".join(digit * 2 for digit in digits)
        red, green, blue, *alpha = bytes.fromhex(digits)
        return _INVISIBLE if alpha and alpha[0] < 26 else (red, green, blue)
    match = _RGB.fullmatch(value)
    if match is None:
        return None
    alpha_text, percent = match.group(4), match.group(5)
    if alpha_text is not None and float(alpha_text) / (100 if percent else 1) < 0.1:
        return _INVISIBLE
    return int(match.group(1)), int(match.group(2)), int(match.group(3))
