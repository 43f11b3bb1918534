"""HTML from outside, as the text that a reader of it would see (pure).

What a style, an attribute or a comment hides is left out and counted. Links and pictures are told as text, so that
their addresses are seen and nothing fetches them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from inscriptis.css_profiles import CSS_PROFILES  # type: ignore[import-untyped]
from inscriptis.html_engine import Inscriptis  # type: ignore[import-untyped]
from inscriptis.model.config import ParserConfig  # type: ignore[import-untyped]
from lxml import etree, html  # type: ignore[import-untyped]

from agentops.kernel.markup import tags
from agentops.kernel.markup.links import link_told, picture_told
from agentops.kernel.markup.styles import Declarations, Look, hides, look_of, rules, said_about

MOST_CHARACTERS = 200_000
_MOST_ELEMENTS = 3_000
_MOST_KEPT = 128
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LAYOUT = ParserConfig(css=CSS_PROFILES["strict"])


@dataclass(frozen=True)
class Seen:
    """The text that a reader sees, how many hidden parts were removed, and how many characters were not read."""

    text: str
    removed: int = 0
    cut: int = 0


def seen(text: str) -> Seen:
    """Return what a reader of ``text`` sees; text without tags and comments is returned as it is.

    Of more than ``MOST_CHARACTERS`` only the beginning is read. Each step asks for the same pages, so the latest
    are kept.
    """
    return _seen(text) if "<" in text else Seen(text)


@lru_cache(maxsize=_MOST_KEPT)
def _seen(text: str) -> Seen:
    page = tags.read(text[:MOST_CHARACTERS])
    if not page.is_html:
        # Only what was read is changed: text that is no HTML is not shortened here.
        return Seen("".join([*page.plain, text[MOST_CHARACTERS:]]), page.removed)
    cut = page.cut + max(len(text) - MOST_CHARACTERS, 0)
    body = html.document_fromstring(f"<html><body>{page.html}</body></html>", parser=html.HTMLParser(no_network=True))[
        -1
    ]
    removed = page.removed + _take_out_hidden(body, rules(page.sheet))
    _tell_links(body)
    return Seen(_text_of(body), removed, cut)


def _take_out_hidden(body: html.HtmlElement, sheet: Mapping[str, Declarations]) -> int:
    """Remove what a reader does not see, and return how many parts that were."""
    removed = 0
    waiting: list[tuple[html.HtmlElement, Look]] = [(child, Look()) for child in body]
    gone: list[html.HtmlElement] = []
    while waiting:
        element, around = waiting.pop()
        look = around
        if sheet or len(element.attrib) > 1:
            said = said_about(element.get("data-was", ""), element.attrib, sheet)
            if _is_hidden(element, said):
                gone.append(element)
                continue
            look = look_of(said, around)
        if look.hides:
            removed += _silence(element)
        waiting += [(child, look) for child in element]
    for element in gone:
        removed += _says_something(element)
        element.clear(keep_tail=True)
        element.tag = "span"
    return removed


def _is_hidden(element: html.HtmlElement, said: Declarations) -> bool:
    attributes = element.attrib
    if "hidden" in attributes or attributes.get("aria-hidden", "").strip().lower() == "true":
        return True
    dot = element.tag == "img" and any(attributes.get(side, "").strip() in ("0", "1") for side in ("width", "height"))
    return dot or hides(said)


def _silence(element: html.HtmlElement) -> int:
    """Remove the text that stands in the element itself; what is inside of others may look otherwise."""
    own = [element.text, *(child.tail for child in element)]
    element.text = None
    for child in element:
        child.tail = None
    return int(any(text and text.strip() for text in own))


def _says_something(element: html.HtmlElement) -> bool:
    return (
        element.tag == "img" or any(text.strip() for text in element.itertext()) or element.find(".//img") is not None
    )


def _tell_links(body: html.HtmlElement) -> None:
    """Write where links lead, and what pictures say, into the text."""
    for element in list(body.iter("a", "img")):
        url, title = _writable(element.get("href", "")), _writable(element.get("title", ""))
        if element.tag == "img":
            told = picture_told(_writable(element.get("alt", "")), _writable(element.get("src", "")), title)
            element.tag = "span"
        else:
            told = link_told(element.text_content(), url, title)
        etree.SubElement(element, "span").text = told


def _writable(value: str) -> str:
    return _NOT_IN_XML.sub("", value)


def _text_of(body: html.HtmlElement) -> str:
    """Return the text with its paragraphs and lists; a page of very many elements is only put into lines."""
    etree.strip_attributes(body, "*")
    if sum(1 for _ in body.iter()) > _MOST_ELEMENTS:
        return "\n".join(filter(None, (text.strip() for text in body.itertext())))
    return str(Inscriptis(body, _LAYOUT).get_text()).strip("\n")
