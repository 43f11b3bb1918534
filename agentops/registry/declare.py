"""The pieces that tool declarations share: closed schemas, money, and the functions of a write.

Amounts are whole minor units with an ISO 4217 code beside them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import BadMoney, Money
from agentops.registry.tool import Arguments, CallContext, Preview, Result, ToolFailure, UndoCall

W = TypeVar("W")
W_contra = TypeVar("W_contra", contravariant=True)
Schema = dict[str, Any]
Undo = Callable[[Arguments, Result], UndoCall | None]

MAX_AMOUNT_MINOR = 100_000_000


def text(most: int, words: str = "", *, least: int = 1) -> Schema:
    """Return the schema of a text of ``least`` to ``most`` characters."""
    return {"type": "string", "minLength": least, "maxLength": most, **_described(words)}


def ref(words: str) -> Schema:
    """Return the schema of an id of a system of record."""
    return text(64, words)


def integer(words: str = "", *, least: int = 0, most: int = 10**12) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": least, "maximum": most, **_described(words)}


def choice(*values: str, words: str = "") -> Schema:
    """Return the schema of one of some texts."""
    return {"type": "string", "enum": list(values), **_described(words)}


def listed(items: Schema, most: int, words: str = "", *, least: int = 0) -> Schema:
    """Return the schema of a list of ``least`` to ``most`` items."""
    return {"type": "array", "items": items, "minItems": least, "maxItems": most, **_described(words)}


def closed(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _described(words: str) -> Schema:
    return {"description": words} if words else {}


CURRENCY: Schema = {
    "type": "string",
    "minLength": 3,
    "maxLength": 3,
    "description": "ISO 4217 code in capitals, for example USD.",
}
AMOUNT = integer("Whole minor units of the currency: 4820 is $48.20.", least=1, most=MAX_AMOUNT_MINOR)
OUT_REF = text(64)
OUT_CURRENCY = text(3)
OUT_SIGNED = integer(least=-(10**12))


def money(arguments: Arguments) -> Money:
    """Return the amount that a call names. Raises ToolFailure VALIDATION for an unknown currency."""
    try:
        return Money(arguments["amount_minor"], arguments["currency"])
    except BadMoney as error:
        raise ToolFailure(FailureKind.VALIDATION, f"{error.message}.", field="currency") from error


class Carries(Protocol[W_contra]):
    """A system of record whose writes are values."""

    def preview(self, context: CallContext, write: W_contra) -> Preview:
        """Return what ``write`` would do. Raises ToolFailure when it would be refused."""

    def write(self, context: CallContext, write: W_contra) -> Result:
        """Do it, once for each idempotency key. Raises ToolFailure (no effect) or OutcomeUnknown."""

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the context's idempotency key, None when it took no effect."""


@dataclass(frozen=True)
class Door(Generic[W]):
    """The three functions of a tool whose arguments make a write of ``system()``."""

    system: Callable[[], Carries[W]]

    def runs(self, build: Callable[[Arguments], W]) -> Callable[[CallContext, Arguments], Result]:
        """Return the function that carries the write out."""

        def run(context: CallContext, arguments: Arguments) -> Result:
            return self.system().write(context, build(arguments))

        return run

    def previews(self, build: Callable[[Arguments], W]) -> Callable[[CallContext, Arguments], Preview]:
        """Return the function that says what the write would do."""

        def preview(context: CallContext, arguments: Arguments) -> Preview:
            return self.system().preview(context, build(arguments))

        return preview

    def reconcile(self, context: CallContext) -> Result | None:
        """Return the recorded result of the context's key, None when it took no effect."""
        return self.system().outcome(context)


def undone_by(tool: str, taken: Mapping[str, str], **fixed: Any) -> Undo:
    """Return the undo that calls ``tool``; ``taken`` maps its arguments to fields of the result, ``fixed`` adds others.

    There is none when the result lacks a field, as one that was recorded by an older version does.
    """

    def undo(arguments: Arguments, result: Result) -> UndoCall | None:
        if any(not result.get(field) for field in taken.values()):
            return None
        return tool, {**{argument: result[field] for argument, field in taken.items()}, **fixed}

    return undo
