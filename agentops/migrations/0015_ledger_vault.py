"""The keys that payloads are sealed with, and legal holds."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import agentops.kernel.ids


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0014_ledger_checkpoints"),
    ]

    operations = [
        migrations.CreateModel(
            name="LegalHold",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "subject",
                    models.CharField(
                        blank=True,
                        help_text="customer:ID, user:NAME or sender:MAIL; nothing means the whole tenant.",
                        max_length=200,
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                ("placed_by", models.CharField(max_length=150)),
                ("placed_at", models.DateTimeField()),
                ("lifted_by", models.CharField(blank=True, max_length=150)),
                ("lifted_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "legal_hold",
                "permissions": [("erase_subject", "Can erase what is held about a person")],
            },
        ),
        migrations.CreateModel(
            name="LedgerKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant_id", models.UUIDField()),
                ("subject", models.CharField(blank=True, max_length=200)),
                (
                    "retention",
                    models.CharField(
                        choices=[
                            ("session", "what sessions saw, said and did"),
                            ("record", "decisions, configuration, accounts"),
                        ],
                        db_column="class",
                        max_length=20,
                    ),
                ),
                ("period", models.CharField(max_length=6)),
                ("wrapped", models.BinaryField(null=True)),
                ("wrapped_by", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField()),
                ("destroyed_at", models.DateTimeField(null=True)),
                (
                    "destroyed_by",
                    models.CharField(
                        blank=True, choices=[("erasure", "Erasure"), ("retention", "Retention")], max_length=20
                    ),
                ),
            ],
            options={
                "db_table": "ledger_key",
                "indexes": [
                    models.Index(fields=["tenant_id", "subject", "retention", "period"], name="key_by_subject"),
                    models.Index(
                        condition=models.Q(("destroyed_at__isnull", True)), fields=["wrapped_by"], name="key_by_master"
                    ),
                    models.Index(
                        condition=models.Q(("destroyed_at__isnull", True)),
                        fields=["retention", "period"],
                        name="key_by_age",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("destroyed_at__isnull", False), ("wrapped__isnull", True)),
                            models.Q(("destroyed_at__isnull", True), ("wrapped__isnull", False)),
                            _connector="OR",
                        ),
                        name="a_key_is_there_or_destroyed",
                    )
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgerkey",
            trigger=pgtrigger.compiler.Trigger(
                name="keys_are_only_destroyed",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\nIF OLD.destroyed_at IS NOT NULL THEN RAISE EXCEPTION 'a destroyed key stays destroyed'; END IF;\nIF (OLD.id, OLD.tenant_id, OLD.subject, OLD.class, OLD.period, OLD.created_at)\n  IS DISTINCT FROM (NEW.id, NEW.tenant_id, NEW.subject, NEW.class, NEW.period, NEW.created_at)\nTHEN RAISE EXCEPTION 'what a key is for does not change'; END IF;\nRETURN NEW;\n",
                    hash="82a6e2bfb4409be11fccf7a7c7e0b2c71363b27f",
                    operation="UPDATE",
                    pgid="pgtrigger_keys_are_only_destroyed_6d153",
                    table="ledger_key",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgerkey",
            trigger=pgtrigger.compiler.Trigger(
                name="keys_leave_a_row",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'rows of % are kept', TG_TABLE_NAME;",
                    hash="7522e115ede17576f132a76b7578ba1f34c8b80b",
                    level="STATEMENT",
                    operation="DELETE OR TRUNCATE",
                    pgid="pgtrigger_keys_leave_a_row_74617",
                    table="ledger_key",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddField(
            model_name="legalhold",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddIndex(
            model_name="legalhold",
            index=models.Index(
                condition=models.Q(("lifted_at__isnull", True)), fields=["tenant", "subject"], name="hold_standing"
            ),
        ),
        migrations.AddConstraint(
            model_name="legalhold",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="a_legal_hold_has_a_reason"
            ),
        ),
        migrations.AddConstraint(
            model_name="legalhold",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lifted_at__isnull", True), ("lifted_by", "")),
                    models.Q(("lifted_at__gte", models.F("placed_at")), ("lifted_at__isnull", False)),
                    _connector="OR",
                ),
                name="a_hold_is_lifted_after_it_is_placed",
            ),
        ),
    ]
