"""Scenarios of the SRE role: the troubles it knows, what people say to it, and walls that hold whatever is proposed."""

from sre_agent.scenarios.hostile import HOSTILE
from sre_agent.scenarios.known import KNOWN
from sre_agent.scenarios.people import PEOPLE_DECIDE
from sre_agent.scenarios.unclear import UNCLEAR
from sre_agent.scenarios.vendors import VENDORS
from sre_agent.scenarios.walls import WALLS

SCENARIOS = (*KNOWN, *PEOPLE_DECIDE, *UNCLEAR, *HOSTILE, *VENDORS, *WALLS)

__all__ = ["SCENARIOS"]
