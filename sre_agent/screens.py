"""Who reads the pages of incidents, and where they stand."""

from agentops.registry.screens import Screens
from agentops.tenancy.access import OPERATORS
from agentops.tenancy.models import Role

READERS = frozenset(Role)
"""Everybody of the tenant: the same incidents stand in the sessions and requests that they work on."""

TELLERS = OPERATORS
"""Who may work on incidents, publish what customers read, answer a page, and take a post-mortem out of the house."""

SCREENS = Screens(title="Incidents", icon="alert", home="sre_incidents", urlconf="sre_agent.urls", readers=READERS)
