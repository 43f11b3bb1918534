"""Who reads the pages of billing, and where they stand."""

from agentops.registry.screens import Screens
from agentops.tenancy.models import Role

READERS = frozenset(Role)
"""Everybody of the tenant: the same customers and amounts stand in the sessions and requests that they work on."""

EXPORTERS = frozenset({Role.ADMIN})
"""Who may take a copy of the whole journal out of the house."""

SCREENS = Screens(title="Billing", icon="sum", home="billing_customers", urlconf="billing_agent.urls", readers=READERS)
