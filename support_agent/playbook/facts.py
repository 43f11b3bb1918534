"""What the look-ups of a session have told so far (pure): customer, orders, products, knowledge.

``Desk`` answers from the session's history alone. What has not been looked up yet raises ``NotYetKnown`` with
the look-up to propose; what cannot be known raises ``CannotKnow``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentops.kernel.money import Money
from agentops.registry.offline.looking import CannotKnow, Lookups, NotFound
from agentops.registry.planner import Observation
from support_agent.playbook.catalogue import Variant
from support_agent.playbook.details import Address, PayMethod

MOST_ORDERS = 8
LOOKUPS_UNTIL = 11
"""Look-ups are proposed while fewer than this many steps are taken, so that changes and an answer fit in."""


class NoSuchOrder(CannotKnow):
    """An order was named that is not among the customer's, whether or not it is somebody else's."""

    def __init__(self, order_id: str) -> None:
        super().__init__(f"no order {order_id} was found among the customer's orders")
        self.words = f"I could not find an order {order_id} in your name."


@dataclass(frozen=True)
class Person:
    """The customer of the session."""

    id: str
    first_name: str
    address: Address
    methods: tuple[PayMethod, ...]
    order_ids: tuple[str, ...]

    def method(self, method_id: str) -> PayMethod | None:
        """Return the customer's own method of that id, or None."""
        return next((method for method in self.methods if method.id == method_id), None)


@dataclass(frozen=True)
class Line:
    """One bought thing."""

    item_id: str
    product_id: str
    name: str
    options: Mapping[str, str]
    price_minor: int


@dataclass(frozen=True)
class Entry:
    """One entry of the payment history. ``kind`` is payment or refund."""

    kind: str
    amount_minor: int
    method_id: str


@dataclass(frozen=True)
class Purchase:
    """An order as it was looked up."""

    id: str
    status: str
    currency: str
    address: Address
    lines: tuple[Line, ...]
    entries: tuple[Entry, ...]
    tracking_ids: tuple[str, ...]

    @property
    def kept_minor(self) -> int:
        """What was paid and not given back."""
        return sum(entry.amount_minor if entry.kind == "payment" else -entry.amount_minor for entry in self.entries)

    @property
    def original_method_id(self) -> str:
        """The method of the first payment, empty when nothing was paid."""
        return next((entry.method_id for entry in self.entries if entry.kind == "payment"), "")

    @property
    def is_pending(self) -> bool:
        """True while the order can still be changed or cancelled; once its items were changed it cannot."""
        return self.status == "pending"

    def money(self, minor: int) -> Money:
        """Return an amount in the order's currency."""
        return Money(minor, self.currency)


@dataclass(frozen=True)
class Found:
    """A passage of the knowledge base; ``score`` is how much of the question it covers, 0 to 100."""

    title: str
    passage: str
    score: int


class Desk:
    """The facts of one session. ``granted`` are the names of the tools that may be proposed."""

    def __init__(self, history: Sequence[Observation], granted: Iterable[str]) -> None:
        self._lookups = Lookups(history, frozenset(granted), LOOKUPS_UNTIL)

    def person(self) -> Person:
        """Return the session's customer."""
        told = self._lookups.told("lookup_customer", {})
        return Person(
            id=told["customer_id"],
            first_name=told["first_name"],
            address=_address(told["address"]),
            methods=tuple(_method(method) for method in told["payment_methods"]),
            order_ids=tuple(told["order_ids"]),
        )

    def order(self, written: str) -> Purchase:
        """Return the order that was written as ``written`` ("W100", "#w100")."""
        return _purchase(self._order(self.order_id(written)))

    def _order(self, order_id: str) -> Any:
        try:
            return self._lookups.told("lookup_order", {"order_id": order_id})
        except NotFound:
            raise NoSuchOrder(order_id[:40]) from None

    def order_id(self, written: str) -> str:
        """Return the customer's own order id that is meant, or the written one as it would be stored."""
        bare = _bare(written)
        own = self.person().order_ids
        known = next((order_id for order_id in own if _bare(order_id) == bare), None)
        return known or (f"#{bare}" if any(order_id.startswith("#") for order_id in own) else bare)

    def orders(self) -> tuple[Purchase, ...]:
        """Return all orders of the customer. Raises CannotKnow when they are more than MOST_ORDERS."""
        ids = self.person().order_ids
        if len(ids) > MOST_ORDERS:
            raise CannotKnow(f"the customer has {len(ids)} or more orders and none is named")
        return tuple(self.order(order_id) for order_id in ids)

    def product_names(self) -> dict[str, str]:
        """Return product id to name of everything on sale."""
        return {row["product_id"]: row["name"] for row in self._lookups.told("list_products", {})["products"]}

    def variants(self, product_id: str) -> tuple[str, str, tuple[Variant, ...]]:
        """Return name, currency and variants of a product."""
        told = self._lookups.told("lookup_product", {"product_id": product_id})
        rows = told["variants"]
        variants = tuple(
            Variant(row["item_id"], dict(row["options"]), int(row["price_minor"]), bool(row["available"]))
            for row in rows
        )
        return told["name"], rows[0]["currency"] if rows else "USD", variants

    def passages(self, query: str) -> tuple[Found, ...]:
        """Return what the knowledge base answered to ``query``, best first."""
        told = self._lookups.told("search_knowledge_base", {"query": query})
        return tuple(Found(row["title"], row["passage"], int(row["score"])) for row in told["results"])


def _bare(order_id: str) -> str:
    return order_id.replace("#", "").replace(" ", "").upper()


def _address(told: Mapping[str, str]) -> Address:
    return Address(told["address1"], told["address2"], told["city"], told["state"], told["country"], told["zip"])


def _method(told: Mapping[str, Any]) -> PayMethod:
    balance = told.get("balance_minor")
    return PayMethod(
        id=told["payment_method_id"],
        kind=told["kind"],
        brand=told.get("brand") or "",
        last_four=told.get("last_four") or "",
        balance_minor=balance if told["kind"] == "gift_card" else None,
        currency=told.get("currency") or "",
    )


def _purchase(told: Mapping[str, Any]) -> Purchase:
    return Purchase(
        id=told["order_id"],
        status=told["status"],
        currency=told["currency"],
        address=_address(told["address"]),
        lines=tuple(
            Line(row["item_id"], row["product_id"], row["name"], dict(row["options"]), int(row["price_minor"]))
            for row in told["items"]
        ),
        entries=tuple(
            Entry(row["kind"], int(row["amount_minor"]), row["payment_method_id"]) for row in told["payments"]
        ),
        tracking_ids=tuple(number for parcel in told["fulfilments"] for number in parcel["tracking_ids"]),
    )
