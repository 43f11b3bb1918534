"""The versions of a tenant's rule set."""

import pgtrigger
from django.db import models
from django.db.models import Q

from agentops.kernel.ids import new_id
from agentops.tenancy.models import Tenant
from agentops.tenancy.switchboard import bumps_epoch


class RuleSet(models.Model):
    """One version: what was written, by whom, and whether it holds. Nothing but that ever changes.

    ``document`` is in the form of ``policy.ruleset``, ``digest`` the SHA-256 of its canonical form in hex.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="rule_sets")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    note = models.CharField(max_length=300, help_text="Why it was written.")
    made_by = models.CharField(max_length=150)
    made_at = models.DateTimeField()
    active = models.BooleanField(default=False)
    activated_by = models.CharField(max_length=150, blank=True)
    activated_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["tenant", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "number"], name="rule_set_numbers_are_unique_in_a_tenant"),
            models.UniqueConstraint(
                fields=["tenant"], condition=Q(active=True), name="one_rule_set_is_active_a_tenant"
            ),
            models.CheckConstraint(
                condition=Q(active=False) | (~Q(activated_by="") & Q(activated_at__isnull=False)),
                name="an_active_rule_set_was_activated_by_somebody",
            ),
        ]
        triggers = [
            bumps_epoch(),
            pgtrigger.Trigger(
                name="what_was_written_stays",
                level=pgtrigger.Row,
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                func="""
                IF (OLD.id, OLD.tenant_id, OLD.number, OLD.document, OLD.digest, OLD.note, OLD.made_by, OLD.made_at)
                  IS DISTINCT FROM
                  (NEW.id, NEW.tenant_id, NEW.number, NEW.document, NEW.digest, NEW.note, NEW.made_by, NEW.made_at)
                THEN RAISE EXCEPTION 'a version of a rule set never changes'; END IF;
                RETURN NEW;""",
            ),
        ]

    def __str__(self) -> str:
        return f"version {self.number}"
