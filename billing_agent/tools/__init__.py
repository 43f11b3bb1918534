"""The written-out list of the role's tools."""

from dataclasses import replace

from agentops.registry.tool import ToolSpec
from billing_agent.connectors import STRIPE_KEY, uses_stripe
from billing_agent.tools.cases import CASES
from billing_agent.tools.charges import CHARGES
from billing_agent.tools.credits import CREDITS
from billing_agent.tools.invoices import INVOICES
from billing_agent.tools.lookups import LIST_MAIL_TEMPLATES, LOOKUPS
from billing_agent.tools.mails import MAILS
from billing_agent.tools.subscriptions import SUBSCRIPTIONS

_OF_THE_HOUSE = (LIST_MAIL_TEMPLATES, *MAILS, *CASES)


def _with_key(tool: ToolSpec) -> ToolSpec:
    """Return the tool as the system of record needs it: what is asked of Stripe needs the tenant's key."""
    return replace(tool, secret=STRIPE_KEY) if uses_stripe() and tool not in _OF_THE_HOUSE else tool


TOOLS = tuple(_with_key(tool) for tool in (*LOOKUPS, *CREDITS, *CHARGES, *INVOICES, *SUBSCRIPTIONS, *MAILS, *CASES))
