"""System checks of the vault's master keys."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from agentops.ledger.keys import VaultClosed
from agentops.ledger.sealing import BadMasterKey, master_keys


@register()
def check_master_keys(**_: Any) -> list[CheckMessage]:
    """agentops.E107: there is no master key, or what is set is none."""
    try:
        if master_keys(settings.VAULT_KEY):
            return []
    except BadMasterKey as error:
        return [Error(error.message, hint=error.next_step, id="agentops.E107")]
    return [Error("Payloads cannot be sealed: there is no master key.", hint=VaultClosed.next_step, id="agentops.E107")]
