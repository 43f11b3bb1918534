"""Sessions, the writes they propose, and the daily sums that limits are checked against.

These rows are projections: every change is made in the statement that appends the event which explains it.
They are the hot path, so they have no foreign-key constraints, and nothing that changes at each step stands
in an index (docs/design/hotpath.md).
"""

from datetime import datetime

from django.db import models
from django.db.models import Q

from agentops.agents.models import AgentVersion
from agentops.kernel.ids import new_id
from agentops.registry.subjects import session_subject
from agentops.runtime.checks import invocation_fits, session_fits
from agentops.runtime.states import ENDED, InvocationState, SessionStatus, Wish
from agentops.tenancy.models import Tenant


class Priority(models.IntegerChoices):
    """How urgent a session is. One class is worth ten minutes of waiting."""

    URGENT = 3
    HIGH = 2
    NORMAL = 1
    LOW = 0


class Session(models.Model):
    """One piece of work by one agent. Also the head of its own ledger stream (``position``)."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # No index of its own for the tenant: others begin with it, and an update opens every index of its table.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    agent_version = models.ForeignKey(AgentVersion, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    agent_id = models.UUIDField(help_text="The agent of the version, so that the claim need not join.")
    role = models.CharField(max_length=40)
    role_version = models.IntegerField(default=1)
    workstream = models.CharField(max_length=80, blank=True)
    planner = models.CharField(max_length=80, blank=True)
    subject_kind = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=120)
    title = models.CharField(max_length=200)
    requester = models.CharField(max_length=254, blank=True)
    customer_id = models.CharField(max_length=120, blank=True)

    status = models.CharField(max_length=20, choices=[(s.value, s.value) for s in SessionStatus])
    stop_code = models.CharField(max_length=40, blank=True)
    outcome = models.CharField(max_length=20, blank=True)

    wanted = models.CharField(max_length=10, choices=[(w.value, w.value) for w in Wish], blank=True)
    taken_by = models.CharField(max_length=150, blank=True, help_text="Who does the next steps instead of the planner.")

    priority = models.SmallIntegerField(choices=Priority, default=Priority.NORMAL)
    rank_at = models.DateTimeField(help_text="When it became runnable, less ten minutes a priority class.")
    wake_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    lease_owner = models.CharField(max_length=80, blank=True)
    fence = models.IntegerField(default=0)

    position = models.IntegerField(default=0)
    steps = models.IntegerField(default=0)
    writes = models.IntegerField(default=0)
    attempts = models.SmallIntegerField(default=0)
    gates = models.IntegerField(default=0)
    worked_ms = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_micro = models.BigIntegerField(default=0)
    reserved_micro = models.BigIntegerField(default=0)
    reserved_day = models.DateField(null=True, help_text="The business day that ``reserved_micro`` belongs to.")

    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "session"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "subject_kind", "subject_id"],
                condition=~Q(status__in=sorted(ENDED)),
                name="one_open_session_a_subject",
            ),
            models.CheckConstraint(condition=session_fits(), name="session_fits"),
        ]
        indexes = [
            models.Index(fields=["tenant", "rank_at"], condition=Q(status="queued"), name="session_claim"),
            models.Index(fields=["id"], condition=Q(status="queued") & ~Q(wanted=""), name="session_wanted"),
            models.Index(fields=["id", "tenant"], condition=Q(status="running"), name="session_running"),
            models.Index(fields=["wake_at"], condition=Q(status="sleeping"), name="session_sleeping"),
            models.Index(fields=["tenant", "-id"], name="session_newest_first"),
            models.Index(fields=["tenant", "subject_id"], name="session_by_subject"),
            models.Index(fields=["tenant", "customer_id"], name="session_by_customer"),
            models.Index(fields=["tenant", "-id"], condition=Q(stop_code="ANOMALY"), name="session_unusual"),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.status})"

    @property
    def data_subject(self) -> str:
        """Whom its payloads are about; empty when about nobody in particular."""
        return session_subject(self.tenant_id, self.customer_id, self.requester)


class Invocation(models.Model):
    """A write that passed validation: asked for, intended, done, or not.

    ``idempotency_key`` is held while the call is intended and for good once it took effect, and given up
    when the call certainly had none, so the same business action can be tried again but never done twice.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session_id = models.UUIDField()
    tenant_id = models.UUIDField()
    position = models.IntegerField(help_text="Where in the session's stream it was proposed.")
    tool = models.CharField(max_length=80)
    tool_version = models.IntegerField()
    arguments = models.JSONField()
    preview = models.JSONField()
    state = models.CharField(max_length=20, choices=[(s.value, s.value) for s in InvocationState])
    # NULL, not "": any number of calls hold no key.
    idempotency_key = models.CharField(max_length=64, null=True)  # noqa: DJ001
    money_family = models.CharField(max_length=40, blank=True)
    window_day = models.DateField(null=True)
    rationale = models.TextField(blank=True)
    undoes = models.UUIDField(null=True, help_text="The call that this one takes back.")
    undo = models.JSONField(null=True, help_text="Tool and arguments of the call that would take this one back.")
    undo_until = models.DateTimeField(null=True)
    unknown_since = models.DateTimeField(null=True, help_text="Set while nobody knows whether it took effect.")
    created_at = models.DateTimeField()
    intended_at = models.DateTimeField(null=True, help_text="When it was made, or is; not when it was proposed.")

    class Meta:
        db_table = "invocation"
        constraints = [
            models.UniqueConstraint(fields=["session_id", "position"], name="one_write_a_step"),
            # As a constraint and not of the field, which would get a second index for prefixes.
            models.UniqueConstraint(fields=["idempotency_key"], name="one_call_an_idempotency_key"),
            models.CheckConstraint(condition=invocation_fits(), name="invocation_fits"),
        ]
        indexes = [
            # Not on the state: a column that changes with every call must not stand in an index (HOT).
            models.Index(
                fields=["tenant_id", "id"], condition=Q(unknown_since__isnull=False), name="invocation_unknown"
            ),
            models.Index(
                fields=["tenant_id", "tool", "intended_at"],
                condition=Q(intended_at__isnull=False),
                name="invocation_made",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool} ({self.state})"

    def is_too_late_to_undo(self, now: datetime) -> bool:
        """Return whether the time in which the call could be taken back is over."""
        return self.undo_until is not None and self.undo_until <= now


class MoneyWindow(models.Model):
    """What tools of one money family have moved for one target, or by one agent, on one business day, in minor units.

    ``target`` is that of the calls, or ``runtime.windows.agent_target``.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant_id = models.UUIDField()
    family = models.CharField(max_length=40)
    target = models.CharField(max_length=160)
    currency = models.CharField(max_length=3)
    day = models.DateField()
    total_minor = models.BigIntegerField(default=0)

    class Meta:
        db_table = "money_window"
        constraints = [
            models.CheckConstraint(condition=Q(total_minor__gte=0), name="a_daily_sum_is_never_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.family} for {self.target} on {self.day}: {self.total_minor} {self.currency}"


class Question(models.Model):
    """What a planner asked a person. The session waits until somebody answers, or until nobody did in time."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant_id = models.UUIDField()
    session_id = models.UUIDField(db_index=True)
    text = models.TextField()
    options = models.JSONField(default=list)
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    answered_by = models.CharField(max_length=150, blank=True)
    answer = models.TextField(blank=True)

    class Meta:
        ordering = ["asked_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["session_id"], condition=Q(closed_at__isnull=True), name="one_open_question_a_session"
            ),
            models.CheckConstraint(
                condition=Q(answered_by="") | Q(closed_at__isnull=False), name="an_answered_question_is_closed"
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(closed_at__isnull=True), name="question_due"),
            models.Index(fields=["tenant_id"], condition=Q(closed_at__isnull=True), name="question_open"),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class ProcessInstance(models.Model):
    """Where a session stands in one of its role's processes. ``compensating``: it failed and is being undone."""

    id = models.UUIDField(primary_key=True, editable=False)
    tenant_id = models.UUIDField()
    session_id = models.UUIDField(db_index=True)
    process = models.CharField(max_length=60)
    version = models.IntegerField()
    state = models.CharField(max_length=60)
    compensating = models.BooleanField(default=False)

    class Meta:
        db_table = "process_instance"

    def __str__(self) -> str:
        return f"{self.process} at {self.state}"


class SpendDay(models.Model):
    """What models cost in one business day: of a tenant, an agent, or a workstream. Micro-dollars.

    ``scope`` is ``tenant``, ``agent:ID`` or ``workstream:NAME``. ``reserved_micro`` belongs to calls under way,
    ``warned`` is the highest percentage of the limit that was warned of.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant_id = models.UUIDField()
    scope = models.CharField(max_length=100)
    day = models.DateField()
    spent_micro = models.BigIntegerField(default=0)
    reserved_micro = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)
    calls = models.IntegerField(default=0)
    warned = models.SmallIntegerField(default=0)

    class Meta:
        db_table = "spend_day"
        indexes = [models.Index(fields=["tenant_id", "day"], name="spend_by_day")]

    def __str__(self) -> str:
        return f"{self.scope} on {self.day}: {self.spent_micro}"


class QuotaSecond(models.Model):
    """What one tenant did in one second of the provider's quota. Rows of the last minute only; see ``runtime.quota``.

    ``second`` counts from 1970, ``calls`` were made in it, ``waits`` were told to ask again in it.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant_id = models.UUIDField()
    second = models.BigIntegerField()
    calls = models.IntegerField(default=0)
    waits = models.IntegerField(default=0)

    class Meta:
        db_table = "quota_second"

    def __str__(self) -> str:
        return f"{self.calls} calls in second {self.second}"
