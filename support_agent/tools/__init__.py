"""The written-out list of the role's tools."""

from support_agent.tools.lookups import LOOKUPS
from support_agent.tools.money import MONEY
from support_agent.tools.orders import ORDERS
from support_agent.tools.replies import REPLIES
from support_agent.tools.returns import RETURNS
from support_agent.tools.taking_back import TAKING_BACK
from support_agent.tools.tickets import TICKETS

TOOLS = (*LOOKUPS, *REPLIES, *TICKETS, *MONEY, *ORDERS, *RETURNS, *TAKING_BACK)
