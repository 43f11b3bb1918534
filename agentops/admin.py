"""Where Django's admin finds the screens; they stand in the console's package."""

from agentops.console.admin import agents, operations, records, tenancy

__all__ = ["agents", "operations", "records", "tenancy"]
