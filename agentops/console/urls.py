"""Addresses of the staff screens."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path

from agentops.console import control_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("login/", views.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("theme/", views.set_theme, name="theme"),
    path("tenant/", views.set_tenant, name="tenant"),
    path("operations/", include("agentops.console.operations.urls")),
    path("calls/<str:key>/", views.call, name="call"),
    path("sessions/", views.session_list, name="session_list"),
    path("sessions/new/", views.session_new, name="session_new"),
    path("sessions/<uuid:session_id>/", views.session_detail, name="session_detail"),
    path(
        "sessions/<uuid:session_id>/events/<int:position>/payload/",
        views.step_payload,
        name="step_payload",
    ),
    path(
        "sessions/<uuid:session_id>/events/<int:position>/evidence/",
        views.step_evidence,
        name="step_evidence",
    ),
    path("sessions/<uuid:session_id>/pause/", control_views.pause, name="session_pause"),
    path("sessions/<uuid:session_id>/resume/", control_views.resume, name="session_resume"),
    path("sessions/<uuid:session_id>/cancel/", control_views.cancel, name="session_cancel"),
    path("sessions/<uuid:session_id>/take-over/", control_views.take_over, name="session_take_over"),
    path("sessions/<uuid:session_id>/hand-back/", control_views.hand_back, name="session_hand_back"),
    path("sessions/<uuid:session_id>/priority/", control_views.priority, name="session_priority"),
    path("sessions/<uuid:session_id>/step/", control_views.step, name="session_step"),
    path("sessions/<uuid:session_id>/finish/", control_views.finish, name="session_finish"),
    path(
        "sessions/<uuid:session_id>/questions/<uuid:question_id>/answer/",
        control_views.answer,
        name="session_answer",
    ),
    path(
        "sessions/<uuid:session_id>/calls/<uuid:invocation_id>/undo/",
        control_views.undo,
        name="session_undo",
    ),
    path("sessions/<uuid:session_id>/elevations/", control_views.elevate, name="session_elevate"),
    path(
        "sessions/<uuid:session_id>/elevations/<uuid:elevation_id>/revoke/",
        control_views.revoke,
        name="session_revoke",
    ),
]
