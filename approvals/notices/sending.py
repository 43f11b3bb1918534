"""How sending a message can fail, in the two kinds that matter, and once more for a server that asks to wait."""

from agentops.kernel.errors import AgentOpsError


class NotSent(AgentOpsError):
    """It was not sent, or nobody knows. It is tried again."""

    code = "NOT_SENT"
    next_step = "It is tried again by itself."


class NeverSent(AgentOpsError):
    """It cannot be sent until somebody changes something."""

    code = "NEVER_SENT"
    next_step = "Correct the address or the channel, then try again in the admin."


class AskedToWait(AgentOpsError):
    """The other side takes no more for ``seconds``. That is no failed attempt."""

    code = "ASKED_TO_WAIT"
    next_step = "It is sent when the time is over."

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds
