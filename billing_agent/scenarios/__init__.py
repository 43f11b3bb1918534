"""Scenarios of the billing desk: the situations it meets, and the walls that hold whatever a planner proposes."""

from billing_agent.scenarios.amounts import AMOUNTS
from billing_agent.scenarios.corrections import CORRECTIONS
from billing_agent.scenarios.payments import PAYMENTS
from billing_agent.scenarios.plans import PLANS
from billing_agent.scenarios.senders import SENDERS
from billing_agent.scenarios.walls import WALLS

SCENARIOS = (*CORRECTIONS, *PAYMENTS, *PLANS, *SENDERS, *AMOUNTS, *WALLS)

__all__ = ["SCENARIOS"]
