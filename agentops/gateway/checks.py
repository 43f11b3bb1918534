"""System checks of what tools name as their secrets, and of where secrets are looked up."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from agentops.gateway.consents import capabilities
from agentops.gateway.credentials import source_of
from agentops.gateway.sources import SourceFailed
from agentops.registry.secret import CAPABILITY


@register()
def check_capabilities(**_: Any) -> list[CheckMessage]:
    """agentops.E105: a tool names a capability by something that is no plain name."""
    hint = "Begin with a letter, and use small letters, digits and underscores, 60 at most."
    return [
        Error(f"A tool names the capability {name!r}.", hint=hint, id="agentops.E105")
        for name in capabilities()
        if not CAPABILITY.match(name)
    ]


@register()
def check_secret_source(**_: Any) -> list[CheckMessage]:
    """agentops.E106: the source of secrets lacks a setting."""
    try:
        source_of(settings.SECRET_SOURCE)
    except SourceFailed as error:
        return [Error(error.message, hint=error.next_step, id="agentops.E106")]
    return []
