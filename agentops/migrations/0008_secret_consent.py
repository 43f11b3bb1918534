"""Consent of tenants to the use of their credentials."""

import django.db.models.deletion
from django.db import migrations, models

import agentops.kernel.ids


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0007_smaller_rows_and_checks"),
    ]

    operations = [
        migrations.CreateModel(
            name="SecretConsent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "capability",
                    models.CharField(help_text="What a tool names, such as stripe_charges.", max_length=60),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=12),
                ),
                ("given_by", models.CharField(max_length=150)),
                ("given_at", models.DateTimeField()),
                ("revoked_by", models.CharField(blank=True, max_length=150)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "consent to a credential",
                "verbose_name_plural": "consents to credentials",
                "ordering": ["-given_at"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked_at__isnull", True)),
                        fields=("tenant", "capability", "environment"),
                        name="a_consent_is_given_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("revoked_at__isnull", True), models.Q(("revoked_by", ""), _negated=True), _connector="OR"
                        ),
                        name="a_consent_taken_back_says_by_whom",
                    ),
                ],
            },
        ),
    ]
