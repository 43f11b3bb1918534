"""What is asked to be expanded is put where its id stands: https://docs.stripe.com/api/expanding_objects."""

import copy
from collections.abc import Iterable
from typing import Any

from tests.factories.fake_stripe.errors import ApiError, invalid
from tests.factories.fake_stripe.world import Obj, World, shown

DEEPEST = 4
PREFIXES = {
    "cus": "customer",
    "pm": "payment_method",
    "prod": "product",
    "price": "price",
    "txr": "tax_rate",
    "sub": "subscription",
    "sub_sched": "subscription_schedule",
    "in": "invoice",
    "ii": "invoiceitem",
    "inpay": "invoice_payment",
    "pi": "payment_intent",
    "ch": "charge",
    "re": "refund",
    "du": "dispute",
    "cn": "credit_note",
    "cbtxn": "customer_balance_transaction",
    "txn": "balance_transaction",
}
ON_REQUEST = {
    "invoice": ("payments",),
    "charge": ("refunds",),
    "customer": ("subscriptions",),
}
"""Fields that are not there at all unless they are asked for."""


def expanded(world: World, answer: Obj, paths: Iterable[str]) -> Obj:
    """Return a copy of an answer with the objects of ``paths``. Raises ApiError for a path that leads nowhere."""
    answer = copy.deepcopy(answer)
    wanted = list(paths)
    for path in wanted:
        parts = path.split(".")
        if len(parts) > DEEPEST:
            raise invalid(f"You cannot expand more than {DEEPEST} levels of a property.", "expand")
        if answer.get("object") in ("list", "search_result"):
            if parts[0] != "data":
                raise invalid(f"This property cannot be expanded ({path}). You may want to try expanding 'data.'.")
            for each in answer["data"]:
                _expand(world, each, parts[1:], path)
        else:
            _expand(world, answer, parts, path)
    told: Obj = shown(answer)
    return told


def _expand(world: World, holder: Any, parts: list[str], path: str) -> None:
    if not parts or holder is None:
        return
    if isinstance(holder, list):
        for each in holder:
            _expand(world, each, parts, path)
        return
    name, rest = parts[0], parts[1:]
    if not isinstance(holder, dict) or (
        name not in holder and name not in ON_REQUEST.get(holder.get("object", ""), ())
    ):
        raise invalid(f"This property cannot be expanded ({path}).", "expand")
    value = _asked_for(world, holder, name) if name not in holder else holder[name]
    if isinstance(value, str):
        value = _object(world, value, path)
    elif isinstance(value, list):
        value = [_object(world, each, path) if isinstance(each, str) else each for each in value]
    holder[name] = value
    _expand(world, value, rest, path)


def _object(world: World, ref: str, path: str) -> Obj:
    kind = PREFIXES.get(ref.rpartition("_")[0])
    try:
        return copy.deepcopy(world.find(kind, ref)) if kind else _nowhere(path)
    except ApiError:
        return _nowhere(path)


def _nowhere(path: str) -> Obj:
    raise invalid(f"This property cannot be expanded ({path}).", "expand")


def _asked_for(world: World, holder: Obj, name: str) -> Obj:
    kind, field = {
        "payments": ("invoice_payment", "invoice"),
        "refunds": ("refund", "charge"),
        "subscriptions": ("subscription", "customer"),
    }[name]
    rows = [copy.deepcopy(obj) for obj in world.all(kind, **{field: holder["id"]})]
    if name == "subscriptions":
        rows = [row for row in rows if row["status"] != "canceled"]
    url = f"/v1/{holder['object']}s/{holder['id']}/{name}"
    return {"object": "list", "data": rows[:10], "has_more": len(rows) > 10, "url": url}
