"""Agents, their versions, and what a version may do."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models

from agentops.kernel.ids import new_id
from agentops.policy.rules import FACTS, OPERATORS
from agentops.registry.tool import Dial
from agentops.tenancy.models import Tenant
from agentops.tenancy.switchboard import bumps_epoch


class Agent(models.Model):
    """A role at work for a tenant."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="agents")
    role = models.CharField(max_length=40, help_text="The role's name, as listed in settings.")
    name = models.CharField(max_length=80)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Who answers for the agent. The owner decides none of its requests.",
    )
    is_active = models.BooleanField(default=True, help_text="An inactive agent takes no new work.")
    current_version = models.ForeignKey(
        "AgentVersion", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    max_day_micro = models.PositiveBigIntegerField(
        "daily spending limit",
        null=True,
        blank=True,
        help_text="Micro-dollars of model calls in one business day: 1,000,000 is one dollar. Empty: no limit.",
    )

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="agent_names_are_unique_in_a_tenant")]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return self.name


class AgentVersion(models.Model):
    """The instructions and limits a session keeps from its beginning to its end."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    instructions = models.TextField(help_text="What the model is told about its job. Enforces nothing.")
    max_steps = models.PositiveIntegerField(help_text="A session stops after this many steps.")
    max_seconds = models.PositiveIntegerField(
        help_text="A session stops this many seconds of its own work after it began; waiting for a person is free."
    )
    max_cost_micro = models.PositiveBigIntegerField(
        "spending limit", help_text="Micro-dollars of model calls for one session: 1,000,000 is one dollar."
    )
    max_tokens = models.PositiveBigIntegerField(
        default=400_000, help_text="Tokens of model calls for one session, in and out together."
    )
    max_identical = models.PositiveSmallIntegerField(
        default=3, help_text="A call that gave the same result this often is not made again."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["agent", "-number"]
        constraints = [models.UniqueConstraint(fields=["agent", "number"], name="version_numbers_are_unique")]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return f"{self.agent} v{self.number}"


class ToolGrant(models.Model):
    """A tool that a version may use, and how far it may go with it."""

    version = models.ForeignKey(AgentVersion, on_delete=models.CASCADE, related_name="grants")
    tool = models.CharField(max_length=80)
    dial = models.CharField(
        max_length=12,
        choices=[(dial.value, dial.value) for dial in Dial],
        help_text="observe: reads only. suggest: proposes, nothing runs. ask: every write asks a person. "
        "bounded: runs below the thresholds. autonomous: runs unless a rule asks or forbids.",
    )

    class Meta:
        ordering = ["tool"]
        constraints = [models.UniqueConstraint(fields=["version", "tool"], name="one_grant_a_tool")]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return f"{self.tool} ({self.dial})"


class Threshold(models.Model):
    """A limit on a grant: when the fact compares so, ask a person or forbid."""

    grant = models.ForeignKey(ToolGrant, on_delete=models.CASCADE, related_name="thresholds")
    fact = models.CharField(max_length=60, choices=[(fact, fact) for fact in FACTS])
    op = models.CharField("comparison", max_length=2, choices=[(op, op) for op in OPERATORS])
    value = models.BigIntegerField(validators=[MinValueValidator(0)], help_text="Money in minor units: 2500 is $25.00.")
    currency = models.CharField(max_length=3, blank=True, help_text="Needed when the fact is an amount of money.")
    effect = models.CharField(max_length=6, choices=[("ask", "ask a person"), ("forbid", "forbid")])
    words = models.CharField(max_length=200, help_text="What the approver and the model are told.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(fact__startswith="money.") | ~models.Q(currency=""),
                name="a_threshold_on_money_has_a_currency",
            )
        ]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return f"{self.effect} when {self.fact} {self.op} {self.value} {self.currency}".strip()


class Elevation(models.Model):
    """Leave for one session to use an elevated scope, for a while. Given by a person, with a reason."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    session_id = models.UUIDField(db_index=True)
    scope = models.CharField(max_length=80)
    reason = models.CharField(max_length=300)
    given_by = models.CharField(max_length=150)
    given_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-given_at"]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return f"{self.scope} until {self.expires_at:%Y-%m-%d %H:%M}"
