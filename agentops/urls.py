"""Every address of the installation."""

from django.contrib import admin
from django.urls import include, path

from agentops import health

urlpatterns = [
    path("healthz", health.live, name="live"),
    path("readyz", health.ready, name="ready"),
    path("admin/", admin.site.urls),
    path("account/", include("agentops.accounts.urls")),
    path("approvals/", include("approvals.urls")),
    path("", include("agentops.console.urls")),
]
