"""The sequencer: every committed event gets one index, whoever writes, dies or restores meanwhile."""

from uuid import UUID

import pytest

from agentops.ledger.append import Event, append_to
from agentops.ledger.log import index_of, log_size, tree_head
from agentops.ledger.log_models import LedgerEntry
from agentops.ledger.sequencing import sequence

TENANT = UUID(int=7)


@pytest.mark.django_db(transaction=True)
def test_committed_events_get_indexes_in_order() -> None:
    stream = append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep"), Event("b", "sweep")])
    other = append_to(tenant_id=TENANT, name="agent:y", events=[Event("c", "sweep")])
    assert sequence() == 3
    assert [index_of(stream, 0), index_of(stream, 1), index_of(other, 0)] == [0, 1, 2]
    assert (sequence(), log_size(), LedgerEntry.objects.count()) == (0, 3, 3)
    assert tree_head().size == 3
