"""The written-out list of the role's tools."""

from billing_agent.tools.cases import CASES
from billing_agent.tools.charges import CHARGES
from billing_agent.tools.credits import CREDITS
from billing_agent.tools.invoices import INVOICES
from billing_agent.tools.lookups import LOOKUPS
from billing_agent.tools.mails import MAILS
from billing_agent.tools.subscriptions import SUBSCRIPTIONS

TOOLS = (*LOOKUPS, *CREDITS, *CHARGES, *INVOICES, *SUBSCRIPTIONS, *MAILS, *CASES)
