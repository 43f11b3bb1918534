"""From the JSON of a preview to what the page shows (pure)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentops.console.formats import bytes_words
from agentops.console.marks import Text, plain
from agentops.console.reveal import reveal
from agentops.kernel.money import Money
from agentops.registry.preview_parts import (
    Amount,
    BadPart,
    Command,
    Fields,
    File,
    Mail,
    Opaque,
    Part,
    Sql,
    TextChange,
    part_of,
)
from approvals.previews.diff import diff, looks_same
from approvals.previews.mail import mail_shown, unread_of
from approvals.previews.shown import (
    AmountShown,
    Body,
    CommandShown,
    FieldsShown,
    OpaqueShown,
    Shown,
    SqlShown,
    TextShown,
)
from approvals.previews.unshowable import digest_of, unshowable

LONG_CHARACTERS = 300
LONG_LINES = 6
LONG_TOGETHER = 2_000

Preview = Mapping[str, Any]
Arguments = Mapping[str, Any]


def shown_parts(preview: Preview, arguments: Arguments | None = None) -> list[Shown]:
    """Return the parts of a preview, in order. A text that is an argument as well is opened there, not here again."""
    elsewhere = _texts_in(arguments)
    return [_shown(n, part, elsewhere) for n, part in enumerate(_parts(preview), start=1)]


def must_open(preview: Preview, arguments: Arguments | None = None) -> tuple[str, ...]:
    """Return the names of the parts that are folded, and must be opened before approving."""
    elsewhere = _texts_in(arguments)
    folded = (_name(n) for n, part in enumerate(_parts(preview), start=1) if _is_folded(part, elsewhere))
    return tuple(folded)


def uninspectable_parts(preview: Preview) -> list[str]:
    """Return why parts of a preview cannot be inspected, without laying them out."""
    return [why for part in _parts(preview) if (why := _why(part))]


def short_changes(preview: Preview) -> list[tuple[str, str, str]]:
    """Return the changes that fit into the table of fields. The others are parts, compared line by line."""
    return [(label, before, after) for label, before, after in preview["changes"] if not _is_text(before, after)]


def statements(preview: Preview) -> dict[str, str]:
    """Return what the parts say, by names, so that two previews of one call can be compared."""
    found: dict[str, str] = {}
    for n, part in enumerate(_parts(preview), start=1):
        if isinstance(part, Part):
            found |= {f"{_WORDS[part.kind]} {n}, {name}": text for name, text in part.texts()}
        else:
            found[f"Part {n}"] = f"{part.why}, {part.size} bytes, SHA-256 {part.digest}"
    return found


def is_long(text: str) -> bool:
    """Return whether a text is folded on the page."""
    return len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES


class Unreadable:
    """A part that has no known form: it stands in the row, but nobody can say what it means."""

    def __init__(self, value: Any) -> None:
        written = json.dumps(value, ensure_ascii=False, sort_keys=True)
        self.why, self.size, self.digest = "in no known form", len(written.encode()), digest_of(written)


_Read = Part | Unreadable


def _parts(preview: Preview) -> Iterator[_Read]:
    given = preview.get("parts", [])
    for value in given if isinstance(given, list) else [given]:
        try:
            yield part_of(value)
        except BadPart:
            yield Unreadable(value)
    for label, before, after in preview["changes"]:
        if before != after and _is_text(before, after):
            yield _as_text(label, before, after)


def _as_text(label: str, before: str, after: str) -> _Read:
    try:
        return TextChange(label, before, after)
    except BadPart:
        return Unreadable([label, before, after])


def _is_text(before: str, after: str) -> bool:
    """Return whether two values are compared line by line: texts, and what a table would show as the same."""
    return looks_same(before, after) or any(
        is_long(side) or "\n" in side or "\r" in side or side != side.strip() for side in (before, after)
    )


def _texts(part: _Read) -> list[str]:
    return [text for _, text in part.texts()] if isinstance(part, Part) else []


def _why(part: _Read) -> str:
    if isinstance(part, Unreadable | Opaque):
        return part.why or "not shown"
    if isinstance(part, File) and part.before is None and part.after is None:
        return "not text"
    if isinstance(part, Mail) and unread_of(part):
        return "too large to be read"
    return next(filter(None, (unshowable(text) for text in _texts(part))), "")


def _texts_in(arguments: Arguments | None) -> frozenset[str]:
    return frozenset(value for value in (arguments or {}).values() if isinstance(value, str))


def _name(number: int) -> str:
    return f"part-{number}"


def _size_of(part: _Read) -> int:
    return sum(len(text.encode()) for name, text in part.texts() if name != "title") if isinstance(part, Part) else 0


def _is_folded(part: _Read, elsewhere: frozenset[str]) -> bool:
    """A part that cannot be shown has nothing to open."""
    texts = [text for text in _texts(part) if text not in elsewhere]
    long = any(map(is_long, texts)) or sum(map(len, texts)) > LONG_TOGETHER
    return long and not _why(part)


def _shown(number: int, part: _Read, elsewhere: frozenset[str]) -> Shown:
    why = _why(part)
    size = part.size if isinstance(part, Unreadable | Opaque | File) else _size_of(part)
    return Shown(
        name=_name(number),
        kind="opaque" if why else _KINDS.get(part.kind, part.kind) if isinstance(part, Part) else "opaque",
        title=reveal(getattr(part, "title", "")) or plain(_WORDS[part.kind] if isinstance(part, Part) else "Part"),
        size=bytes_words(size),
        body=_opaque(part, why, size) if why else _body(part),
        long=_is_folded(part, elsewhere),
        uninspectable=why,
    )


_WORDS = {
    "fields": "Fields",
    "money": "Amount",
    "mail": "E-mail",
    "text": "Text",
    "command": "Command",
    "sql": "SQL",
    "file": "File",
    "opaque": "Not shown",
}
_KINDS = {"file": "text"}


def _opaque(part: _Read, why: str, size: int) -> OpaqueShown:
    if isinstance(part, Unreadable | Opaque | File):
        digest = part.digest
    else:
        digest = digest_of(json.dumps(part.as_json(), ensure_ascii=False, sort_keys=True))
    facts = [("Why", reveal(why)), ("Size", plain(bytes_words(size))), ("SHA-256", plain(digest))]
    # What can be read of it stands there all the same: to whom a mail goes, where a command runs.
    said = [] if isinstance(part, Unreadable | Opaque) else [*part.texts()]
    readable = [(name, text) for name, text in said if name not in _ITS_FACTS and text and not is_long(text)]
    told = [(name.capitalize(), reveal(text)) for name, text in readable if not unshowable(text)]
    return OpaqueShown(facts=[*told, *facts])


_ITS_FACTS = ("title", "size", "digest")


def _body(part: _Read) -> Body:
    if isinstance(part, Fields):
        return _fields(part)
    if isinstance(part, Amount):
        return _amount(part)
    if isinstance(part, Mail):
        return mail_shown(part)
    if isinstance(part, TextChange):
        return TextShown(diff=diff(part.before, part.after))
    if isinstance(part, File):
        return _file(part)
    if isinstance(part, Command):
        return _command(part)
    if isinstance(part, Sql):
        return _sql(part)
    raise TypeError(f"there is no page for a part of the type {type(part).__name__}")


def _fields(part: Fields) -> FieldsShown:
    return FieldsShown(
        changes=[(reveal(label), reveal(was), reveal(now)) for label, was, now in part.lines if was != now],
        unchanged=[reveal(label) for label, was, now in part.lines if was == now],
        caption=reveal(part.title),
    )


def _amount(part: Amount) -> AmountShown:
    def words(minor: int) -> str:
        return str(Money(minor, part.currency))

    return AmountShown(
        amount=words(part.minor),
        minor=f"{part.minor:,}",
        currency=part.currency,
        sums=[(reveal(label), words(was), words(now), f"{was:,} → {now:,}") for label, was, now in part.sums],
    )


def _file(part: File) -> TextShown:
    facts = [
        ("Path", reveal(part.path)),
        ("Type", reveal(part.media_type)),
        ("Size", plain(bytes_words(part.size))),
        ("SHA-256", plain(part.digest)),
    ]
    return TextShown(diff=diff(part.before or "", part.after or ""), facts=facts)


def _command(part: Command) -> CommandShown:
    body = reveal(part.body)
    if part.argv:
        return CommandShown(place=reveal(part.place), arguments=[_argument(one) for one in part.argv], body=body)
    word = "shell" if part.line else "API"
    return CommandShown(place=reveal(part.place), line=reveal(part.line or part.api), word=word, body=body)


def _argument(text: str) -> Text:
    return reveal(text) or plain("(empty)")


def _sql(part: Sql) -> SqlShown:
    return SqlShown(
        statement=reveal(part.statement),
        tables=[reveal(table) for table in part.tables],
        plan=[(reveal(step), reveal(table), f"{rows:,}") for step, table, rows in part.plan],
        parameters=[(reveal(name), reveal(value) or plain("(empty)")) for name, value in part.parameters],
    )
