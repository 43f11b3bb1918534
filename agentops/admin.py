"""Where Django's admin finds the screens; they stand in the console's package."""

from agentops.console.admin import (
    agents,
    consents,
    factors,
    operations,
    rates,
    records,
    rules,
    tenancy,
    vault,
    webhooks,
)

__all__ = ["agents", "consents", "factors", "operations", "rates", "records", "rules", "tenancy", "vault", "webhooks"]
