"""The app's registration with Django."""

from django.apps import AppConfig


class SreAgentConfig(AppConfig):
    """SRE agent."""

    name = "sre_agent"
    label = "sre_agent"
    verbose_name = "SRE agent"
    default_auto_field = "django.db.models.BigAutoField"
