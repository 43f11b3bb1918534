"""Why a message is not taken. What the sender is told gives nothing away to whoever only found the address."""

from agentops.kernel.errors import AgentOpsError


class HookRefused(AgentOpsError):
    """A message that is not taken; ``status`` is the answer's. Nothing of it was kept, unless the class says so."""

    status = 400
    code = "BAD_REQUEST"
    next_step = "Send JSON as the sender's interface describes it."


class NotHere(HookRefused):
    """No such endpoint, one that is off, or one of the other mode than this installation."""

    status = 404
    code = "NOT_FOUND"
    next_step = "Look up the address."


class NotPosted(HookRefused):
    """Another method than POST."""

    status = 405
    code = "METHOD_NOT_ALLOWED"
    next_step = "Send it by POST."


class TooLarge(HookRefused):
    """A body that is larger than any event is."""

    status = 413
    code = "TOO_LARGE"
    next_step = "Send less."


class TooMany(HookRefused):
    """More calls in this minute than the endpoint takes."""

    status = 429
    code = "TOO_MANY"
    next_step = "Try again in a minute."


class Unverified(HookRefused):
    """No signature, a wrong one, or one of another time: which of them is not told."""

    status = 401
    code = "UNVERIFIED"
    next_step = "Sign it with the endpoint's secret, by a clock that is right."


class NotNow(HookRefused):
    """It could not be taken, and nothing followed from it: the sender tries again. What failed is kept to be seen."""

    status = 503
    code = "NOT_NOW"
    next_step = "Send it again later."
