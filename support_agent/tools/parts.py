"""The pieces that the desk's tools share: ids, addresses, and the functions of a write."""

from functools import partial

from agentops.kernel.errors import FailureKind
from agentops.registry.declare import OUT_REF, Door, closed, listed, ref, text
from agentops.registry.tool import Arguments, Result, Tier, ToolFailure, ToolSpec, UndoCall
from support_agent.connectors import desk
from support_agent.connectors.port import Write
from support_agent.connectors.records import Address

OWNER = "support"
MAX_ITEMS = 50

ORDER = {"order_id": "order"}
ORDER_AND_METHOD = {"order_id": "order", "payment_method_id": "payment_method"}

_DOOR = Door[Write](desk)
runs, previews, reconcile = _DOOR.runs, _DOOR.previews, _DOOR.reconcile

order_write = partial(
    ToolSpec,
    owner=OWNER,
    tier=Tier.WRITE_HARD,
    auth_scope="desk:orders:write",
    reconcile=reconcile,
    reconcile_is_final=True,
    queue="orders",
    outcome="changed",
)
"""A hard write to an order of the ticket's customer."""

ORDER_ID = ref("The order's id, with its leading # when it has one, for example #W1042.")
METHOD_ID = ref("The id of one of the customer's payment methods, as lookup_customer lists them.")
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
