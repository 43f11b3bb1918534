"""A tenant's credential outside a tool's call: for work of a role that an operator or the calendar starts."""

from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from agentops.registry.secret import Secret


class Lender(Protocol):
    """Lends a credential; ``settings.CREDENTIAL_LENDER`` names the implementation."""

    def __call__(self, tenant_id: UUID, capability: str) -> AbstractContextManager[Secret]:
        """Lend the credential until the context ends. Raises ToolFailure AUTH without consent or value."""


def lent(tenant_id: UUID, capability: str) -> AbstractContextManager[Secret]:
    """Lend the tenant's credential for a piece of work. Raises ToolFailure when there is none to be had."""
    lender: Lender = import_string(settings.CREDENTIAL_LENDER)
    return lender(tenant_id, capability)
