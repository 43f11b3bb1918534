"""The sums that limits on money are checked against."""

from django.db.models import QuerySet

from agentops.runtime.models import MoneyWindow
from agentops.runtime.windows import agent_target


def sums_of_targets() -> QuerySet[MoneyWindow]:
    """Return the sums of whom calls were about, without those of the agents that made them."""
    return MoneyWindow.objects.exclude(target__startswith=agent_target(""))


def sums_of_agents() -> QuerySet[MoneyWindow]:
    """Return the sums of the agents that made calls."""
    return MoneyWindow.objects.filter(target__startswith=agent_target(""))
