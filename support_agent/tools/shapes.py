"""Records of the desk as the JSON that lookups return, with their schemas. Options are pairs of name and value."""

from collections.abc import Mapping
from typing import Any

from agentops.registry.declare import OUT_CURRENCY, OUT_REF, OUT_SIGNED, choice, closed, integer, listed, text
from support_agent.connectors.records import Address, Customer, Method, Order, Passage, Product, Variant
from support_agent.tools.parts import OUT_ADDRESS

MOST_ORDERS = 500
MOST_VARIANTS = 500
MOST_LINES = 500

_OPTIONS = listed(listed(text(200, least=0), 2, least=2), 50)
_NULL_OR_METHOD = {"anyOf": [OUT_REF, {"type": "null"}]}
_ITEM_IDS = listed(OUT_REF, MOST_LINES)

METHOD = closed(
    {
        "payment_method_id": OUT_REF,
        "kind": choice("credit_card", "paypal", "gift_card"),
        "brand": text(40, least=0),
        "last_four": text(4, least=0),
        "balance_minor": integer(),
        "currency": OUT_CURRENCY,
    },
    optional=("brand", "last_four", "balance_minor", "currency"),
)
CUSTOMER = closed(
    {
        "customer_id": OUT_REF,
        "first_name": text(100, least=0),
        "last_name": text(100, least=0),
        "email": text(254, least=0),
        "address": OUT_ADDRESS,
        "payment_methods": listed(METHOD, 100),
        "order_ids": listed(OUT_REF, MOST_ORDERS, "Oldest first; the newest 500 when there are more."),
        "older_orders": integer("How many older orders are not listed."),
    }
)
VARIANT = closed(
    {
        "item_id": OUT_REF,
        "options": _OPTIONS,
        "price_minor": integer(),
        "currency": OUT_CURRENCY,
        "available": {"type": "boolean"},
    }
)
PRODUCT = closed({"product_id": OUT_REF, "name": text(200), "variants": listed(VARIANT, MOST_VARIANTS)})
ORDER_SHAPE = closed(
    {
        "order_id": OUT_REF,
        "status": text(32),
        "currency": OUT_CURRENCY,
        "address": OUT_ADDRESS,
        "items": listed(
            closed(
                {
                    "item_id": OUT_REF,
                    "product_id": OUT_REF,
                    "name": text(200),
                    "price_minor": integer(),
                    "options": _OPTIONS,
                }
            ),
            MOST_LINES,
        ),
        "fulfilments": listed(closed({"tracking_ids": listed(text(200), 50), "item_ids": _ITEM_IDS}), 100),
        "payments": listed(
            closed({"kind": choice("payment", "refund"), "amount_minor": integer(), "payment_method_id": OUT_REF}),
            1000,
            "In order. A refund that a person stopped is followed by a payment of the same amount.",
        ),
        "refundable_minor": OUT_SIGNED,
        "cancel_reason": text(200, least=0),
        "return": closed({"item_ids": _ITEM_IDS, "payment_method_id": _NULL_OR_METHOD}),
        "exchange": closed(
            {
                "item_ids": _ITEM_IDS,
                "new_item_ids": _ITEM_IDS,
                "payment_method_id": _NULL_OR_METHOD,
                "difference_minor": OUT_SIGNED,
            }
        ),
    },
    optional=("cancel_reason", "return", "exchange"),
)
PASSAGE = closed({"id": OUT_REF, "title": text(200), "passage": text(2000, least=0), "score": integer(most=100)})


def customer_json(customer: Customer) -> dict[str, Any]:
    """Return the profile with payment methods and order ids."""
    return {
        "customer_id": customer.ref,
        "first_name": customer.first_name,
        "last_name": customer.last_name,
        "email": customer.email,
        "address": _address(customer.address),
        "payment_methods": [_method(method) for method in customer.methods],
        "order_ids": list(customer.order_refs[-MOST_ORDERS:]),
        "older_orders": max(0, len(customer.order_refs) - MOST_ORDERS),
    }


def _method(method: Method) -> dict[str, Any]:
    shown: dict[str, Any] = {"payment_method_id": method.ref, "kind": method.kind}
    if method.brand or method.last_four:
        shown |= {"brand": method.brand, "last_four": method.last_four}
    if method.balance is not None:
        shown |= {"balance_minor": method.balance.minor, "currency": method.balance.currency}
    return shown


def order_json(order: Order) -> dict[str, Any]:
    """Return the order with items, parcels, payment history, and what was requested."""
    shown: dict[str, Any] = {
        "order_id": order.ref,
        "status": order.status,
        "currency": order.currency,
        "address": _address(order.address),
        "items": [
            {
                "item_id": line.variant_ref,
                "product_id": line.product_ref,
                "name": line.name,
                "price_minor": line.price_minor,
                "options": _pairs(line.options),
            }
            for line in order.lines
        ],
        "fulfilments": [
            {"tracking_ids": list(parcel.tracking_ids), "item_ids": list(parcel.variant_refs)}
            for parcel in order.parcels
        ],
        "payments": [
            {"kind": entry.kind, "amount_minor": entry.amount_minor, "payment_method_id": entry.method_ref}
            for entry in order.entries
        ],
        "refundable_minor": order.kept.minor,
    }
    return {**shown, **_requests(order)}


def _requests(order: Order) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if order.cancel_reason:
        shown["cancel_reason"] = order.cancel_reason
    if order.return_items is not None:
        shown["return"] = {
            "item_ids": list(order.return_items),
            "payment_method_id": order.return_method_ref or None,
        }
    if order.exchange_items is not None:
        shown["exchange"] = {
            "item_ids": list(order.exchange_items),
            "new_item_ids": list(order.exchange_new_items or ()),
            "payment_method_id": order.exchange_method_ref or None,
            "difference_minor": order.exchange_difference_minor or 0,
        }
    return shown


def product_json(product: Product) -> dict[str, Any]:
    """Return the product with its variants, the unavailable ones too."""
    return {
        "product_id": product.ref,
        "name": product.name,
        "variants": [_variant(variant) for variant in product.variants[:MOST_VARIANTS]],
    }


def _variant(variant: Variant) -> dict[str, Any]:
    return {
        "item_id": variant.ref,
        "options": _pairs(variant.options),
        "price_minor": variant.price.minor,
        "currency": variant.price.currency,
        "available": variant.available,
    }


def passage_json(passage: Passage) -> dict[str, Any]:
    """Return one passage of the knowledge base."""
    return {"id": passage.article_ref, "title": passage.title, "passage": passage.text, "score": passage.score}


def _pairs(options: Mapping[str, str]) -> list[list[str]]:
    return [[name, value] for name, value in options.items()]


def _address(address: Address) -> dict[str, str]:
    return {
        "address1": address.address1,
        "address2": address.address2,
        "city": address.city,
        "state": address.state,
        "country": address.country,
        "zip": address.zip,
    }
