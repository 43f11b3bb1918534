"""Where checkpoints are kept outside of the database: folders, buckets, witnesses.

``LEDGER_SINKS`` names them, with commas between: ``KIND NAME PLACE``, and for a witness its public key after that.
"""

from agentops.ledger.sinks.configured import BadSinks, sinks
from agentops.ledger.sinks.port import Contradicted, Delivered, Sink, SinkFailed, Witnessed

__all__ = ["BadSinks", "Contradicted", "Delivered", "Sink", "SinkFailed", "Witnessed", "sinks"]
