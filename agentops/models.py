"""The tables of the control plane, so that Django finds them. Import them from their packages."""

from agentops.agents.models import Agent, AgentVersion, Elevation, Threshold, ToolGrant
from agentops.api.models import WebhookDelivery, WebhookEndpoint, WebhookLatest
from agentops.gateway.models import Breaker, SecretConsent
from agentops.ledger.checkpoint_models import LedgerCheckpoint, LedgerCosignature, LedgerDelivery
from agentops.ledger.log_models import LedgerEntry, LedgerHead, LedgerSubtree
from agentops.ledger.models import LedgerEvent, LedgerRow, Payload, Stream
from agentops.ledger.vault_models import LedgerKey, LegalHold
from agentops.policy.models import RuleSet
from agentops.runtime.models import Invocation, MoneyWindow, ProcessInstance, Question, QuotaSecond, Session, SpendDay
from agentops.runtime.rate_models import KnownTarget, RateLimit
from agentops.runtime.schedule_models import RoleSchedule
from agentops.tenancy.models import Freeze, Membership, Switchboard, Tenant

__all__ = [
    "Agent",
    "AgentVersion",
    "Breaker",
    "Elevation",
    "Freeze",
    "Invocation",
    "KnownTarget",
    "LedgerCheckpoint",
    "LedgerCosignature",
    "LedgerDelivery",
    "LedgerEntry",
    "LedgerEvent",
    "LedgerHead",
    "LedgerKey",
    "LedgerRow",
    "LedgerSubtree",
    "LegalHold",
    "Membership",
    "MoneyWindow",
    "Payload",
    "ProcessInstance",
    "Question",
    "QuotaSecond",
    "RateLimit",
    "RoleSchedule",
    "RuleSet",
    "SecretConsent",
    "Session",
    "SpendDay",
    "Stream",
    "Switchboard",
    "Tenant",
    "Threshold",
    "ToolGrant",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookLatest",
]
