"""Addresses of the operators' pages."""

from django.urls import path

from agentops.console.operations import views

urlpatterns = [
    path("", views.operations, name="operations"),
    path("freezes/", views.freeze_list, name="freeze_list"),
    path("freezes/new/", views.freeze_new, name="freeze_new"),
    path("freezes/<uuid:freeze_id>/", views.freeze_detail, name="freeze_detail"),
    path("freezes/<uuid:freeze_id>/ask/", views.freeze_ask, name="freeze_ask"),
    path("freezes/<uuid:freeze_id>/lift/", views.freeze_lift, name="freeze_lift"),
    path("unknown/", views.unknown_list, name="unknown_list"),
    path("unknown/<uuid:invocation_id>/ask/", views.unknown_ask, name="unknown_ask"),
    path("unknown/<uuid:invocation_id>/settle/", views.unknown_settle, name="unknown_settle"),
    path("breakers/", views.breaker_list, name="breaker_list"),
    path("breakers/<uuid:breaker_id>/reset/", views.breaker_reset, name="breaker_reset"),
    path("questions/", views.question_list, name="question_list"),
    path("spend/", views.spend_today, name="spend_today"),
    path("reconciliation/", views.reconciliation, name="reconciliation"),
    path("blast-radius/", views.blast_radius, name="blast_radius"),
]
