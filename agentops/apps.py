"""The app's registration with Django."""

from django.apps import AppConfig


class AgentopsConfig(AppConfig):
    """Control plane."""

    name = "agentops"
    label = "agentops"
    verbose_name = "Control plane"
    default_auto_field = "django.db.models.BigAutoField"
