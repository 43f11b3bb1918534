"""The app's registration with Django."""

from django.apps import AppConfig


class BillingAgentConfig(AppConfig):
    """Billing agent."""

    name = "billing_agent"
    label = "billing_agent"
    verbose_name = "Billing agent"
    default_auto_field = "django.db.models.BigAutoField"
