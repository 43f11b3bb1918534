"""Who pays, and with what."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Lower
from django.utils.deconstruct import deconstructible

from billing_agent.models.base import REF_LENGTH, Record


@deconstructible
class Words(Func):
    """The words of some columns, to be searched by how they begin. An address counts as the words between its signs."""

    template = "to_tsvector('simple', translate(%(expressions)s, '@.+-_', '     '))"
    arg_joiner = " || ' ' || "
    output_field = SearchVectorField()


class Customer(Record):
    """Somebody who is billed, in one currency. Tax is in basis points: 1900 is 19 %.

    A deleted customer keeps what was billed; nothing new is begun for them.
    """

    name = models.CharField(max_length=200)
    email = models.CharField(max_length=254)
    currency = models.CharField(max_length=3)
    country = models.CharField(max_length=2, blank=True, help_text="ISO 3166-1, two letters.")
    tax_bp = models.PositiveIntegerField(default=0, help_text="Basis points that are added to what is billed.")
    tax_exempt = models.BooleanField(default=False, help_text="No tax is added, whatever the rate is.")
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_billing_customer_a_ref"),
            models.CheckConstraint(condition=Q(tax_bp__lte=10_000), name="a_tax_rate_is_at_most_all"),
        ]
        indexes = [
            models.Index(F("tenant"), Lower("email"), name="billing_customer_by_email"),
            models.Index(fields=["tenant", "-id"], name="billing_customer_newest"),
            GinIndex(Words("name", "email"), name="billing_customer_words"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.ref})"


class PaymentMethod(Record):
    """A card or account that a customer pays with.

    ``declines_with`` is what the issuer of the embedded system answers: empty pays, any other word of
    ``DeclineCode`` declines. An expired card declines by its date alone.
    """

    class Kind(models.TextChoices):
        """What it is."""

        CARD = "card", "Card"
        BANK = "bank", "Bank account"

    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="methods")
    kind = models.CharField(max_length=8, choices=Kind, default=Kind.CARD)
    brand = models.CharField(max_length=40, blank=True)
    last_four = models.CharField(max_length=4, blank=True)
    expires_year = models.PositiveSmallIntegerField(null=True, blank=True)
    expires_month = models.PositiveSmallIntegerField(null=True, blank=True)
    declines_with = models.CharField(max_length=REF_LENGTH, blank=True)
    is_default = models.BooleanField(default=False)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_billing_method_a_ref"),
            models.UniqueConstraint(
                fields=["customer"], condition=Q(is_default=True), name="one_default_method_a_customer"
            ),
            models.CheckConstraint(
                condition=Q(expires_year__isnull=True, expires_month__isnull=True)
                | Q(expires_year__isnull=False, expires_month__gte=1, expires_month__lte=12),
                name="a_method_expires_in_a_month",
            ),
        ]
