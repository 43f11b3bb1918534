"""Proofs that somebody can check with ``auditverify``: of one event, and that a later log continues an earlier one."""

from uuid import UUID

from agentops.kernel.canonical import JSON
from agentops.kernel.errors import AgentOpsError
from agentops.ledger import auditverify
from agentops.ledger.entries import Signed, checkpoint_of, entry_of, last_checkpoint, proof_record
from agentops.ledger.log import consistency, inclusion


class NotProvable(AgentOpsError):
    """No checkpoint covers the event yet, or there is no such event or checkpoint."""

    code = "NOT_PROVABLE"
    next_step = "An event is covered some seconds after it happened. Look whether the sequencer and the signer run."


def prove(stream: UUID, position: int, *, body: bool = True) -> dict[str, JSON]:
    """Return the proof that an event is in the log that the last checkpoint signed, for ``auditverify prove``.

    With ``body`` the payload comes along, unless it was erased. Raises NotProvable and EventGone.
    """
    last = last_checkpoint()
    entry = entry_of(stream, position)
    if entry is None or last is None or entry.index >= last.size:
        raise NotProvable(f"no checkpoint covers {stream}:{position}")
    proof = proof_record(entry, inclusion(entry.index, last.size), body=body)
    return {"format": auditverify.PROOF, "note": last.note, **proof}


def prove_consistency(old: int, new: int) -> dict[str, JSON]:
    """Return the proof that the checkpoint of size ``new`` continues that of size ``old``. Raises NotProvable."""
    earlier, later = _checkpoint(old), _checkpoint(new)
    if not 0 < old <= new:
        raise NotProvable("the first size must not be larger than the second, and not nothing")
    path = [node.hex() for node in consistency(old, new)]
    return {"format": auditverify.CONSISTENCY, "old": earlier.note, "new": later.note, "path": path}


def _checkpoint(size: int) -> Signed:
    found = checkpoint_of(size)
    if found is None:
        raise NotProvable(f"there is no checkpoint of size {size}")
    return found
