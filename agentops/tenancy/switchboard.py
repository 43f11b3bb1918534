"""The epoch: how a worker knows, without asking, that nothing that decides about its work has changed.

Grants, thresholds, freezes, limits, breakers and elevations are read once and kept; every commit that changes one
of them raises one number in the same transaction. Each durable point of a session returns that number, and a
write's intent is recorded only while it is still the number under which the write was decided. So lowering a dial or
freezing a tenant takes effect at the next durable point of every worker, at the price of one column in a
statement that is sent anyway.

The trigger fires at commit, so that a long transaction of an admin does not hold the row.
"""

import pgtrigger
from django.db import connection

EPOCH = "coalesce((SELECT epoch FROM switchboard WHERE id = 1), 0)"
"""SQL for the present epoch, inside another statement."""

BUMP = """
INSERT INTO switchboard (id, epoch) VALUES (1, 1)
ON CONFLICT (id) DO UPDATE SET epoch = switchboard.epoch + 1"""


def bump_epoch() -> None:
    """Raise the epoch in the caller's transaction: something that no row of these models tells has changed."""
    with connection.cursor() as cursor:
        cursor.execute(BUMP)


def bumps_epoch() -> pgtrigger.Trigger:
    """Return the trigger for a model whose rows decide about work in progress."""
    return pgtrigger.Trigger(
        name="bumps_epoch",
        level=pgtrigger.Row,
        when=pgtrigger.After,
        operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
        timing=pgtrigger.Deferred,
        func=f"{BUMP}; RETURN NULL;",
    )
