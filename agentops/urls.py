"""Every address of the installation: of the control plane, of approvals, and of the roles that bring pages."""

from django.contrib import admin
from django.urls import include, path

from agentops import health
from agentops.registry.roles import all_roles

urlpatterns = [
    path("healthz", health.live, name="live"),
    path("readyz", health.ready, name="ready"),
    path("admin/", admin.site.urls),
    path("account/", include("agentops.accounts.urls")),
    path("approvals/", include("approvals.urls")),
    *(path(f"{role.name}/", include(role.screens.urlconf)) for role in all_roles() if role.screens),
    path("", include("agentops.api.urls")),
    path("", include("agentops.console.urls")),
]
