"""A credential as a tool gets it: for one call, and never shown (pure).

A tool names a capability, such as ``stripe_charges``. The gateway finds the value and puts a ``Secret`` into the call's
context; when the call is over, the value is gone.
"""

import re
from typing import NoReturn

from agentops.kernel.errors import AgentOpsError

CAPABILITY = re.compile(r"[a-z][a-z0-9_]{0,59}\Z", re.ASCII)
"""What a capability is called: the name becomes part of paths and of names of variables."""


class SecretOver(AgentOpsError):
    """A secret was asked for outside the call that it was given for."""

    code = "SECRET_OVER"
    next_step = "Ask for the value inside the call, and keep no copy of the object."


class Secret:
    """The value of a capability. Printing, formatting, logging and writing it as JSON show its name only."""

    __slots__ = ("_value", "capability")

    def __init__(self, capability: str, value: str) -> None:
        self.capability = capability
        self._value: str | None = value

    def reveal(self) -> str:
        """Return the value. Raises SecretOver when the call is over."""
        if self._value is None:
            raise SecretOver(f"The secret {self.capability} was given for a call that is over.")
        return self._value

    def end(self) -> None:
        """Forget the value: the call is over."""
        self._value = None

    def __repr__(self) -> str:
        return f"<secret {self.capability}>"

    def __format__(self, form: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raise TypeError: a secret is neither pickled nor copied."""
        raise TypeError("a secret cannot be pickled or copied")
