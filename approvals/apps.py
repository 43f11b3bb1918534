"""The app's registration with Django."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Approvals."""

    name = "approvals"
    label = "approvals"
    verbose_name = "Approvals"
    default_auto_field = "django.db.models.BigAutoField"
