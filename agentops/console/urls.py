"""Addresses of the staff screens."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from agentops.console import views

urlpatterns = [
    path("", views.home, name="home"),
    path("login/", views.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("theme/", views.set_theme, name="theme"),
    path("tenant/", views.set_tenant, name="tenant"),
    path("sessions/", views.session_list, name="session_list"),
    path("sessions/new/", views.session_new, name="session_new"),
    path("sessions/<uuid:session_id>/", views.session_detail, name="session_detail"),
    path(
        "sessions/<uuid:session_id>/events/<int:position>/payload/",
        views.step_payload,
        name="step_payload",
    ),
]
