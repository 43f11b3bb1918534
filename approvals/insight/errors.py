"""What can stand against saying something about a decision."""

from agentops.kernel.errors import AgentOpsError


class NotCarriedOut(AgentOpsError):
    """The request was not approved and done, so there is nothing to be sorry for and nothing to learn from."""

    code = "NOT_CARRIED_OUT"
    next_step = "Look at the request's state on its page."


class NeedsWords(AgentOpsError):
    """Something that others have to understand was said without words."""

    code = "NEEDS_WORDS"
    next_step = "Say in a sentence why."


class AlreadySaid(AgentOpsError):
    """It was said before, by this person or by somebody else."""

    code = "ALREADY_SAID"
    next_step = "See on the page who said what."


class NotYours(AgentOpsError):
    """Another person has to do this."""

    code = "NOT_YOURS"
    next_step = "Leave it to somebody else who may decide the queue."


class Regretted(AgentOpsError):
    """The run turned out to be wrong, so it is no example."""

    code = "REGRETTED"
    next_step = "Choose a run that nobody regrets."
