"""The pieces that tool declarations share: closed schemas, and the three functions of a write."""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import BadMoney, Money
from agentops.registry.tool import Arguments, CallContext, Preview, Result, ToolFailure, UndoCall
from support_agent.connectors import desk
from support_agent.connectors.port import Write
from support_agent.connectors.records import Address

Schema = dict[str, Any]
Build = Callable[[Arguments], Write]
Undo = Callable[[Arguments, Result], UndoCall | None]

OWNER = "support"
MAX_AMOUNT_MINOR = 100_000_000
MAX_ITEMS = 50

ORDER = {"order_id": "order"}
ORDER_AND_METHOD = {"order_id": "order", "payment_method_id": "payment_method"}


def text(most: int, words: str = "", *, least: int = 1) -> Schema:
    """Return the schema of a text of ``least`` to ``most`` characters."""
    return {"type": "string", "minLength": least, "maxLength": most, **({"description": words} if words else {})}


def ref(words: str) -> Schema:
    """Return the schema of an id of the desk."""
    return text(64, words)


def integer(words: str = "", *, least: int = 0, most: int = 10**12) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": least, "maximum": most, **({"description": words} if words else {})}


def choice(*values: str, words: str = "") -> Schema:
    """Return the schema of one of some texts."""
    return {"type": "string", "enum": list(values), **({"description": words} if words else {})}


def listed(items: Schema, most: int, words: str = "", *, least: int = 0) -> Schema:
    """Return the schema of a list."""
    return {
        "type": "array",
        "items": items,
        "minItems": least,
        "maxItems": most,
        **({"description": words} if words else {}),
    }


def closed(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


ORDER_ID = ref("The order's id, with its leading # when it has one, for example #W1042.")
METHOD_ID = ref("The id of one of the customer's payment methods, as lookup_customer lists them.")
CURRENCY = {
    "type": "string",
    "minLength": 3,
    "maxLength": 3,
    "description": "ISO 4217 code in capitals, for example USD.",
}
AMOUNT = integer("Whole minor units of the currency: 4820 is $48.20.", least=1, most=MAX_AMOUNT_MINOR)
OUT_REF = text(64)
OUT_CURRENCY = text(3)
OUT_SIGNED = integer(least=-(10**12))
STATUS_CHANGED = closed(
    {"ticket_id": OUT_REF, "status": text(16), "former_status": text(16), "change_id": OUT_REF},
)

ADDRESS = {
    "address1": text(200, "Street and number."),
    "address2": text(200, "Suite or apartment; may be empty.", least=0),
    "city": text(100, "City."),
    "state": text(100, "State or region, abbreviated where that is usual; may be empty.", least=0),
    "country": text(100, "Country, written as the customer's record writes it."),
    "zip": text(20, "Postal code."),
}
OUT_ADDRESS = closed({name: text(200, least=0) for name in ADDRESS})
ITEM_IDS = listed(
    ref("An item id."),
    MAX_ITEMS,
    "Item ids from the order. Name an item twice when the order holds it twice and both are meant.",
    least=1,
)
NEW_ITEM_IDS = listed(
    ref("An item id."),
    MAX_ITEMS,
    "Item ids that replace item_ids, in the same sequence; each an available variant of the same product.",
    least=1,
)


def address(arguments: Arguments) -> Address:
    """Return the address that a call names. Raises ToolFailure VALIDATION when a needed line is blank."""
    lines = {name: arguments[name].strip() for name in ADDRESS}
    for name, schema in ADDRESS.items():
        if schema["minLength"] and not lines[name]:
            raise ToolFailure(FailureKind.VALIDATION, f"The address has no {name}.", field=name)
    return Address(**lines)


def money(arguments: Arguments) -> Money:
    """Return the amount that a call names. Raises ToolFailure VALIDATION for an unknown currency."""
    try:
        return Money(arguments["amount_minor"], arguments["currency"])
    except BadMoney as error:
        raise ToolFailure(FailureKind.VALIDATION, f"{error.message}.", field="currency") from error


def runs(build: Build) -> Callable[[CallContext, Arguments], Result]:
    """Return the function that carries the write out."""

    def run(context: CallContext, arguments: Arguments) -> Result:
        return desk().write(context, build(arguments))

    return run


def previews(build: Build) -> Callable[[CallContext, Arguments], Preview]:
    """Return the function that says what the write would do."""

    def preview(context: CallContext, arguments: Arguments) -> Preview:
        return desk().preview(context, build(arguments))

    return preview


def reconcile(context: CallContext) -> Result | None:
    """Return the recorded result of the context's key, None when it took no effect."""
    return desk().outcome(context)


def undone_by(tool: str, **taken: str) -> Undo:
    """Return the undo that calls ``tool``; ``taken`` maps its arguments to fields of the result.

    There is none when the result lacks a field, as one that was recorded by an older version does.
    """

    def undo(arguments: Arguments, result: Result) -> UndoCall | None:
        if any(not result.get(field) for field in taken.values()):
            return None
        return tool, {argument: result[field] for argument, field in taken.items()}

    return undo


def status_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    """Return the call that sets a ticket's status back, None when the status stayed as it was."""
    if not result.get("change_id") or result.get("former_status") in (None, result.get("status")):
        return None
    return "restore_ticket_status", {"change_id": result["change_id"]}


def former_address(result: Result) -> dict[str, str] | None:
    """Return the address before the call, None when it is not one that can be set: imported ones may lack lines."""
    lines = result.get("former_address") or {}
    complete = all(lines.get(name, "").strip() for name, schema in ADDRESS.items() if schema["minLength"])
    return {name: lines.get(name, "") for name in ADDRESS} if complete else None
