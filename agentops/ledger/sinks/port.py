"""What every sink is."""

from dataclasses import dataclass
from typing import Protocol

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.notes import Signature

SECONDS = 5.0
"""So long a sink is waited for."""


class SinkFailed(AgentOpsError):
    """A sink did not take a checkpoint. It is tried again later."""

    code = "SINK_FAILED"
    next_step = "Look whether the sink is up and may be written to."


class Contradicted(AgentOpsError):
    """A sink holds something that cannot be true together with the checkpoint. It is not tried again."""

    code = "SINK_CONTRADICTED"
    next_step = "The log has two histories. Run manage.py ledger verify with what the sink keeps, before anything else."


@dataclass(frozen=True)
class Delivered:
    """The checkpoint at ``size`` entries, as bytes of its note, and when it was signed, in seconds since 1970."""

    size: int
    root: bytes
    note: bytes
    unix_time: int


@dataclass(frozen=True)
class Witnessed:
    """What a sink answered: the cosignatures it gave, none where it only keeps."""

    signatures: tuple[Signature, ...] = ()


class Sink(Protocol):
    """A place. ``latest_only``: of several checkpoints it needs the last one."""

    name: str
    latest_only: bool

    def deliver(self, checkpoint: Delivered, *, last: int) -> Witnessed:
        """Have the checkpoint kept; doing so twice is doing it once.

        ``last`` is the size of the last one the sink took, 0 without one. Raises SinkFailed and Contradicted.
        """
