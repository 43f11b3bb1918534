"""The Django app of the support agent."""

from django.apps import AppConfig


class SupportAgentConfig(AppConfig):
    """Registers the desk's tables."""

    name = "support_agent"
    verbose_name = "Support desk"
    default_auto_field = "django.db.models.BigAutoField"
