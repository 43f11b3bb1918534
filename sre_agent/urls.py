"""Addresses of the pages of incidents, under ``/sre/``."""

from django.urls import path

from sre_agent import act_views, views

urlpatterns = [
    path("", views.incidents, name="sre_incidents"),
    path("status/", views.status, name="sre_status"),
    path("incidents/<str:ref>/", views.incident, name="sre_incident"),
    path("incidents/<str:ref>/post-mortem/", views.post_mortem, name="sre_post_mortem"),
    path("incidents/<str:ref>/acknowledge/", act_views.acknowledge, name="sre_incident_acknowledge"),
    path("incidents/<str:ref>/take-over/", act_views.take_over, name="sre_incident_take_over"),
    path("incidents/<str:ref>/resolve/", act_views.resolve, name="sre_incident_resolve"),
    path("incidents/<str:ref>/reopen/", act_views.reopen, name="sre_incident_reopen"),
    path("updates/<str:ref>/publish/", views.publish, name="sre_publish"),
    path("updates/<str:ref>/discard/", views.discard, name="sre_discard"),
    path("updates/<str:ref>/post-again/", views.post_again, name="sre_post_again"),
    path("pages/<str:ref>/acknowledge/", views.acknowledge, name="sre_acknowledge"),
]
