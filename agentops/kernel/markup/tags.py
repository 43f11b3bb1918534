"""HTML from anybody, read once from front to back and written again in a small plain form (pure).

What a page's parser would hide or stumble over is gone then: comments, scripts, style sheets, broken tags, thousands
of attributes, endless nesting. The plain form has few tags and few attributes, whatever came in. Reading never goes
back, so its work is bounded by the length, and ends early at ``MOST_TAGS`` tags.
"""

import re
from dataclasses import dataclass, field

MOST_TAGS = 4_000
MOST_ATTRIBUTES = 20_000
MOST_DEPTH = 100
MOST_VALUE = 2_000


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCKS = _words("""
    address article aside blockquote body caption center colgroup dd details dialog dir div dl dt fieldset figcaption
    figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol p pre section summary table tbody td
    tfoot th thead tr ul
""")
_INLINE = _words("""
    a abbr acronym applet area b base basefont bdi bdo big blink br button cite code col data del dfn em embed font
    frame frameset head i img input ins kbd label link map mark marquee meta nobr optgroup option output param picture
    progress q rp rt ruby s samp select slot small source span strike strong sub sup textarea time track tt u var wbr
""")
_RAW = _words("script style xmp iframe noembed noframes plaintext")
_GONE = _words("noscript template title svg math object audio video canvas datalist")
_KNOWN = _BLOCKS | _INLINE | _RAW | _GONE
_VOID = _words("area base basefont br col embed frame hr img input link meta param source track wbr")
_SILENT = _VOID - {"br", "hr", "img"}
_CELLS, _GROUPS = frozenset(("td", "th")), frozenset(("thead", "tbody", "tfoot"))
_TERMS, _TABLE = frozenset(("dt", "dd")), frozenset(("table",))
# What an element ends whose end was left out, and what it does not look beyond.
_ENDS = {
    "li": (frozenset(("li",)), frozenset(("ul", "ol", "menu", "dir", "table"))),
    "tr": (frozenset(("tr",)), _TABLE),
    "option": (frozenset(("option",)), frozenset(("select",))),
    **dict.fromkeys(_CELLS, (_CELLS, frozenset(("tr", "table")))),
    **dict.fromkeys(_GROUPS, (_GROUPS, _TABLE)),
    **dict.fromkeys(_TERMS, (_TERMS, frozenset(("dl", "table")))),
}
_ENDS_OF_P = (frozenset(("p",)), frozenset(("td", "th", "table", "caption", "button")))
_LISTS = _words("ul ol li")
_KEPT = _words("style class id hidden aria-hidden href src alt title width height bgcolor color text open")

_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:_-]*)(?=[\s/>])")
_ATTRIBUTE = re.compile(r"[\s/]*([^\s/>=]+|=[^\s/>=]*)\s*(=?)\s*")
_BARE = re.compile(r"[^\s>]*")
_TAG_END = re.compile(r"[\s/]*>")
_COMMENT_END = re.compile(r"--!?>")
_CERTAIN = _RAW | _GONE | _words("br hr img html head body meta link")
_TELLING = _words("style hidden aria-hidden class id")


@dataclass
class Page:
    """What was read. ``html`` is the plain form, ``sheet`` all style sheets, ``plain`` the text without comments.

    ``is_html`` is False when there is nothing but what somebody may type who compares ``a<b``; ``blocks`` is True when
    there are tags that make paragraphs. ``removed`` counts comments, scripts and the like, ``cut`` the characters
    that were not read.
    """

    parts: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    sheets: list[str] = field(default_factory=list)
    is_html: bool = False
    blocks: bool = False
    removed: int = 0
    cut: int = 0

    @property
    def html(self) -> str:
        """The page in plain form; without blocks its lines are kept."""
        inner = "".join(self.parts)
        return f"<div>{inner}</div>" if self.blocks else f"<pre>{inner}</pre>"

    @property
    def sheet(self) -> str:
        """The style sheets."""
        return "\n".join(self.sheets)


def read(text: str) -> Page:
    """Return what ``text`` holds as HTML; a ``<`` that begins no tag is text."""
    reader = _Reader(text)
    reader.run()
    return reader.page


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.page = Page()
        self.marks = 0  # tags, comments and whatever else began with a <
        self.attributes = 0
        self.open = list[str]()
        self.beyond = 0  # elements that are open beyond MOST_DEPTH
        self.too_deep = False
        self.first_cell = True
        self.last_end = text.rfind(">")

    def run(self) -> None:
        place = 0
        while place < len(self.text):
            start = self.text.find("<", place)
            if start < 0 or (start > self.last_end and not self.text.startswith("<!--", start)):
                self._write(self.text[place:])
                return
            self._write(self.text[place:start])
            if self.marks >= MOST_TAGS:
                self.page.cut = len(self.text) - start
                self.page.plain.append(self.text[start:])
                return
            self.marks += 1
            place = self._markup(start)

    def _write(self, text: str) -> None:
        self.page.plain.append(text)
        if not self.beyond:
            self.page.parts.append(text.replace("<", "&lt;").replace(">", "&gt;"))
        elif not self.too_deep and text.strip():
            self.too_deep = True
            self.page.removed += 1

    def _markup(self, start: int) -> int:
        """Read what begins at a ``<``, and return where the text goes on."""
        if self.text.startswith("<!--", start):
            match = _COMMENT_END.search(self.text, start + 2)
            return self._skipped(match.end() if match else len(self.text))
        if self.text.startswith(("<!", "<?"), start) or (
            self.text.startswith("</", start) and not self.text[start + 2 : start + 3].isalnum()
        ):
            end = self.text.find(">", start) + 1
            self.page.removed += not self.text[start : start + 9].lower().startswith("<!doctype")
            return end
        match = _NAME.match(self.text, start)
        if match is None or not self._is_tag(match):
            self._write("<")
            return start + 1
        return self._tag(match)

    def _skipped(self, end: int) -> int:
        self.page.removed += 1
        return end

    def _is_tag(self, match: re.Match[str]) -> bool:
        """Known elements, those of one's own making, and any that something could be hidden with."""
        name = match.group(1).lower()
        if name in _KNOWN or "-" in name or ":" in name:
            return True
        if self.text[match.start() + 1] == "/":
            return name in self.open
        attribute = _ATTRIBUTE.match(self.text, match.end())
        return attribute is not None and attribute.group(1).lower() in _TELLING

    def _tag(self, match: re.Match[str]) -> int:
        name, closes = match.group(1).lower(), self.text[match.start() + 1] == "/"
        attributes, place = self._attributes(match.end())
        if place < 0:  # a quote that is never closed takes the rest with it
            return self._skipped(len(self.text))
        self.page.plain.append(self.text[match.start() : place])
        self.page.blocks |= name in _BLOCKS
        self.page.is_html |= closes or bool(attributes) or name in _CERTAIN
        if name in _RAW and not closes:
            return self._raw(name, place)
        if closes:
            self._close(name)
        else:
            self._open(name, attributes)
        return place

    def _attributes(self, place: int) -> tuple[dict[str, str], int]:
        """Return those of a tag that matter, the first of each, and where it ends; -1 when it never does."""
        found: dict[str, str] = {}
        while True:
            end = _TAG_END.match(self.text, place)
            if end is not None:
                return found, end.end()
            match = _ATTRIBUTE.match(self.text, place)
            if match is None:
                return found, -1
            self.attributes += 1
            if self.attributes > MOST_ATTRIBUTES:
                return {"hidden": ""}, self.text.find(">", place) + 1 or -1
            name, place, value = match.group(1).lower(), match.end(), ""
            if match.group(2):
                quote = self.text[place : place + 1]
                if quote in ('"', "'"):
                    close = self.text.find(quote, place + 1)
                    if close < 0:
                        return found, -1
                    value, place = self.text[place + 1 : close], close + 1
                else:
                    bare = _BARE.match(self.text, place)
                    value, place = (bare.group(), bare.end()) if bare else ("", place)
            if name in _KEPT and name not in found:
                found[name] = value

    def _raw(self, name: str, place: int) -> int:
        """Pass over what is no text for a reader: scripts, style sheets, frames."""
        match = re.compile(rf"</{name}(?=[\s/>])[^>]*>", re.IGNORECASE).search(self.text, place)
        end, after = (match.start(), match.end()) if match else (len(self.text), len(self.text))
        if name == "style":
            self.page.sheets.append(self.text[place:end])
        elif self.text[place:end].strip():
            self.page.removed += 1
        return after

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        if name in _SILENT or name == "head":
            return
        self._end_what_is_left_open(name)
        if self.beyond or len(self.open) >= MOST_DEPTH:
            self.beyond += name not in _VOID
            return
        if any(len(value) > MOST_VALUE for key, value in attributes.items() if key in _TELLING):
            attributes = {"hidden": ""}
        if name in _GONE or (name == "dialog" and "open" not in attributes):
            attributes["hidden"] = ""
        if name in _CELLS:
            self.page.parts.append("" if self.first_cell else " | ")
        self.first_cell = name in ("tr", "table") or (self.first_cell and name not in _CELLS)
        kept = "".join(f' {key}="{_quoted(value)}"' for key, value in attributes.items())
        self.page.parts.append(f'<{_plain_name(name)} data-was="{name}"{kept}>')
        if name not in _VOID:
            self.open.append(name)

    def _end_what_is_left_open(self, name: str) -> None:
        ends, beyond = _ENDS.get(name, _ENDS_OF_P if name in _BLOCKS else (frozenset[str](), frozenset[str]()))
        if not ends or self.beyond:
            return
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place] in ends:
                self._end_until(place)
                return
            if self.open[place] in beyond:
                return

    def _close(self, name: str) -> None:
        if name in _VOID or name in ("html", "body", "head"):
            return
        if self.beyond:
            self.beyond -= 1
            return
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place] == name:
                self._end_until(place)
                return

    def _end_until(self, place: int) -> None:
        while len(self.open) > place:
            self.page.parts.append(f"</{_plain_name(self.open.pop())}>")


def _quoted(value: str) -> str:
    return value[:MOST_VALUE].replace('"', "&quot;").replace("<", "&lt;")


def _plain_name(name: str) -> str:
    """Return the element that stands for ``name`` in the plain form: tables become lines, and nothing is special."""
    if name in ("br", "hr", "img", "a", "p", "pre", "blockquote", *_LISTS):
        return name
    if name in ("td", "th"):
        return "span"
    return "div" if name in _BLOCKS else "span"
