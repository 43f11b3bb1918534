"""The embedded desk: customers, products, orders, payments, tickets and the knowledge base.

Amounts are whole minor units of the currency beside them. ``ref`` is the id that people and tools use,
unique within a tenant. Writes go through ``support_agent.connectors``, which keep ``version`` moving.
"""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower

from agentops.tenancy.models import Tenant

REF_LENGTH = 64


class Owned(models.Model):
    """A row that belongs to one tenant."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True


class Addressed(models.Model):
    """A postal address. The second line may be empty."""

    address1 = models.CharField(max_length=200)
    address2 = models.CharField(max_length=200, blank=True)
    city = models.CharField(max_length=100)
    state = models.CharField(max_length=100, blank=True)
    country = models.CharField(max_length=100)
    zip = models.CharField(max_length=20)

    class Meta:
        abstract = True


class Customer(Owned, Addressed):
    """Somebody who buys. ``version`` moves with every change of the record."""

    ref = models.CharField(max_length=REF_LENGTH)
    first_name = models.CharField(max_length=100)
    last_name = models.CharField(max_length=100)
    email = models.CharField(max_length=254)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "ref"], name="one_customer_a_ref")]
        indexes = [models.Index(F("tenant"), Lower("email"), name="customer_by_email")]

    def __str__(self) -> str:
        return f"{self.first_name} {self.last_name} ({self.ref})"


class MethodKind(models.TextChoices):
    """What a customer can pay with."""

    CREDIT_CARD = "credit_card", "Credit card"
    PAYPAL = "paypal", "PayPal account"
    GIFT_CARD = "gift_card", "Gift card"


class PaymentMethod(Owned):
    """A way to pay. A gift card alone has a balance, which never falls below zero."""

    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="methods")
    ref = models.CharField(max_length=REF_LENGTH)
    kind = models.CharField(max_length=16, choices=MethodKind)
    brand = models.CharField(max_length=40, blank=True)
    last_four = models.CharField(max_length=4, blank=True)
    balance_minor = models.BigIntegerField(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_payment_method_a_ref"),
            models.CheckConstraint(
                condition=Q(balance_minor__isnull=True) | Q(balance_minor__gte=0),
                name="a_gift_card_balance_is_never_negative",
            ),
            models.CheckConstraint(
                condition=(
                    (Q(kind=MethodKind.GIFT_CARD) & Q(balance_minor__isnull=False) & ~Q(currency=""))
                    | (~Q(kind=MethodKind.GIFT_CARD) & Q(balance_minor__isnull=True))
                ),
                name="a_gift_card_alone_has_a_balance",
            ),
        ]

    def __str__(self) -> str:
        return self.ref


class Product(Owned):
    """A kind of thing on sale; what is bought is one of its variants."""

    ref = models.CharField(max_length=REF_LENGTH)
    name = models.CharField(max_length=200)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "ref"], name="one_product_a_ref")]

    def __str__(self) -> str:
        return self.name


class Variant(Owned):
    """One buyable form of a product. ``ref`` is the item id, ``options`` maps text to text."""

    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="variants")
    ref = models.CharField(max_length=REF_LENGTH)
    options = models.JSONField(default=dict)
    price_minor = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    available = models.BooleanField(default=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_variant_a_ref"),
            models.CheckConstraint(condition=Q(price_minor__gte=0), name="a_variant_price_is_never_negative"),
        ]

    def __str__(self) -> str:
        return self.ref


class OrderStatus(models.TextChoices):
    """Where an order is in its life."""

    PENDING = "pending"
    ITEM_MODIFIED = "pending (item modified)"
    PROCESSED = "processed"
    DELIVERED = "delivered"
    RETURN_REQUESTED = "return requested"
    EXCHANGE_REQUESTED = "exchange requested"
    CANCELLED = "cancelled"


class Order(Owned, Addressed):
    """One purchase with its own delivery address.

    ``return_items``, ``exchange_items`` and ``exchange_new_items`` are lists of item ids, None until a
    return or exchange was requested. ``exchange_difference_minor`` is what the customer still pays, negative
    when money goes back. Both are settled when the parcel arrives.
    """

    ref = models.CharField(max_length=REF_LENGTH)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="orders")
    status = models.CharField(max_length=32, choices=OrderStatus, default=OrderStatus.PENDING)
    currency = models.CharField(max_length=3)
    cancel_reason = models.CharField(max_length=200, blank=True)
    return_items = models.JSONField(null=True, blank=True)
    return_payment_method_ref = models.CharField(max_length=REF_LENGTH, blank=True)
    exchange_items = models.JSONField(null=True, blank=True)
    exchange_new_items = models.JSONField(null=True, blank=True)
    exchange_payment_method_ref = models.CharField(max_length=REF_LENGTH, blank=True)
    exchange_difference_minor = models.BigIntegerField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    placed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_order_a_ref"),
            models.CheckConstraint(condition=Q(status__in=OrderStatus.values), name="an_order_status_is_known"),
        ]

    def __str__(self) -> str:
        return self.ref


class OrderLine(Owned):
    """One bought thing; two lines of an order may hold the same variant. The price is what it was bought at."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    number = models.PositiveIntegerField()
    variant_ref = models.CharField(max_length=REF_LENGTH)
    product_ref = models.CharField(max_length=REF_LENGTH)
    name = models.CharField(max_length=200)
    price_minor = models.BigIntegerField()
    options = models.JSONField(default=dict)

    class Meta:
        ordering = ["order", "number"]
        constraints = [
            models.UniqueConstraint(fields=["order", "number"], name="one_order_line_a_number"),
            models.CheckConstraint(condition=Q(price_minor__gte=0), name="an_order_line_price_is_never_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.variant_ref})"


class Fulfilment(Owned):
    """A parcel: its tracking ids and the item ids in it."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="fulfilments")
    tracking_ids = models.JSONField(default=list)
    variant_refs = models.JSONField(default=list)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return ", ".join(self.tracking_ids)


class PaymentKind(models.TextChoices):
    """Which way the money went."""

    PAYMENT = "payment", "Payment"
    REFUND = "refund", "Refund"


class Payment(Owned):
    """One entry of an order's payment history, numbered from 1. Entries are added, never changed.

    A refund that a person stopped stays, and is followed by a payment that ``reverses`` it.
    """

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="payments")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=8, choices=PaymentKind)
    amount_minor = models.BigIntegerField()
    payment_method_ref = models.CharField(max_length=REF_LENGTH)
    operation_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - "" is not "no operation"
    reverses = models.OneToOneField("self", on_delete=models.CASCADE, null=True, blank=True, related_name="reversal")

    class Meta:
        ordering = ["order", "number"]
        constraints = [
            models.UniqueConstraint(fields=["order", "number"], name="one_payment_a_number"),
            models.CheckConstraint(condition=Q(amount_minor__gte=0), name="a_payment_amount_is_never_negative"),
            models.CheckConstraint(
                condition=Q(reverses__isnull=True) | Q(kind=PaymentKind.PAYMENT),
                name="a_payment_alone_reverses_a_refund",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.number} of order {self.order_id}"


class TicketStatus(models.TextChoices):
    """Who has to do something next."""

    OPEN = "open", "Open"
    ANSWERED = "answered", "Answered"
    ESCALATED = "escalated", "Escalated to a person"
    CLOSED = "closed", "Closed"


class Ticket(Owned):
    """A customer's request. ``source_key`` is its identity in the file or mailbox it came from.

    ``taken_at`` is when work on it began, None while it waits. ``status_key`` is the operation that set the
    status, empty when a person did. ``taken_back`` counts what was taken back on it: after that the same text
    may rightly be written again.
    """

    ref = models.CharField(max_length=REF_LENGTH)
    customer = models.ForeignKey(Customer, on_delete=models.SET_NULL, null=True, blank=True, related_name="tickets")
    sender = models.CharField(max_length=320)
    subject = models.CharField(max_length=300)
    body = models.TextField()
    received_at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=TicketStatus, default=TicketStatus.OPEN)
    status_key = models.CharField(max_length=200, blank=True, db_default="", editable=False)
    taken_back = models.PositiveIntegerField(db_default=0, editable=False)
    source_key = models.CharField(max_length=200)
    opened_at = models.DateTimeField(auto_now_add=True)
    taken_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-received_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_ticket_a_ref"),
            models.UniqueConstraint(fields=["tenant", "source_key"], name="one_ticket_a_source_key"),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "received_at", "id"],
                name="waiting_tickets_by_age",
                condition=Q(status=TicketStatus.OPEN, taken_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.subject}"


class MessageKind(models.TextChoices):
    """A draft waits for a person, a reply goes to the customer, a note stays in the house."""

    DRAFT = "draft", "Draft"
    REPLY = "reply", "Reply"
    NOTE = "note", "Note"


class TicketMessage(Owned):
    """What was written on a ticket. A reply leaves at ``release_at``; until then a person can recall it."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="messages")
    kind = models.CharField(max_length=8, choices=MessageKind)
    body = models.TextField()
    created_at = models.DateTimeField()
    release_at = models.DateTimeField(null=True, blank=True)
    recalled_at = models.DateTimeField(null=True, blank=True)
    operation_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - "" is not "no operation"

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind=MessageKind.REPLY, release_at__isnull=False)
                | (~Q(kind=MessageKind.REPLY) & Q(release_at__isnull=True)),
                name="a_reply_alone_has_a_release_time",
            ),
            models.CheckConstraint(
                condition=Q(recalled_at__isnull=True) | Q(recalled_at__lt=F("release_at")),
                name="a_reply_is_recalled_before_its_release",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} on ticket {self.ticket_id}"


class Article(Owned):
    """One page of the knowledge base. The database keeps ``search`` in step with the text."""

    ref = models.CharField(max_length=REF_LENGTH)
    title = models.CharField(max_length=200)
    body = models.TextField(max_length=20_000)
    search = models.GeneratedField(
        expression=(
            SearchVector("title", weight="A", config="english") + SearchVector("body", weight="B", config="english")
        ),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        ordering = ["title", "id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "ref"], name="one_article_a_ref")]
        indexes = [GinIndex(fields=["search"], name="article_words")]

    def __str__(self) -> str:
        return self.title


class DeskOperation(Owned):
    """A write that happened, recorded in the transaction of its effect: one key has its effect once.

    ``settles_at`` is when the money of a refund or credit is paid out, until when a person can stop it; None
    for every other write.
    """

    key = models.CharField(max_length=200)
    action = models.CharField(max_length=40)
    arguments_digest = models.BinaryField(max_length=32)
    result = models.JSONField(encoder=DjangoJSONEncoder, default=dict)
    at = models.DateTimeField()
    ticket_ref = models.CharField(max_length=REF_LENGTH, blank=True, db_default="")
    settles_at = models.DateTimeField(null=True, blank=True)
    stopped_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "key"], name="one_desk_operation_a_key"),
            models.CheckConstraint(
                condition=Q(stopped_at__isnull=True) | Q(settles_at__isnull=False, stopped_at__lt=F("settles_at")),
                name="a_payout_is_stopped_before_it_settles",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} ({self.key})"
