from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0012_webhooks_and_schedules"),
        ("sre_agent", "0001_sre_tables"),
    ]

    operations = [
        migrations.AddField(
            model_name="incident",
            name="acknowledged_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="incident",
            name="acknowledged_by",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="incident",
            name="held_by",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="incident",
            name="reopened_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("acknowledged_at__isnull", True), ("acknowledged_by", "")),
                    models.Q(("acknowledged_at__isnull", False), models.Q(("acknowledged_by", ""), _negated=True)),
                    _connector="OR",
                ),
                name="an_acknowledgement_has_a_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(("held_by", ""), ("status", "escalated"), _connector="OR"),
                name="only_what_is_with_people_is_held",
            ),
        ),
    ]
