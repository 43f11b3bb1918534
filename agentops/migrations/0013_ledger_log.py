"""The log over the events: entries, roots of full subtrees, and the place of the sequencer."""

import django.db.models.functions.text
import django.db.models.lookups
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import agentops.ledger.log_models


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0012_webhooks_and_schedules"),
    ]

    operations = [
        migrations.CreateModel(
            name="LedgerHead",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("size", models.BigIntegerField()),
                ("chain_hash", models.BinaryField()),
                ("cursor", agentops.ledger.log_models.TransactionIdField()),
                ("system_identifier", models.BigIntegerField()),
                ("resume_at", agentops.ledger.log_models.TransactionIdField(null=True)),
            ],
            options={
                "db_table": "ledger_head",
            },
        ),
        migrations.CreateModel(
            name="LedgerSubtree",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "level", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("level", models.SmallIntegerField()),
                ("index", models.BigIntegerField()),
                ("hash", models.BinaryField()),
            ],
            options={
                "db_table": "ledger_subtree",
            },
        ),
        migrations.CreateModel(
            name="LedgerEntry",
            fields=[
                ("index", models.BigIntegerField(primary_key=True, serialize=False)),
                ("stream", models.UUIDField()),
                ("position", models.IntegerField()),
                ("leaf_hash", models.BinaryField()),
                ("chain_hash", models.BinaryField()),
            ],
            options={
                "db_table": "ledger_entry",
                "constraints": [
                    models.UniqueConstraint(fields=("stream", "position"), name="an_event_stands_in_the_log_once"),
                    models.CheckConstraint(condition=models.Q(("index__gte", 0)), name="the_log_starts_at_zero"),
                    models.CheckConstraint(
                        condition=models.Q(
                            django.db.models.lookups.Exact(django.db.models.functions.text.Length("leaf_hash"), 32),
                            django.db.models.lookups.Exact(django.db.models.functions.text.Length("chain_hash"), 32),
                        ),
                        name="hashes_of_the_log_have_32_bytes",
                    ),
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgerentry",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;",
                    hash="1136bbfe1bb01c660ca7316f4e237eb57b3c1563",
                    level="STATEMENT",
                    operation="UPDATE OR DELETE OR TRUNCATE",
                    pgid="pgtrigger_append_only_ff7ae",
                    table="ledger_entry",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="ledgerhead",
            constraint=models.CheckConstraint(condition=models.Q(("id", 1)), name="the_log_has_one_head"),
        ),
        migrations.AddConstraint(
            model_name="ledgerhead",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    django.db.models.lookups.Exact(django.db.models.functions.text.Length("chain_hash"), 32),
                    ("size__gte", 0),
                ),
                name="a_head_has_a_size_and_a_link",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgerhead",
            trigger=pgtrigger.compiler.Trigger(
                name="never_shrinks",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (NEW."size" < (OLD."size"))',
                    func="RAISE EXCEPTION 'the log never shrinks';",
                    hash="356d1480f6f145440767933774c7ddf96333b0ec",
                    operation="UPDATE",
                    pgid="pgtrigger_never_shrinks_260a1",
                    table="ledger_head",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgerhead",
            trigger=pgtrigger.compiler.Trigger(
                name="stays",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'the head of the log stays';",
                    hash="36a2412290c453e75202f68b2613f98454c497cb",
                    level="STATEMENT",
                    operation="DELETE OR TRUNCATE",
                    pgid="pgtrigger_stays_a961b",
                    table="ledger_head",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="ledgersubtree",
            constraint=models.CheckConstraint(
                condition=models.Q(("level__gte", 1), ("level__lte", 8)), name="subtrees_have_levels_from_one_to_eight"
            ),
        ),
        migrations.AddConstraint(
            model_name="ledgersubtree",
            constraint=models.CheckConstraint(
                condition=models.Q(django.db.models.lookups.Exact(django.db.models.functions.text.Length("hash"), 32)),
                name="roots_of_subtrees_have_32_bytes",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgersubtree",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;",
                    hash="58a240d1f264e843a6cb540d8313fc5189c276c9",
                    level="STATEMENT",
                    operation="UPDATE OR DELETE OR TRUNCATE",
                    pgid="pgtrigger_append_only_7a0f5",
                    table="ledger_subtree",
                    when="BEFORE",
                ),
            ),
        ),
    ]
