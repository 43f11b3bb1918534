"""What a verdict rests on is kept with the request that it led to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0002_how_many_people_must_approve"),
    ]

    operations = [
        migrations.AddField(
            model_name="approvalrequest",
            name="facts",
            field=models.JSONField(default=dict, help_text="What was decided on, as it stands in the ledger."),
        ),
    ]
