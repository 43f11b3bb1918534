"""The app's registration with Django."""

from importlib import import_module

from django.apps import AppConfig


class AgentopsConfig(AppConfig):
    """Control plane."""

    name = "agentops"
    label = "agentops"
    verbose_name = "Control plane"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, which need the loaded apps."""
        import_module("agentops.gateway.checks")
        import_module("agentops.ledger.checks")
        import_module("agentops.ledger.checkpoint_checks")
        import_module("agentops.ledger.vault_checks")
        import_module("agentops.llm.checks")
        import_module("agentops.policy.checks")
        import_module("agentops.registry.checks")
