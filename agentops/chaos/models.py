"""What the drill keeps in its scratch database: the work it feeds, what was tried, and what its person decides.

No installation has these tables: the app is listed in ``agentops.chaos.settings`` alone.
"""

from django.db import models

from agentops.kernel.ids import new_id


class Fed(models.Model):
    """A piece of work that was put before the role that is drilled, under the id that its session has as its subject.

    ``by_hand``: no intake takes it, a person starts the session.
    """

    ref = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.UUIDField()
    script = models.CharField(max_length=40)
    by_hand = models.BooleanField(default=False)

    class Meta:
        app_label = "chaos"

    def __str__(self) -> str:
        return f"{self.ref}: {self.script}"


class Attempt(models.Model):
    """How often something was tried, by all workers together."""

    key = models.CharField(primary_key=True, max_length=200)
    count = models.IntegerField()

    class Meta:
        app_label = "chaos"

    def __str__(self) -> str:
        return f"{self.key}: {self.count}"


class Job(models.Model):
    """A piece of work of the drill's own role. ``script`` names what its planner proposes."""

    ref = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.UUIDField()
    script = models.CharField(max_length=40)
    taken = models.BooleanField(default=False)

    class Meta:
        app_label = "chaos"

    def __str__(self) -> str:
        return f"{self.ref}: {self.script}"


class Request(models.Model):
    """A call that waits for the drill's person, or did. ``verdict``: what the person will say, "" for nothing."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    invocation_id = models.UUIDField(db_index=True)
    session_id = models.UUIDField()
    preview = models.JSONField()
    policy_version = models.CharField(max_length=60)
    verdict = models.CharField(max_length=10, blank=True)
    state = models.CharField(max_length=10, default="pending", db_index=True)
    expires_at = models.DateTimeField()
    void_reason = models.CharField(max_length=300, blank=True)
    answers = models.IntegerField(default=0)

    class Meta:
        app_label = "chaos"

    def __str__(self) -> str:
        return f"{self.invocation_id} ({self.state})"
