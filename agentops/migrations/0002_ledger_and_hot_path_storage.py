"""What Django's schema editor cannot say: the transaction column, the admin's view, and storage settings."""

from django.db import migrations

TRANSACTION_COLUMN = """
ALTER TABLE ledger_event ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX ledger_event_xid ON ledger_event (xid, stream, position);
"""

ROW_VIEW = """
CREATE VIEW ledger_row AS
SELECT stream::text || ':' || position AS id, stream, position, at, tenant_id, type, actor, refs, facts
FROM ledger_event;
"""

# A session row is updated at every step: room on the page keeps the update in place (HOT).
ROOM_FOR_UPDATES = """
ALTER TABLE session SET (fillfactor = 60);
ALTER TABLE invocation SET (fillfactor = 80);
"""


class Migration(migrations.Migration):
    dependencies = [("agentops", "0001_control_plane_tables")]

    operations = [
        migrations.RunSQL(
            TRANSACTION_COLUMN, "DROP INDEX ledger_event_xid; ALTER TABLE ledger_event DROP COLUMN xid CASCADE"
        ),
        migrations.RunSQL(ROW_VIEW, "DROP VIEW ledger_row"),
        migrations.RunSQL(
            ROOM_FOR_UPDATES, "ALTER TABLE session RESET (fillfactor); ALTER TABLE invocation RESET (fillfactor)"
        ),
    ]
