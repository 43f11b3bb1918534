"""Addresses of figures, drills, regrets and examples, below those of the approver's pages."""

from django.urls import path

from approvals.insight import drill_views, figure_views, said_views

urlpatterns = [
    path("figures/", figure_views.metrics, name="approval_metrics"),
    path("figures/export/", figure_views.metrics_export, name="approval_metrics_export"),
    path("figures/people/", figure_views.signals, name="approval_signals"),
    path("drills/", drill_views.drill_list, name="approval_drills"),
    path("drills/calibration/", drill_views.calibration, name="approval_calibration"),
    path("drills/<uuid:pk>/", drill_views.drill, name="approval_drill"),
    path("examples/", said_views.exemplar_list, name="approval_exemplars"),
    path("examples/<uuid:pk>/review/", said_views.exemplar_review, name="approval_exemplar_review"),
    path("examples/<uuid:pk>/retire/", said_views.exemplar_retire, name="approval_exemplar_retire"),
    path("<uuid:pk>/regret/", said_views.regret, name="approval_regret"),
    path("<uuid:pk>/example/", said_views.exemplar_propose, name="approval_exemplar_propose"),
    path("<uuid:pk>/rule/", said_views.rule, name="approval_rule"),
]
