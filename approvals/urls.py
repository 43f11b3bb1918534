"""Addresses of the approver's pages."""

from django.urls import include, path

from approvals import bulk_views, desk_views, edit_views, paper_views, queue_views, verb_views, views
from approvals.duties import views as duty_views
from approvals.notices import views as notice_views
from approvals.routes import views as route_views

urlpatterns = [
    path("", queue_views.queue, name="approval_queue"),
    path("news/", queue_views.news, name="approval_news"),
    path("next/", desk_views.next_request, name="approval_next"),
    path("bulk/", bulk_views.bulk, name="approval_bulk"),
    path("views/", desk_views.view_save, name="approval_view_save"),
    path("views/<int:pk>/delete/", desk_views.view_delete, name="approval_view_delete"),
    path("<uuid:pk>/claim/", desk_views.claim_request, name="approval_claim"),
    path("<uuid:pk>/release/", desk_views.release_request, name="approval_release"),
    path("<uuid:pk>/skip/", desk_views.skip_request, name="approval_skip"),
    path("away/", route_views.away, name="approval_away"),
    path("away/<int:pk>/end/", route_views.away_end, name="approval_away_end"),
    path("duties/", duty_views.duties, name="approval_duties"),
    path("duties/<int:pk>/revoke/", duty_views.revoke_duty, name="approval_duty_revoke"),
    path("notices/", notice_views.preferences, name="notice_preferences"),
    path("notices/link/", notice_views.link, name="notice_link"),
    path("", include("approvals.insight.urls")),
    path("<uuid:pk>/", views.detail, name="approval_request"),
    path("<uuid:pk>/decide/", views.decide, name="approval_decide"),
    path("<uuid:pk>/draft/", paper_views.draft, name="approval_draft"),
    path("<uuid:pk>/edit/", edit_views.edit, name="approval_edit"),
    path("<uuid:pk>/ask/", verb_views.ask, name="approval_ask"),
    path("<uuid:pk>/escalate/", verb_views.escalate, name="approval_escalate"),
    path("<uuid:pk>/take-over/", verb_views.take_over, name="approval_take_over"),
    path("<uuid:pk>/assign/", verb_views.assign, name="approval_assign"),
    path("<uuid:pk>/undo/", verb_views.undo, name="approval_undo"),
    path("<uuid:pk>/print/", paper_views.on_paper, name="approval_print"),
    path("<uuid:pk>/export.json", paper_views.export, name="approval_export"),
]
