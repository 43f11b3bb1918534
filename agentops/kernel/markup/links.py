"""Links and pictures of Markdown, as text that nothing follows (pure)."""

import re

MOST_ADDRESS = 300

_LINK = re.compile(
    r"(!?)\[([^\[\]]{0,500})\]\(\s*<?([^\s()<>\[\]]{0,2000})>?"
    r"(?:\s+(?:\"([^\"\n]{0,500})\"|'([^'\n]{0,500})'|\(([^()\n]{0,500})\)))?\s*\)"
)
# A definition that leads nowhere is how comments are written.
_COMMENT = re.compile(r"^[ ]{0,3}\[[^\[\]\n]{1,100}\]:[ \t]*(?:#|<>)[ \t]*[^\n]*$", re.MULTILINE)


def tell(text: str) -> tuple[str, int]:
    """Return Markdown whose links and pictures are told, and how many comments were taken out."""
    removed = 0
    if "]:" in text:
        text, removed = _COMMENT.subn("", text)
    return (_LINK.sub(_told, text) if "](" in text else text), removed


def _told(match: re.Match[str]) -> str:
    picture, words, url, *titles = match.groups()
    title = next((one for one in titles if one), "")
    return picture_told(words, url, title) if picture else f"{words}{link_told(words, url, title)}"


def link_told(words: str, url: str, title: str) -> str:
    """Return what stands behind the words of a link: where it leads, unless the words say so, and its title."""
    address = address_told(url)
    parts = [] if not address or address in words else [f"link: {address}"]
    if title and title not in words:
        parts.append(f'titled "{title[:MOST_ADDRESS]}"')
    return f" ({', '.join(parts)})" if parts else ""


def picture_told(words: str, url: str, title: str) -> str:
    """Return what stands for a picture: the words beside it and where it would be fetched from."""
    parts = [words[:MOST_ADDRESS], title[:MOST_ADDRESS], f"from {address_told(url)}" if url else ""]
    return f"(picture: {', '.join(filter(None, parts))})"


def address_told(url: str) -> str:
    """Return an address as it is shown: short, and without the data that some are made of."""
    url = url.strip()
    scheme, colon, _ = url.partition(":")
    if colon and scheme.lower() in ("data", "javascript", "vbscript"):
        return f"{scheme.lower()}:…"
    return url if len(url) <= MOST_ADDRESS else f"{url[:MOST_ADDRESS]}… cut, {len(url)} characters"
