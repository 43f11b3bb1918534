"""Addresses that programs call."""

from django.urls import path

from agentops.api import views

urlpatterns = [path("hooks/<str:public_id>/", views.hook, name="hook")]
