"""The tables of the control plane, so that Django finds them. Import them from their packages."""

from agentops.agents.models import Agent, AgentVersion, Threshold, ToolGrant
from agentops.ledger.models import LedgerEvent, LedgerRow, Payload, Stream
from agentops.runtime.models import Invocation, MoneyWindow, Session
from agentops.tenancy.models import Membership, Tenant

__all__ = [
    "Agent",
    "AgentVersion",
    "Invocation",
    "LedgerEvent",
    "LedgerRow",
    "Membership",
    "MoneyWindow",
    "Payload",
    "Session",
    "Stream",
    "Tenant",
    "Threshold",
    "ToolGrant",
]
