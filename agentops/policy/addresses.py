"""Addresses in texts: e-mail, links and bare domains, bank accounts, phone and other long numbers (pure).

Two addresses are the same one when their keys are equal. A key holds the whole address: no subdomain, prefix, longer
path or added query has the same, and no look-alike letter is taken for another.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from agentops.policy.forms import INVISIBLE, SIGNS, Taken, decoded_runs, lowered, unquoted

MOST_TEXT = 20_000
"""Characters of a text that are looked at."""

_PATH = r"[^\s<>\"'`|\\^{}\[\]]*"
# A quote before an address is no part of it, one within it is: 'a@example.com', o'neil@example.com.
_EMAIL = re.compile(r"(?<![\w.+%-])(?<!\w')[\w.+%-][\w.+%'-]*+@(?:[\w-]++(?:\.[\w-]++)*+)")
_LINK = re.compile(
    rf"(?:\b[a-z][a-z0-9+.-]{{1,20}}:)?//(?:\[[\da-f:.%]+\])?{_PATH}|\b(?:javascript|data|file):{_PATH}", re.I
)
_HOST = re.compile(
    rf"(?<![\w@.-])(?:(?:[\w-]++\.)+(?:[^\W\d_]{{2,24}}|xn--[\w-]{{2,59}})(?![\w-])|\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![\w.]))"
    rf"(?::\d{{1,5}})?(?:[/?#]{_PATH})?"
)
_COMPACT = r"[A-Za-z]{2}\d{2}[A-Za-z0-9]{8,30}"
_GROUPED = r"[A-Z]{2}\d{2}(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z]{0,3}\d[A-Z0-9]{0,2})?"
_IBAN = re.compile(rf"(?<![\w@./-])(?:{_COMPACT}|{_GROUPED})(?![\w@])")
_LONG = re.compile(r"(?<![\w.,$€£¥])(?:\+\s?)?\(?\d(?:[ ()./-]{0,2}\d){5,}+(?![\w]|[.,]\d)")
_DOTS = str.maketrans("。｡", "..")
_SCHEME = re.compile(r"(?:https?:)?//", re.I)
_DISARMED = re.compile(r"\bhxxp|\[\.\]|\(\.\)|\[dot\]|\(dot\)|\[at\]|\(at\)|\[@\]|\[:\]|\[/\]", re.I)
_ARMED = {
    "hxxp": "http",
    "[.]": ".",
    "(.)": ".",
    "[dot]": ".",
    "(dot)": ".",
    "[at]": "@",
    "(at)": "@",
    "[@]": "@",
    "[:]": ":",
    "[/]": "/",
}
# Endings of file names that are no top-level domain: "report.pdf" is a file. "report.md" may be a host in Moldova.
_FILES = frozenset({
    "txt", "pdf", "doc", "docx", "odt", "rtf", "csv", "tsv", "xls", "xlsx", "ods", "ppt", "pptx", "png", "jpg",
    "jpeg", "gif", "bmp", "svg", "webp", "json", "xml", "yaml", "yml", "html", "htm", "css", "js", "ts", "tsx",
    "jsx", "exe", "bin", "dll", "log", "sql", "toml", "ini", "cfg", "conf", "tar", "gz", "tgz", "bz", "xz", "rar",
    "mp", "wav", "eml", "msg", "ics", "vcf", "bak", "tmp", "lock", "php", "asp", "jsp",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Address:
    """An address as it stands in a text (``text``, ``start``, ``end``), its ``kind``, and its ``key``."""

    kind: str
    key: str
    text: str
    start: int
    end: int


def address_of(value: str) -> Address | None:
    """Return ``value`` as the one address that it is, or None when it is none or more than one."""
    bare = unquoted(value)
    if bare.startswith("<") and bare.endswith(">"):
        bare = bare[1:-1]
    bare = bare.removeprefix("mailto:").removeprefix("tel:")
    if "@" in bare and "/" not in bare:
        return _email(bare, 0) if _EMAIL.fullmatch(bare) else None
    if _LINK.fullmatch(bare) or _HOST.fullmatch(bare):
        return _key_of_link(bare, 0)
    if _IBAN.fullmatch(bare) or (" " in bare and _IBAN.fullmatch(bare.replace(" ", ""))):
        return _iban(bare, 0)
    return _long(bare, 0) if _LONG.fullmatch(bare) else None


def addresses_in(text: str, skip: Iterable[tuple[int, int]] = ()) -> tuple[Address, ...]:
    """Return the addresses of ``text`` in the order in which they stand, none within another.

    ``skip`` are spans of dates and amounts, which are no long numbers.
    """
    taken = Taken(len(text))
    found: list[Address] = []

    def take(pattern: re.Pattern[str], make: Callable[[str, int], Address | None]) -> None:
        for match in pattern.finditer(text):
            address = None if taken.touches(*match.span()) else make(match[0], match.start())
            if address is not None:
                found.append(address)
                taken.take(address.start, address.end)

    if "//" in text or ":" in text:
        take(_LINK, _link)
    if "@" in text:
        take(_EMAIL, _email)
    if "." in text:
        take(_HOST, _link)
    take(_IBAN, _iban)
    for start, end in skip:
        taken.take(start, end)
    take(_LONG, _long)
    return tuple(sorted(found, key=lambda address: address.start))


def _email(text: str, start: int) -> Address | None:
    return Address("email", lowered(text), text, start, start + len(text))


def _link(text: str, start: int) -> Address | None:
    """A link without what is not its own: the bracket, quote or full stop that follows it."""
    while text and (text[-1] in ".,;:!?'\"*_" or (text[-1] == ")" and text.count(")") > text.count("("))):
        text = text[:-1]
    return _key_of_link(text, start)


def _key_of_link(text: str, start: int) -> Address | None:
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if not rest or (not scheme and "//" not in text and ":" not in text and _is_file(rest)):
        return None
    cut = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    host, tail = rest[:cut], rest[cut:]
    host = _shown(lowered(host)).removeprefix("www.").removesuffix(":80").removesuffix(":443").removesuffix(".")
    if not host and tail:
        return None
    return Address("url", host + ("" if tail == "/" else tail.removesuffix("/")), text, start, start + len(text))


def _is_file(text: str) -> bool:
    return "/" not in text and "?" not in text and lowered(text.rpartition(".")[2]) in _FILES


def _shown(host: str) -> str:
    """Return the host with its punycode labels as the letters that they stand for."""
    if "xn--" not in host:
        return host
    labels = []
    for label in host.split("."):
        try:
            labels.append(label[4:].encode().decode("punycode") if label.startswith("xn--") else label)
        except UnicodeError:
            labels.append(label)
    return ".".join(labels)


def _iban(text: str, start: int) -> Address | None:
    key = re.sub(r"[ -]", "", text).upper()
    return Address("iban", key, text, start, start + len(text)) if sum(map(str.isdigit, key)) >= 6 else None


def _long(text: str, start: int) -> Address | None:
    groups = re.findall(r"\d+", text)
    if max(map(len, groups)) < 3 and max(map(len, groups)) > 1:
        return None  # "10 12 14": some small numbers
    digits = "".join(groups)
    return Address("number", digits.removeprefix("00"), text, start, start + len(text))


def readings(text: str) -> Iterator[str]:
    """Yield ``text`` and what it may become when it is shown, clicked or decoded: its first MOST_TEXT characters."""
    text = text[:MOST_TEXT]
    yield text
    if not text.isascii():
        yield INVISIBLE.sub("", unicodedata.normalize("NFKC", SIGNS.sub(" ", text))).translate(_DOTS)
    if _DISARMED.search(text):
        yield _DISARMED.sub(lambda match: _ARMED[match[0].lower()], text)
    decoded = "\n".join(run for _, run, _, _ in decoded_runs(text))
    if decoded:
        yield decoded
