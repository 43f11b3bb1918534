"""The index over transactions holds the transaction alone: what one transaction wrote is few rows, and is sorted."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agentops", "0005_one_index_of_the_key")]

    operations = [
        migrations.RunSQL(
            "DROP INDEX ledger_event_xid; CREATE INDEX ledger_event_xid ON ledger_event (xid)",
            "DROP INDEX ledger_event_xid; CREATE INDEX ledger_event_xid ON ledger_event (xid, stream, position)",
        ),
    ]
