"""When calls were made, which targets each tool knows, and limits on how often."""

from collections.abc import Iterator
from typing import Any

import django.core.validators
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import agentops.kernel.ids
from agentops.kernel.ids import derived_id

_MADE = ["intended", "succeeded", "failed", "unknown", "compensated"]


def remember(apps: Any, schema_editor: Any) -> None:
    """Calls that were made before this say when, as well as is known; and the targets that they were made on."""
    calls = apps.get_model("agentops", "Invocation").objects.filter(state__in=_MADE)
    calls.update(intended_at=models.F("created_at"))
    known = apps.get_model("agentops", "KnownTarget")
    known.objects.bulk_create((known(**row) for row in _targets(calls)), batch_size=1_000)


def _targets(calls: Any) -> Iterator[dict[str, Any]]:
    rows = calls.values_list("tenant_id", "tool", "preview__target").annotate(first=models.Min("created_at")).order_by()
    for tenant_id, tool, named, first in rows.iterator():
        target = named or ""
        row_id = derived_id("target", str(tenant_id), tool, target)
        yield {"id": row_id, "tenant_id": tenant_id, "tool": tool, "first_at": first}


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0009_rule_sets"),
    ]

    operations = [
        migrations.CreateModel(
            name="KnownTarget",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("tool", models.CharField(max_length=80)),
                ("first_at", models.DateTimeField()),
            ],
            options={
                "db_table": "known_target",
            },
        ),
        migrations.CreateModel(
            name="RateLimit",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "tool",
                    models.CharField(
                        blank=True,
                        help_text="The tool whose calls count. Empty: the calls of every tool.",
                        max_length=80,
                    ),
                ),
                (
                    "per",
                    models.CharField(
                        choices=[("tool", "tool"), ("target", "target"), ("tenant", "tenant")],
                        help_text="tool: the calls of one tool (of each tool by itself when none is named). target: the calls for one and the same target, such as a customer. tenant: all calls of all agents together; names no tool.",
                        max_length=6,
                        verbose_name="counted per",
                    ),
                ),
                (
                    "most",
                    models.PositiveIntegerField(
                        help_text="So many calls may be made within the window.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000000),
                        ],
                        verbose_name="at most",
                    ),
                ),
                (
                    "window_seconds",
                    models.PositiveIntegerField(
                        help_text="Seconds for which a call counts: 60 is a minute, 3600 an hour, 86400 a day; 31 days at most.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(2678400),
                        ],
                        verbose_name="window",
                    ),
                ),
                (
                    "excess",
                    models.CharField(
                        choices=[("ask", "ask a person"), ("forbid", "forbid"), ("pause", "pause the session")],
                        help_text="What happens to a call beyond the limit. ask: a person decides about it. forbid: the agent is told when there is room again. pause: its session waits until somebody resumes it.",
                        max_length=6,
                        verbose_name="effect",
                    ),
                ),
            ],
            options={
                "ordering": ["tenant", "tool", "per", "window_seconds"],
            },
        ),
        migrations.AddField(
            model_name="invocation",
            name="intended_at",
            field=models.DateTimeField(help_text="When it was made, or is; not when it was proposed.", null=True),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("stop_code", "ANOMALY")), fields=["tenant", "-id"], name="session_unusual"
            ),
        ),
        migrations.RunPython(remember, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="invocation",
            index=models.Index(
                condition=models.Q(("intended_at__isnull", False)),
                fields=["tenant_id", "tool", "intended_at"],
                name="invocation_made",
            ),
        ),
        migrations.AddIndex(
            model_name="knowntarget",
            index=models.Index(fields=["tenant_id", "tool", "first_at"], name="known_target_by_time"),
        ),
        migrations.AddField(
            model_name="ratelimit",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="rate_limits", to="agentops.tenant"
            ),
        ),
        migrations.AddConstraint(
            model_name="ratelimit",
            constraint=models.UniqueConstraint(
                fields=("tenant", "tool", "per", "window_seconds", "excess"), name="one_rate_limit_of_a_kind"
            ),
        ),
        migrations.AddConstraint(
            model_name="ratelimit",
            constraint=models.CheckConstraint(
                condition=models.Q(("per__in", ["tool", "target", "tenant"])),
                name="a_rate_limit_counts_something_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="ratelimit",
            constraint=models.CheckConstraint(
                condition=models.Q(("excess__in", ["forbid", "pause", "ask"])), name="a_rate_limit_has_a_known_effect"
            ),
        ),
        migrations.AddConstraint(
            model_name="ratelimit",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("most__gte", 1),
                    ("most__lte", 1000000),
                    ("window_seconds__gte", 1),
                    ("window_seconds__lte", 2678400),
                ),
                name="a_rate_limit_is_within_bounds",
            ),
        ),
        migrations.AddConstraint(
            model_name="ratelimit",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("per", "tenant"), _negated=True), ("tool", ""), _connector="OR"),
                name="a_rate_limit_per_tenant_names_no_tool",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ratelimit",
            trigger=pgtrigger.compiler.Trigger(
                name="bumps_epoch",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    constraint="CONSTRAINT",
                    func="\nINSERT INTO switchboard (id, epoch) VALUES (1, 1)\nON CONFLICT (id) DO UPDATE SET epoch = switchboard.epoch + 1; RETURN NULL;",
                    hash="7f27b2ec27088cb1b9ba8557ff3bc5e65667cd2d",
                    operation="INSERT OR UPDATE OR DELETE",
                    pgid="pgtrigger_bumps_epoch_11455",
                    table="agentops_ratelimit",
                    timing="DEFERRABLE INITIALLY DEFERRED",
                    when="AFTER",
                ),
            ),
        ),
    ]
