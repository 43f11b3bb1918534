"""Credit of customers, and what moves on the account's own balance.

https://docs.stripe.com/api/customer_balance_transactions and /balance_transactions. A customer's balance below zero is
credit.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tests.factories.fake_stripe.errors import invalid, no_such
from tests.factories.fake_stripe.lists import listed, page
from tests.factories.fake_stripe.money import currency, rounded
from tests.factories.fake_stripe.params import INT, LIST, META, RANGE, STR, merged, read
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World


def settle_currency(customer: Obj, code: str, param: str = "currency") -> None:
    """Fix the currency that a customer is billed in. Raises ApiError when it is another one already."""
    if customer["currency"] not in (None, code):
        raise invalid(
            f"You cannot combine currencies on a single customer. This customer has had a subscription, coupon, or"
            f" invoice item with currency {customer['currency']}",
            param,
        )
    customer["currency"] = code


def adjust(world: World, customer: Obj, amount: int, code: str, kind: str, **more: Any) -> Obj:
    """Move a customer's balance: below zero gives credit."""
    before = customer["balance"]
    customer["balance"] = before + amount
    moved = world.add(
        {
            "id": world.new_id("cbtxn"),
            "object": "customer_balance_transaction",
            "amount": amount,
            "checkout_session": None,
            "created": world.now,
            "credit_note": None,
            "currency": code,
            "customer": customer["id"],
            "description": None,
            "ending_balance": customer["balance"],
            "invoice": None,
            "livemode": world.live,
            "metadata": {},
            "type": kind,
            **more,
        }
    )
    world.effect("customer_balance_transaction.created", moved, event=False)
    world.effect("customer.updated", customer, {"balance": before})
    return moved


def create(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Give a customer credit, with an amount below zero, or take some."""
    shape = {"amount": INT, "currency": STR, "description": STR, "metadata": META}
    asked = read(form, shape, needs=("amount", "currency"))
    customer, code = world.customer(ref, "id"), currency(asked["currency"])
    if not asked["amount"]:
        raise invalid("Invalid integer: amount must not be zero", "amount", "parameter_invalid_integer")
    settle_currency(customer, code)
    return adjust(
        world,
        customer,
        asked["amount"],
        code,
        "adjustment",
        description=asked.get("description"),
        metadata=merged({}, asked.get("metadata")),
    )


def update(world: World, form: Mapping[str, Any], ref: str, moved_ref: str) -> Obj:
    """Change the words of a transaction; its amount never does."""
    asked = read(form, {"description": STR, "metadata": META})
    moved = retrieve(world, {}, ref, moved_ref)
    moved["metadata"] = merged(moved["metadata"], asked.pop("metadata", None))
    moved |= asked
    world.effect("customer_balance_transaction.updated", moved, event=False)
    return moved


def list_of_customer(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Return a customer's transactions."""
    asked = read(form, LIST | {"invoice": STR, "created": RANGE})
    world.find("customer", ref)
    equal = {"invoice": asked["invoice"]} if asked.get("invoice") else {}
    rows = world.all("customer_balance_transaction", customer=ref, **equal)
    return page(rows, asked, f"/v1/customers/{ref}/balance_transactions")


def retrieve(world: World, form: Mapping[str, Any], ref: str, moved_ref: str) -> Obj:
    """Return one transaction of a customer."""
    read(form, {})
    world.find("customer", ref)
    moved = world.find("customer_balance_transaction", moved_ref)
    if moved["customer"] != ref:
        raise no_such("customer balance transaction", moved_ref)
    return moved


def book(world: World, kind: str, amount: int, code: str, source: str, *, fee: int = 0) -> Obj:
    """Keep what moved on the account's own balance."""
    return world.add(
        {
            "id": world.new_id("txn"),
            "object": "balance_transaction",
            "amount": amount,
            "available_on": world.now + 2 * 86_400,
            "balance_type": "payments",
            "created": world.now,
            "currency": code,
            "description": None,
            "exchange_rate": None,
            "fee": fee,
            "fee_details": [
                {
                    "amount": fee,
                    "application": None,
                    "currency": code,
                    "description": "Stripe processing fees",
                    "type": "stripe_fee",
                }
            ]
            if fee
            else [],
            "net": amount - fee,
            "reporting_category": {"charge": "charge", "refund": "refund"}.get(kind, "dispute"),
            "source": source,
            "status": "pending",
            "type": kind,
        }
    )


def fee_of(amount: int, code: str) -> int:
    """Return what a card payment costs: 2.9 % and, in dollars, 30 cents."""
    return rounded(Fraction(amount * 29, 1000)) + (30 if code == "usd" else 0)


def list_booked(world: World, form: Mapping[str, Any]) -> Obj:
    """Return what moved on the account's own balance."""
    filters = {"type": STR, "source": STR, "currency": STR, "created": RANGE}
    return listed(world, "balance_transaction", form, "/v1/balance_transactions", filters)


_OF = "/v1/customers/{}/balance_transactions"
ROUTES = [
    Route("POST", _OF, create, "customer"),
    Route("GET", _OF, list_of_customer, "customer"),
    Route("GET", _OF + "/{}", retrieve, "customer"),
    Route("POST", _OF + "/{}", update, "customer"),
    Route("GET", "/v1/balance_transactions", list_booked, "balance_transaction"),
    Route("GET", "/v1/balance_transactions/{}", retrieving("balance_transaction"), "balance_transaction"),
]
