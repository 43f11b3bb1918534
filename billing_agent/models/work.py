"""The desk's work: cases, mails from reviewed templates, what a call did, and what a processor told."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q

from billing_agent.models.base import REF_LENGTH, Owned, Record
from billing_agent.models.customers import Customer


class Case(Record):
    """A piece of work. ``source_key`` is its identity where it came from, so that it is opened once.

    ``taken_at`` is when work on it began, None while it waits.
    """

    class Status(models.TextChoices):
        """Who has to do something next."""

        OPEN = "open", "Open"
        ANSWERED = "answered", "Answered"
        ESCALATED = "escalated", "Escalated to a person"
        CLOSED = "closed", "Closed"

    class Source(models.TextChoices):
        """Where it came from."""

        FORM = "form", "Typed in"
        IMPORT = "import", "Imported"
        WEBHOOK = "webhook", "Told by the processor"
        SCHEDULE = "schedule", "Scheduled"

    customer = models.ForeignKey(Customer, on_delete=models.SET_NULL, null=True, blank=True, related_name="cases")
    sender = models.CharField(max_length=320)
    subject = models.CharField(max_length=300)
    body = models.TextField()
    source = models.CharField(max_length=10, choices=Source)
    source_key = models.CharField(max_length=200)
    status = models.CharField(max_length=12, choices=Status, default=Status.OPEN)
    note = models.CharField(max_length=2_000, blank=True)
    received_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True, blank=True)

    class Meta(Record.Meta):
        ordering = ["-received_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_case_a_ref"),
            models.UniqueConstraint(fields=["tenant", "source_key"], name="one_case_a_source_key"),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "received_at", "id"],
                condition=Q(status="open", taken_at__isnull=True),
                name="waiting_cases_by_age",
            )
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.subject}"


class MailTemplate(Record):
    """A mail with gaps, written ``{name}``. Only one that somebody has reviewed is sent."""

    name = models.CharField(max_length=200)
    subject = models.CharField(max_length=200)
    body = models.TextField(max_length=10_000)
    changed_by = models.CharField(max_length=150, blank=True, help_text="Who wrote it as it is.")
    reviewed_by = models.CharField(max_length=150, blank=True)
    reviewed_at = models.DateTimeField(null=True, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_mail_template_a_ref"),
            models.CheckConstraint(
                condition=Q(reviewed_by="", reviewed_at__isnull=True)
                | (~Q(reviewed_by="") & Q(reviewed_at__isnull=False)),
                name="a_review_has_a_person_and_a_time",
            ),
            models.CheckConstraint(
                condition=Q(reviewed_by="") | ~Q(reviewed_by=F("changed_by")), name="nobody_reviews_their_own_template"
            ),
        ]


class Mail(Record):
    """A mail to a customer. A draft waits for a person; a sent one can be recalled until ``release_at``."""

    class Kind(models.TextChoices):
        """Whether it goes out."""

        DRAFT = "draft", "Draft"
        SENT = "sent", "Sent"

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="mails")
    kind = models.CharField(max_length=8, choices=Kind)
    template_ref = models.CharField(max_length=REF_LENGTH)
    template_version = models.PositiveIntegerField()
    subject = models.CharField(max_length=300)
    body = models.TextField()
    at = models.DateTimeField()
    release_at = models.DateTimeField(null=True, blank=True)
    recalled_at = models.DateTimeField(null=True, blank=True)
    operation_key = models.CharField(max_length=200, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_mail_a_ref"),
            models.CheckConstraint(
                condition=Q(kind="sent", release_at__isnull=False) | Q(kind="draft", release_at__isnull=True),
                name="a_mail_that_is_sent_alone_leaves",
            ),
            models.CheckConstraint(
                condition=Q(recalled_at__isnull=True) | Q(recalled_at__lt=F("release_at")),
                name="a_mail_is_recalled_before_it_leaves",
            ),
        ]


class Operation(Owned):
    """A write that happened, recorded in the transaction of its effect: one key has its effect once."""

    key = models.CharField(max_length=200)
    action = models.CharField(max_length=40)
    arguments_digest = models.BinaryField(max_length=32)
    result = models.JSONField(encoder=DjangoJSONEncoder, default=dict)
    at = models.DateTimeField()
    case_ref = models.CharField(max_length=REF_LENGTH, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="one_billing_operation_a_key")]
        indexes = [models.Index(fields=["tenant", "at"], name="billing_operations_by_time")]

    def __str__(self) -> str:
        return f"{self.action} ({self.key})"
