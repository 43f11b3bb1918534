"""Somebody who decides and edits a request keeps a draft of each form."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0004_the_approvers_workspace"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="draft",
            name="form",
            field=models.CharField(
                choices=[("decide", "decision"), ("edit", "edit and resubmit")],
                db_default="decide",
                default="decide",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.UniqueConstraint(
                fields=("request", "person", "form"), name="one_draft_a_person_and_form"
            ),
        ),
        migrations.RemoveConstraint(
            model_name="draft",
            name="one_draft_a_person",
        ),
    ]
