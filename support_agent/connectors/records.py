"""What a desk knows, as values: customers, orders, products and tickets at one moment. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agentops.kernel.money import Money


class OrderState(StrEnum):
    """Where an order is in its life."""

    PENDING = "pending"
    ITEM_MODIFIED = "pending (item modified)"
    PROCESSED = "processed"
    DELIVERED = "delivered"
    RETURN_REQUESTED = "return requested"
    EXCHANGE_REQUESTED = "exchange requested"
    CANCELLED = "cancelled"


class TicketState(StrEnum):
    """Who has to do something next about a ticket."""

    OPEN = "open"
    ANSWERED = "answered"
    ESCALATED = "escalated"
    CLOSED = "closed"


PAYMENT = "payment"
REFUND = "refund"
GIFT_CARD = "gift_card"
_METHOD_WORDS = {"credit_card": "credit card", "paypal": "PayPal account", GIFT_CARD: "gift card"}


@dataclass(frozen=True)
class Address:
    """A postal address; ``address2`` and ``state`` may be empty."""

    address1: str
    address2: str
    city: str
    state: str
    country: str
    zip: str

    def __str__(self) -> str:
        parts = (self.address1, self.address2, self.city, f"{self.state} {self.zip}".strip(), self.country)
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Method:
    """A way to pay. ``balance`` is that of a gift card, None for every other kind."""

    ref: str
    kind: str
    brand: str
    last_four: str
    balance: Money | None
    version: int

    @property
    def words(self) -> str:
        """The method as a person recognises it, for example ``credit card ending 9917``."""
        kind = _METHOD_WORDS.get(self.kind, self.kind)
        return f"{kind} ending {self.last_four}" if self.last_four else f"{kind} {self.ref}"

    @property
    def is_gift_card(self) -> bool:
        """True when money put on it is there at once."""
        return self.kind == GIFT_CARD


@dataclass(frozen=True)
class Customer:
    """Somebody who buys, with the ways to pay and the ids of the orders."""

    ref: str
    first_name: str
    last_name: str
    email: str
    address: Address
    methods: tuple[Method, ...]
    order_refs: tuple[str, ...]
    version: int

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}"

    def method(self, ref: str) -> Method | None:
        """Return the customer's own method of that id, or None."""
        return next((method for method in self.methods if method.ref == ref), None)


@dataclass(frozen=True)
class Line:
    """One bought thing, numbered from 1, at the price it was bought at (minor units)."""

    number: int
    variant_ref: str
    product_ref: str
    name: str
    price_minor: int
    options: Mapping[str, str]

    @property
    def words(self) -> str:
        """Name and options, for example ``T-Shirt (blue, M)``."""
        return _described(self.name, self.options)


@dataclass(frozen=True)
class Variant:
    """One buyable form of a product at today's price."""

    ref: str
    product_ref: str
    product_name: str
    options: Mapping[str, str]
    price: Money
    available: bool

    @property
    def version(self) -> int:
        """A number that moves whenever price or availability do."""
        return self.price.minor * 2 + int(self.available)

    @property
    def words(self) -> str:
        """Name and options, for example ``T-Shirt (blue, M)``."""
        return _described(self.product_name, self.options)


def _described(name: str, options: Mapping[str, str]) -> str:
    return f"{name} ({', '.join(options.values())})" if options else name


@dataclass(frozen=True)
class Product:
    """A kind of thing on sale."""

    ref: str
    name: str
    variants: tuple[Variant, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One entry of a payment history, minor units of the order's currency.

    ``reverses`` marks the payment that stands for a refund that was stopped.
    """

    kind: str
    amount_minor: int
    method_ref: str
    reverses: bool = False


@dataclass(frozen=True)
class Parcel:
    """A parcel and the item ids in it."""

    tracking_ids: tuple[str, ...]
    variant_refs: tuple[str, ...]


@dataclass(frozen=True)
class Order:
    """One purchase with its lines and its payment history."""

    ref: str
    customer_ref: str
    status: str
    currency: str
    address: Address
    lines: tuple[Line, ...]
    entries: tuple[Entry, ...]
    parcels: tuple[Parcel, ...]
    cancel_reason: str
    return_items: tuple[str, ...] | None
    return_method_ref: str
    exchange_items: tuple[str, ...] | None
    exchange_new_items: tuple[str, ...] | None
    exchange_method_ref: str
    exchange_difference_minor: int | None
    version: int

    @property
    def refunded(self) -> Money:
        """Everything that went back so far, without the refunds that were stopped."""
        back = sum(entry.amount_minor for entry in self.entries if entry.kind == REFUND)
        return self.money(back - sum(entry.amount_minor for entry in self.entries if entry.reverses))

    @property
    def kept(self) -> Money:
        """What was paid and not given back: the most that can still be refunded."""
        return self.money(sum(self.kept_by_method().values()))

    def kept_by_method(self) -> dict[str, int]:
        """Return what each method paid less what went back to it, by the first entry of each."""
        kept: dict[str, int] = {}
        for entry in self.entries:
            sign = 1 if entry.kind == PAYMENT else -1
            kept[entry.method_ref] = kept.get(entry.method_ref, 0) + sign * entry.amount_minor
        return kept

    def money(self, minor: int) -> Money:
        """Return an amount in the order's currency."""
        return Money(minor, self.currency)


@dataclass(frozen=True)
class Ticket:
    """A customer's request.

    ``status_key`` is the operation that set the status, empty when a person did; ``taken_back`` counts what was
    taken back on it.
    """

    ref: str
    sender: str
    subject: str
    status: str
    status_key: str = ""
    taken_back: int = 0


@dataclass(frozen=True)
class Written:
    """A draft or reply that stands on a ticket; ``ref`` is the operation that wrote it."""

    ref: str
    kind: str
    body: str
    release_at: datetime | None
    recalled_at: datetime | None


@dataclass(frozen=True)
class StatusChange:
    """A change of a ticket's status; ``ref`` is the operation that made it."""

    ref: str
    before: str
    after: str


@dataclass(frozen=True)
class Payout:
    """A refund or credit on its way out; ``ref`` is the operation that made it. ``order_ref`` is empty for a credit."""

    ref: str
    amount: Money
    method_ref: str
    order_ref: str
    ticket_ref: str
    settles_at: datetime
    stopped_at: datetime | None

    @property
    def words(self) -> str:
        """What was given to whom, for a sentence that says "the" before it."""
        if self.order_ref:
            return f"refund of {self.amount} for order {self.order_ref} to {self.method_ref}"
        return f"credit of {self.amount} to {self.method_ref}"


@dataclass(frozen=True)
class Passage:
    """A part of an article that speaks of what was asked; ``score`` runs from 0 to 100."""

    article_ref: str
    title: str
    text: str
    score: int
