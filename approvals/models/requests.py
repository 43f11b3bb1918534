"""Queues, requests, and what people did with them.

A request is frozen when it is made: everything a person is shown stands in its row, and ``digest`` covers
all of it. What changes afterwards is its state, and where it lies: who has claimed it, whose it is, and how
far it was escalated.
"""

import base64

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Func, Q, Value, When

from agentops.kernel.ids import new_id
from agentops.policy.rules import MOST_PEOPLE
from agentops.registry.tool import Tier
from agentops.runtime.ports import ApprovalState
from agentops.tenancy.models import Tenant
from approvals.duties.walls import A_DECISION_HOLDS, A_DECISION_STAYS


class OnExpiry(models.TextChoices):
    """What becomes of the work behind a request that nobody decided."""

    NOTHING = "nothing", "Do nothing: the agent is told, and goes on"
    HAND_OVER = "hand_over", "Hand the ticket over to a person"


class ApprovalQueue(models.Model):
    """Requests that one group of people decides."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    slug = models.SlugField()
    name = models.CharField(max_length=80)
    description = models.CharField(max_length=200, blank=True)
    decide_within = models.DurationField(
        help_text="A request that nobody decided in this time expires, and nothing runs."
    )
    hours = models.ForeignKey(
        "BusinessHours",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        help_text="The time to decide runs in these hours only. Empty: around the clock.",
    )
    on_expiry = models.CharField(
        max_length=10,
        choices=OnExpiry,
        default=OnExpiry.NOTHING,
        help_text="What happens to the work when a request expires. The call itself is never made.",
    )
    bulk_approve = models.BooleanField(
        default=False,
        help_text="Up to ten reversible requests of one tool may be approved together. "
        "Never money, messages that leave the house, or permissions.",
    )

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "slug"], name="queue_slugs_are_unique_in_a_tenant")]
        permissions = [
            ("see_queue", "Can see requests of this queue"),
            ("decide_queue", "Can decide requests of this queue"),
            ("manage_queue", "Can assign requests of this queue and read its figures"),
        ]

    def __str__(self) -> str:
        return self.name


_ASKS = 'strict $[*] ? (@[1] == "ask")[0]'
"""The JSON path from reasons, each ``[rule, effect, words]``, to the rules that ask; strict, as lax opens arrays."""


class ApprovalRequest(models.Model):
    """One proposed call, as it goes before a person."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    queue = models.ForeignKey(ApprovalQueue, on_delete=models.PROTECT, related_name="requests")
    session_id = models.UUIDField(db_index=True)
    invocation_id = models.UUIDField(db_index=True)
    position = models.IntegerField()
    agent = models.CharField(max_length=120)
    agent_version_id = models.UUIDField()
    requester = models.CharField(max_length=150)
    tool = models.CharField(max_length=80)
    tool_version = models.IntegerField()
    tier = models.CharField(max_length=12)
    reversibility = models.CharField(max_length=200)
    irreversible = models.BooleanField()
    level = models.GeneratedField(
        expression=Case(When(irreversible=True, then=3), When(tier=Tier.WRITE_HARD.value, then=2), default=1),
        output_field=models.SmallIntegerField(),
        db_persist=True,
        help_text="What a mistake would cost: 1 reversible, 2 consequential, 3 irreversible.",
    )
    arguments = models.JSONField()
    preview = models.JSONField()
    effect = models.TextField()
    target = models.CharField(max_length=200)
    money_minor = models.BigIntegerField(null=True)
    money_currency = models.CharField(max_length=3, blank=True)
    policy_version = models.CharField(max_length=60)
    reasons = models.JSONField()
    asks = models.GeneratedField(
        expression=Func(F("reasons"), Value(_ASKS), function="jsonb_path_query_array"),
        output_field=models.JSONField(),
        db_persist=True,
        help_text="The rules among the reasons because of which a person is asked, in the order in which they fired.",
    )
    facts = models.JSONField(default=dict, help_text="What was decided on, as it stands in the ledger.")
    rationale = models.TextField(blank=True)
    subject_kind = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=120)
    subject_title = models.TextField()
    subject_text = models.TextField()
    sender = models.CharField(max_length=254, blank=True)
    nonce = models.CharField(max_length=32)
    digest = models.CharField(max_length=64)
    people = models.PositiveSmallIntegerField(default=1, help_text="How many different people must approve.")
    supersedes = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="successors")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=[(s.value, s.value) for s in ApprovalState], default="pending")
    closed_at = models.DateTimeField(null=True)
    void_reason = models.CharField(max_length=300, blank=True)

    opened_in = models.CharField(max_length=50, help_text="The queue that it was opened in, which the digest covers.")
    routed_by = models.CharField(max_length=200, blank=True, help_text="Why it is in another queue than the tool's.")
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    claimed_until = models.DateTimeField(null=True, blank=True)
    assigned_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    rung = models.PositiveSmallIntegerField(default=0, help_text="How far it was escalated; 0: not.")
    reminded = models.PositiveSmallIntegerField(default=0, help_text="How many reminders were sent.")
    next_at = models.DateTimeField(null=True, help_text="When the sweep next reminds or escalates.")
    dispatch_at = models.DateTimeField(null=True, help_text="Approved, and may be taken back until then.")

    class Meta:
        ordering = ["expires_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["invocation_id"],
                condition=Q(state__in=["pending", "approved"]),
                name="one_open_request_a_call",
            ),
            models.CheckConstraint(
                condition=Q(state="pending") ^ Q(closed_at__isnull=False), name="a_closed_request_has_a_time"
            ),
            models.CheckConstraint(
                condition=Q(people__gte=1, people__lte=MOST_PEOPLE), name="a_request_needs_one_to_five_people"
            ),
            models.CheckConstraint(
                condition=Q(claimed_by__isnull=True, claimed_until__isnull=True)
                | Q(claimed_by__isnull=False, claimed_until__isnull=False),
                name="a_claim_ends",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "expires_at", "-level", "id"], condition=Q(state="pending"), name="request_pending"
            ),
            models.Index(fields=["tenant", "-closed_at", "-id"], condition=~Q(state="pending"), name="request_closed"),
            models.Index(fields=["expires_at"], condition=Q(state="pending"), name="request_due"),
            models.Index(fields=["next_at"], condition=Q(state="pending"), name="request_next"),
            models.Index(fields=["dispatch_at"], condition=Q(dispatch_at__isnull=False), name="request_dispatch"),
            models.Index(fields=["tenant", "tool", "-closed_at"], name="request_similar"),
            models.Index(fields=["queue", "tool", "target"], condition=Q(state="pending"), name="request_alike"),
            models.Index(
                fields=["queue", "tool", "subject_id"], condition=Q(state="pending"), name="request_about_same"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.effect}"

    @property
    def code(self) -> str:
        """The short name that people use, from the random end of the id."""
        return "AR-" + base64.b32encode(self.id.bytes[-5:]).decode()


class Verdict(models.TextChoices):
    """What a person can say."""

    APPROVE = "approve", "Approved"
    REJECT = "reject", "Rejected"


class Decision(models.Model):
    """What one person decided, about exactly what the digest covers."""

    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, related_name="decisions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    verdict = models.CharField(max_length=8, choices=Verdict)
    reason = models.CharField(max_length=1000, blank=True)
    checked = models.CharField("what was checked", max_length=1000, blank=True)
    digest = models.CharField(max_length=64)
    at = models.DateTimeField()
    on_behalf_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", help_text="Who delegated it."
    )
    acknowledged = models.CharField(max_length=200, blank=True, help_text="The fact that was typed.")
    stepped_up = models.CharField(max_length=20, blank=True, help_text="How the person proved to be there.")
    dwell_ms = models.PositiveIntegerField(null=True, help_text="From showing the page to deciding.")
    taken_back_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["request", "person"], condition=Q(taken_back_at=None), name="a_person_decides_once"
            ),
            models.CheckConstraint(
                condition=Q(on_behalf_of=None) | ~Q(on_behalf_of=models.F("person")),
                name="nobody_decides_for_oneself",
            ),
            models.CheckConstraint(condition=Q(verdict="approve") | ~Q(reason=""), name="a_rejection_has_a_reason"),
        ]
        triggers = [A_DECISION_HOLDS, A_DECISION_STAYS]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} by {self.person}"


class ActKind(models.TextChoices):
    """What happened to a request besides votes."""

    ROUTED = "routed", "Routed"
    CLAIMED = "claimed", "Claimed"
    RELEASED = "released", "Released"
    SKIPPED = "skipped", "Skipped"
    ASSIGNED = "assigned", "Assigned"
    ESCALATED = "escalated", "Escalated"
    REMINDED = "reminded", "Reminded"
    ASKED = "asked", "Asked the agent"
    ANSWERED = "answered", "The agent answered"
    EDITED = "edited", "Edited and proposed anew"
    TAKEN_OVER = "taken_over", "Session taken over"
    TAKEN_BACK = "taken_back", "Decision taken back"


class Act(models.Model):
    """One step of a request's way. With the decisions it is the chain that is printed and exported.

    ``person`` is None for what the product did by itself. ``facts`` depend on the kind: ``to`` a queue's slug or a
    person's name, ``rung``, ``successor``, ``until``.
    """

    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, related_name="acts")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    kind = models.CharField(max_length=12, choices=ActKind)
    words = models.CharField(max_length=2000, blank=True)
    facts = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        ordering = ["at", "id"]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.at:%Y-%m-%d %H:%M}"
