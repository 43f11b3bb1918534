"""Addresses of the approver's pages."""

from django.urls import path

from approvals import views

urlpatterns = [
    path("", views.queue, name="approval_queue"),
    path("news/", views.news, name="approval_news"),
    path("<uuid:pk>/", views.detail, name="approval_request"),
    path("<uuid:pk>/decide/", views.decide, name="approval_decide"),
]
