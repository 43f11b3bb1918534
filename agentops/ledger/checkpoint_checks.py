"""System checks of what signs checkpoints and of where they are kept."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's name

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.signing_keys import BadLogKey, log_keys
from agentops.ledger.sinks import sinks


@register()
def check_log_key(**_: Any) -> list[CheckMessage]:
    """agentops.E108: LEDGER_KEY cannot be used, or is missing where lag stops writes."""
    found = _problem(log_keys, "agentops.E108")
    if not found and settings.LEDGER_LAG_STOPS_WRITES and not settings.LEDGER_KEY:
        words = "LEDGER_LAG_STOPS_WRITES is on, but nothing signs checkpoints, so it would stop nothing."
        found = [Error(words, hint=BadLogKey.next_step, id="agentops.E108")]
    return found


@register()
def check_sinks(**_: Any) -> list[CheckMessage]:
    """agentops.E109: LEDGER_SINKS cannot be read."""
    return _problem(sinks, "agentops.E109")


@register(Tags.security, deploy=True)
def check_evidence(**_: Any) -> list[CheckMessage]:
    """agentops.W002: nothing signs checkpoints. agentops.W003: they are kept nowhere but in the database."""
    if not settings.LEDGER_KEY:
        words = "Nothing signs checkpoints of the ledger, so its database can be changed without a trace."
        return [Warning(words, hint=BadLogKey.next_step, id="agentops.W002")]
    if not settings.LEDGER_SINKS:
        words = "Checkpoints of the ledger are kept in its own database only."
        return [Warning(words, hint="Set LEDGER_SINKS: docs/evidence.md.", id="agentops.W003")]
    return []


def _problem(read: Callable[[], object], number: str) -> list[CheckMessage]:
    try:
        read()
    except AgentOpsError as error:
        return [Error(error.message, hint=error.next_step, id=number)]
    return []
