"""The app's registration with Django."""

from django.apps import AppConfig
from django.core import checks

from billing_agent.checks import stripe_can_be_used


class BillingAgentConfig(AppConfig):
    """Billing agent."""

    name = "billing_agent"
    label = "billing_agent"
    verbose_name = "Billing agent"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the app's checks."""
        checks.register(stripe_can_be_used)
