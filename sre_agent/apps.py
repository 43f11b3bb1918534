"""The app's registration with Django."""

from django.apps import AppConfig
from django.core import checks

from sre_agent.checks import cluster_can_be_used, systems_can_be_used, vendors_can_be_used


class SreAgentConfig(AppConfig):
    """SRE agent."""

    name = "sre_agent"
    label = "sre_agent"
    verbose_name = "SRE agent"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the app's checks."""
        checks.register(systems_can_be_used)
        checks.register(vendors_can_be_used)
        checks.register(cluster_can_be_used)
