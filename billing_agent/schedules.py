"""What billing does by the calendar."""

from datetime import timedelta

from agentops.registry.schedule import ScheduleSpec
from billing_agent.connectors.renewing import run_due

SCHEDULES = (ScheduleSpec("due", "Renewals, charges and dunning", timedelta(minutes=5), run_due),)
