"""Scenarios of roles, worked by the real runtime in tenants of their own. See ``suite``."""
