"""What a dry run shows besides its sentence, by type (pure): fields, money, mail, text, command, SQL, file.

A part is a value with one closed JSON form, bounded in size and depth, so that the digest of a request covers every
character of it. Making one that is larger than the bounds raises BadPart: what does not fit or cannot be shown is an
``Opaque``, which says its size and digest instead of its content, and is never taken for something that a person has
read.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from agentops.kernel.canonical import JSON, MAX_INTEGER, NotCanonical, require_canonical
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.money import CURRENCIES, Money

MOST_PARTS = 20
MOST_ITEMS = 200
MOST_CHARACTERS = 200_000
"""Of one text; of all parts together it is twice as many."""

Reader = Callable[[JSON], Any]
Changes = tuple[tuple[str, str, str], ...]


class BadPart(AgentOpsError):
    """A part of a dry run that has not the form of its type, or is too large to be shown."""

    code = "BAD_PART"
    next_step = "Give each field as its type says; what is too large or no text belongs into an Opaque."


@dataclass(frozen=True)
class Part:
    """The base of all parts. ``kind`` names the type in JSON. Raises BadPart when it is made of anything else."""

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _read_fields(type(self), self.as_json())

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, which ``part_of`` reads back."""
        return {"kind": self.kind} | {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    def texts(self) -> Iterable[tuple[str, str]]:
        """Return what the part says as names and texts, to compare two of them."""
        for field in fields(self):
            yield from _texts_of(field.name.replace("_", " "), _plain(getattr(self, field.name)))


@dataclass(frozen=True)
class Fields(Part):
    """One record before and after: label, value now, value afterwards. An empty side means "nothing"."""

    kind: ClassVar[str] = "fields"
    title: str
    lines: Changes


@dataclass(frozen=True)
class Amount(Part):
    """Money that moves, in minor units, and the sums that it changes: label, sum now, sum afterwards."""

    kind: ClassVar[str] = "money"
    title: str
    minor: int
    currency: str
    sums: tuple[tuple[str, int, int], ...] = ()

    @classmethod
    def of(cls, title: str, money: Money, sums: Iterable[tuple[str, Money, Money]] = ()) -> "Amount":
        """Return the part for an amount. Raises BadPart when a sum is in another currency."""
        lines = list(sums)
        if any(side.currency != money.currency for _, *sides in lines for side in sides):
            raise BadPart("the sums of an amount are in its own currency")
        plain = tuple((label, before.minor, after.minor) for label, before, after in lines)
        return cls(title, money.minor, money.currency, plain)


@dataclass(frozen=True)
class Mail(Part):
    """A message that leaves the house. ``text`` and ``html`` are its two forms, of which one may be empty."""

    kind: ClassVar[str] = "mail"
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    text: str
    html: str = ""


@dataclass(frozen=True)
class TextChange(Part):
    """A text before and after; an empty side means that there is none."""

    kind: ClassVar[str] = "text"
    title: str
    before: str
    after: str


@dataclass(frozen=True)
class Command(Part):
    """A program with its arguments, or a line for a shell, or a request to an API (``api``); and where it runs."""

    kind: ClassVar[str] = "command"
    place: str
    argv: tuple[str, ...] = ()
    line: str = ""
    api: str = ""
    body: str = ""


@dataclass(frozen=True)
class Sql(Part):
    """A statement with its parameters, the tables it touches, and the plan: operation, table, rows expected."""

    kind: ClassVar[str] = "sql"
    statement: str
    tables: tuple[str, ...]
    plan: tuple[tuple[str, str, int], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class File(Part):
    """A file that is written or removed. ``digest`` is the SHA-256 of what it then holds.

    ``before`` and ``after`` are its text, None where there is none; both None when it is no text, which then nobody can
    inspect.
    """

    kind: ClassVar[str] = "file"
    path: str
    size: int
    media_type: str
    digest: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True)
class Opaque(Part):
    """A value that cannot be shown: why, how many bytes it has, and its SHA-256."""

    kind: ClassVar[str] = "opaque"
    title: str
    why: str
    size: int
    digest: str

    @classmethod
    def of(cls, title: str, data: bytes, why: str) -> "Opaque":
        """Return the part that stands for ``data``."""
        return cls(title, why, len(data), hashlib.sha256(data).hexdigest())


def part_of(value: JSON) -> Part:
    """Return the part that ``value`` is the JSON form of. Raises BadPart."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    made = _KINDS.get(kind) if isinstance(kind, str) else None
    if made is None:
        raise BadPart("there is no such kind of part")
    return made(**_read_fields(made, value))


def parts_as_json(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Return the JSON form of the parts of one dry run. Raises BadPart when there are too many, or too much in them."""
    found = list(parts)
    if len(found) > MOST_PARTS:
        raise BadPart(f"more than {MOST_PARTS} parts")
    if sum(len(text) for part in found for _, text in part.texts()) > 2 * MOST_CHARACTERS:
        raise BadPart(f"more than {2 * MOST_CHARACTERS} characters")
    return [part.as_json() for part in found]


def _plain(value: Any) -> JSON:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _texts_of(name: str, value: JSON) -> Iterable[tuple[str, str]]:
    """Yield the leaves under their names; of rows the first column is the name."""
    if not isinstance(value, list):
        yield name, "" if value is None else str(value)
    elif value and all(isinstance(row, list) for row in value):
        for label, *cells in value:
            yield f"{name}: {label}", " → ".join(map(str, cells))
    else:
        yield name, "\n".join(map(str, value))


def _read_fields(made: type[Part], value: Mapping[str, JSON]) -> dict[str, Any]:
    readers = _READERS[made.kind]
    if set(value) != {"kind", *readers}:
        raise BadPart(f"a part of the kind {made.kind} has the fields {', '.join(readers)}")
    try:
        read = {name: reader(value[name]) for name, reader in readers.items()}
        require_canonical(value)
    except (NotCanonical, ValueError) as error:
        raise BadPart(f"a part of the kind {made.kind} is malformed: {error}") from error
    if made is Command and [read["argv"] != (), read["line"] != "", read["api"] != ""].count(True) != 1:
        raise BadPart("a command is either a list of arguments, a line for a shell, or a request to an API")
    return read


def _text(value: JSON) -> str:
    if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
        raise ValueError(f"a text has at most {MOST_CHARACTERS} characters")
    return value


def _text_or_none(value: JSON) -> str | None:
    return None if value is None else _text(value)


def _number(value: JSON) -> int:
    if type(value) is not int or abs(value) > MAX_INTEGER:
        raise ValueError("a number is a whole one")
    return value


def _count(value: JSON) -> int:
    if _number(value) < 0:
        raise ValueError("a count is not negative")
    return _number(value)


def _currency(value: JSON) -> str:
    if value not in CURRENCIES:
        raise ValueError("there is no such currency")
    return _text(value)


def _hex_digest(value: JSON) -> str:
    if len(_text(value)) != 64 or not set(value) <= set("0123456789abcdef"):
        raise ValueError("a digest is 64 hex digits")
    return _text(value)


def _many(reader: Reader) -> Reader:
    def read(value: JSON) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > MOST_ITEMS:
            raise ValueError(f"a list has at most {MOST_ITEMS} items")
        return tuple(reader(item) for item in value)

    return read


def _row(*readers: Reader) -> Reader:
    def read(value: JSON) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(readers):
            raise ValueError(f"a row has {len(readers)} cells")
        return tuple(reader(item) for reader, item in zip(readers, value, strict=True))

    return read


_TEXTS = _many(_text)
_READERS: Mapping[str, Mapping[str, Reader]] = {
    "fields": {"title": _text, "lines": _many(_row(_text, _text, _text))},
    "money": {"title": _text, "minor": _number, "currency": _currency, "sums": _many(_row(_text, _number, _number))},
    "mail": {"sender": _text, "to": _TEXTS, "cc": _TEXTS, "subject": _text, "text": _text, "html": _text},
    "text": {"title": _text, "before": _text, "after": _text},
    "command": {"place": _text, "argv": _TEXTS, "line": _text, "api": _text, "body": _text},
    "sql": {
        "statement": _text,
        "tables": _TEXTS,
        "plan": _many(_row(_text, _text, _count)),
        "parameters": _many(_row(_text, _text)),
    },
    "file": {
        "path": _text,
        "size": _count,
        "media_type": _text,
        "digest": _hex_digest,
        "before": _text_or_none,
        "after": _text_or_none,
    },
    "opaque": {"title": _text, "why": _text, "size": _count, "digest": _hex_digest},
}
_KINDS: Mapping[str, type[Part]] = {
    made.kind: made for made in (Fields, Amount, Mail, TextChange, Command, Sql, File, Opaque)
}
