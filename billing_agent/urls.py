"""Addresses of billing's pages, under ``/billing/``."""

from django.urls import path

from billing_agent import views

urlpatterns = [
    path("", views.customers, name="billing_customers"),
    path("customers/<path:ref>/", views.customer, name="billing_customer"),
    path("invoices/<path:ref>/", views.invoice, name="billing_invoice"),
    path("journal/", views.journal, name="billing_journal"),
    path("journal/export/", views.export, name="billing_export"),
]
