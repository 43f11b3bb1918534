"""The versions of a tenant's own rules, of which one at most is active."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import agentops.kernel.ids


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0008_secret_consent"),
    ]

    operations = [
        migrations.CreateModel(
            name="RuleSet",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("document", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("note", models.CharField(help_text="Why it was written.", max_length=300)),
                ("made_by", models.CharField(max_length=150)),
                ("made_at", models.DateTimeField()),
                ("active", models.BooleanField(default=False)),
                ("activated_by", models.CharField(blank=True, max_length=150)),
                ("activated_at", models.DateTimeField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rule_sets", to="agentops.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["tenant", "-number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "number"), name="rule_set_numbers_are_unique_in_a_tenant"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("active", True)), fields=("tenant",), name="one_rule_set_is_active_a_tenant"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("active", False),
                            models.Q(models.Q(("activated_by", ""), _negated=True), ("activated_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="an_active_rule_set_was_activated_by_somebody",
                    ),
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruleset",
            trigger=pgtrigger.compiler.Trigger(
                name="bumps_epoch",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    constraint="CONSTRAINT",
                    func="\nINSERT INTO switchboard (id, epoch) VALUES (1, 1)\nON CONFLICT (id) DO UPDATE SET epoch = switchboard.epoch + 1; RETURN NULL;",
                    hash="06a7e1bfa0f6fa8c36e4a8cb6d0ad4f7848ac9cf",
                    operation="INSERT OR UPDATE OR DELETE",
                    pgid="pgtrigger_bumps_epoch_6ba96",
                    table="agentops_ruleset",
                    timing="DEFERRABLE INITIALLY DEFERRED",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruleset",
            trigger=pgtrigger.compiler.Trigger(
                name="what_was_written_stays",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                IF (OLD.id, OLD.tenant_id, OLD.number, OLD.document, OLD.digest, OLD.note, OLD.made_by, OLD.made_at)\n                  IS DISTINCT FROM\n                  (NEW.id, NEW.tenant_id, NEW.number, NEW.document, NEW.digest, NEW.note, NEW.made_by, NEW.made_at)\n                THEN RAISE EXCEPTION 'a version of a rule set never changes'; END IF;\n                RETURN NEW;",
                    hash="c49fd0cccd1d505bed3eddfe7aba93ea43d8fb1c",
                    operation="UPDATE",
                    pgid="pgtrigger_what_was_written_stays_7a85f",
                    table="agentops_ruleset",
                    when="BEFORE",
                ),
            ),
        ),
    ]
