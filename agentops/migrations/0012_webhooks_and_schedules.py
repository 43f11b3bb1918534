"""Where senders tell roles something, what they told, and what roles do by the calendar."""

import django.db.models.deletion
from django.db import migrations, models

import agentops.api.models
import agentops.kernel.ids


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0011_agent_owner"),
    ]

    operations = [
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "public_id",
                    models.CharField(
                        default=agentops.api.models.new_public_id, editable=False, max_length=64, unique=True
                    ),
                ),
                ("role", models.CharField(max_length=40)),
                ("source", models.CharField(max_length=40)),
                ("name", models.CharField(help_text="What people call it here.", max_length=120)),
                (
                    "secret",
                    models.CharField(
                        help_text="The name of the credential that the sender signs with, such as stripe_webhook.",
                        max_length=60,
                    ),
                ),
                (
                    "former_secret",
                    models.CharField(
                        blank=True,
                        help_text="While it is changed: the name of the one before, which still counts.",
                        max_length=60,
                    ),
                ),
                (
                    "former_until",
                    models.DateTimeField(blank=True, help_text="When the former one stops counting.", null=True),
                ),
                (
                    "live",
                    models.BooleanField(
                        default=False, help_text="Whether its events are about real money and machines."
                    ),
                ),
                (
                    "per_minute",
                    models.PositiveIntegerField(
                        default=600, help_text="At most this many calls a minute are answered."
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("event_id", models.CharField(max_length=200)),
                ("type", models.CharField(max_length=120)),
                ("happened_at", models.DateTimeField(help_text="By the sender's clock.")),
                ("received_at", models.DateTimeField()),
                ("digest", models.CharField(help_text="SHA-256 of the body.", max_length=64)),
                ("body", models.BinaryField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("taken", "taken"),
                            ("ignored", "nothing follows from it"),
                            ("failed", "failed, is tried again"),
                        ],
                        default="failed",
                        max_length=8,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("words", models.CharField(blank=True, help_text="What followed.", max_length=500)),
                ("error", models.CharField(blank=True, max_length=300)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="agentops.webhookendpoint",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "webhook deliveries",
            },
        ),
        migrations.CreateModel(
            name="WebhookLatest",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_index=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "webhook_latest",
            },
        ),
        migrations.CreateModel(
            name="RoleSchedule",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("role", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=40)),
                ("due_at", models.DateTimeField()),
                ("leased_until", models.DateTimeField(null=True)),
                ("fence", models.IntegerField(default=0)),
                ("ran_at", models.DateTimeField(null=True)),
                ("done", models.BigIntegerField(default=0, help_text="How many things were done so far.")),
                (
                    "refused",
                    models.IntegerField(
                        default=0, help_text="How many things were refused in the last run, and stay due."
                    ),
                ),
                ("failed_since", models.DateTimeField(null=True)),
                ("words", models.TextField(blank=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "role_schedule",
                "indexes": [
                    models.Index(fields=["due_at"], name="schedule_due"),
                    models.Index(
                        condition=models.Q(("failed_since__isnull", False), ("refused__gt", 0), _connector="OR"),
                        fields=["tenant"],
                        name="schedule_troubled",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.UniqueConstraint(fields=("tenant", "name"), name="one_webhook_endpoint_a_name"),
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("former_secret", ""), ("former_until__isnull", True)),
                    models.Q(models.Q(("former_secret", ""), _negated=True), ("former_until__isnull", False)),
                    _connector="OR",
                ),
                name="a_former_secret_counts_until_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(("former_secret", models.F("secret")), _negated=True),
                name="a_former_secret_is_another_one",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(("per_minute__gte", 1)), name="an_endpoint_takes_something"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(condition=models.Q(("state", "failed")), fields=["tenant"], name="delivery_failed"),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.UniqueConstraint(fields=("endpoint", "event_id"), name="one_delivery_an_event"),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "failed"), ("error", ""), _connector="OR"),
                name="what_was_taken_has_no_error",
            ),
        ),
    ]
