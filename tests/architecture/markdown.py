"""Reading the project's Markdown: pages, sections, tables and links."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_QUOTED_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/[\w.-]*)`")


def text_of(page: Path) -> str:
    """Return the page without its fenced code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def section(page: Path, title: str) -> str:
    """Return what stands below the heading of that title, up to the next one. Raises ValueError."""
    parts = _HEADING.split(text_of(page))
    for name, body in zip(parts[2::3], parts[3::3], strict=True):
        if name == title:
            return body
    raise ValueError(f"{page.name} has no section {title!r}")


def rows(text: str) -> list[list[str]]:
    """Return the cells of each table row whose first cell is one quoted name, that name without its quotes."""
    found = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line]
    return [[cells[0].strip("`"), *cells[1:]] for cells in found if re.fullmatch(r"`\w+`", cells[0])]


def links(page: Path) -> list[str]:
    """Return the targets of the page's links and images that are no addresses of other sites."""
    return [target for target in _LINK.findall(text_of(page)) if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the page's headings, as hosts of repositories make them."""
    return {_anchor(title) for _, title in _HEADING.findall(text_of(page))}


def _anchor(title: str) -> str:
    kept = (c for c in title.lower() if c in " -_" or unicodedata.category(c)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def quoted_paths(page: Path) -> Iterator[str]:
    """Yield the quoted names that look like a path below one of the project's folders; NAME in one is a placeholder."""
    for path in _QUOTED_PATH.findall(text_of(page)):
        if (ROOT / path.partition("/")[0]).is_dir() and "NAME" not in path:
            yield path
