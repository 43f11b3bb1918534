"""What is sold again and again, and to whom."""

from django.db import models
from django.db.models import F, Q

from billing_agent.models.base import Record
from billing_agent.models.customers import Customer


class Plan(Record):
    """A price for a period. What was sold under it stays as it was: a new price is a new plan."""

    class Interval(models.TextChoices):
        """How long one period is, by the calendar."""

        MONTH = "month", "Month"
        YEAR = "year", "Year"

    name = models.CharField(max_length=200)
    interval = models.CharField(max_length=8, choices=Interval)
    amount_minor = models.BigIntegerField(help_text="For one period and one unit, before tax.")
    currency = models.CharField(max_length=3)
    active = models.BooleanField(default=True, help_text="Whether it is still sold.")

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_plan_a_ref"),
            models.CheckConstraint(condition=Q(amount_minor__gte=0), name="a_plan_costs_nothing_or_more"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.ref})"


class Subscription(Record):
    """A customer's plan, paid in advance for the period from ``period_start`` to ``period_end``.

    ``anchor_day`` is the day of the month on which periods begin, the last day in shorter months. ``next_plan`` takes
    the place of the plan when the period ends. ``cancel_at`` is when it ends. While it is paused nothing is billed.
    """

    class Status(models.TextChoices):
        """Where it is in its life."""

        ACTIVE = "active", "Active"
        PAST_DUE = "past_due", "Past due"
        PAUSED = "paused", "Paused"
        CANCELLED = "cancelled", "Cancelled"

    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="subscriptions")
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="+")
    next_plan = models.ForeignKey(Plan, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    quantity = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=12, choices=Status, default=Status.ACTIVE)
    anchor_day = models.PositiveSmallIntegerField()
    period_start = models.DateTimeField()
    period_end = models.DateTimeField()
    started_at = models.DateTimeField()
    cancel_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancel_reason = models.CharField(max_length=300, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    resumes_at = models.DateTimeField(null=True, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_subscription_a_ref"),
            models.CheckConstraint(condition=Q(quantity__gte=1), name="a_subscription_has_a_quantity"),
            models.CheckConstraint(condition=Q(period_end__gt=F("period_start")), name="a_period_has_a_length"),
            models.CheckConstraint(condition=Q(anchor_day__gte=1, anchor_day__lte=31), name="an_anchor_is_a_day"),
            models.CheckConstraint(
                condition=Q(status="cancelled", cancelled_at__isnull=False)
                | (~Q(status="cancelled") & Q(cancelled_at__isnull=True)),
                name="what_is_cancelled_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(status="paused", paused_at__isnull=False)
                | (~Q(status="paused") & Q(paused_at__isnull=True)),
                name="what_is_paused_has_a_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "period_end"], condition=Q(status__in=["active", "past_due"]), name="renewals_due"
            )
        ]
