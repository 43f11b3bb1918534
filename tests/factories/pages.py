"""A page as somebody reads it: what stands where, what is marked, and what in it could act."""

from collections.abc import Sequence

from django.test import Client
from lxml import html

_ACTING = ("img", "iframe", "object", "embed", "base", "style", "video", "audio", "link-in-body")


class Page:
    """The answer to one GET or POST, parsed."""

    def __init__(self, body: str) -> None:
        self.body = body
        self.document = html.document_fromstring(body)

    @property
    def main(self) -> html.HtmlElement:
        """The page without the frame around it."""
        return self.document.xpath("//main")[0]

    @property
    def text(self) -> str:
        """All words of the page, as one line."""
        return words(self.main)

    def section(self, heading: str) -> str:
        """The words of the section that a heading with this id names."""
        return words(self.document.xpath(f"//*[@aria-labelledby='{heading}']")[0])

    def by_id(self, name: str) -> str:
        """The words of one element."""
        return words(self.document.get_element_by_id(name))

    def all(self, path: str) -> Sequence[html.HtmlElement]:
        """The elements at an XPath."""
        found: Sequence[html.HtmlElement] = self.document.xpath(path)
        return found

    @property
    def glyphs(self) -> list[str]:
        """The names of concealed characters that are shown."""
        return [words(mark) for mark in self.all("//mark[contains(@class, 'glyph')]")]

    @property
    def acting(self) -> list[str]:
        """Everything that could act by itself: elements that fetch or run, and handlers."""
        found = [element.tag for element in self.main.iter() if element.tag in _ACTING]
        found += [f"script in main: {element.text}" for element in self.main.iter("script")]
        for element in self.main.iter():
            found += [name for name in element.attrib if name.startswith("on") or name == "style"]
            found += [name for name in ("href", "src", "action") if _is_scripted(element.attrib.get(name, ""))]
        return found

    def can_decide(self) -> bool:
        """Whether there is a form that decides."""
        return bool(self.all("//form[@id='decide']"))


def page_of(client: Client, url: str) -> Page:
    """Open a page."""
    response = client.get(url)
    assert response.status_code == 200, response.status_code
    return Page(response.content.decode())


def words(element: html.HtmlElement) -> str:
    """The words of an element, as one line."""
    return " ".join(" ".join(str(text) for text in element.itertext()).split())


def _is_scripted(address: str) -> bool:
    return address.strip().lower().startswith(("javascript:", "data:", "vbscript:"))
