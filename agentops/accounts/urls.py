"""Addresses of a person's account. The names are those that allauth looks for."""

from django.urls import path
from django.views.generic import RedirectView

from agentops.accounts import views

urlpatterns = [
    path("", views.Account.as_view(), name="mfa_index"),
    path("login/", RedirectView.as_view(pattern_name="login"), name="account_login"),
    path("confirm/factor/", views.StepUp.as_view(), name="step_up"),
    path("confirm/", views.ProvePassword.as_view(), name="account_reauthenticate"),
    path("confirm/code/", views.ProveCode.as_view(), name="mfa_reauthenticate"),
    path("confirm/passkey/", views.ProvePasskey.as_view(), name="mfa_reauthenticate_webauthn"),
    path("app/add/", views.AddApp.as_view(), name="mfa_activate_totp"),
    path("app/remove/", views.RemoveApp.as_view(), name="mfa_deactivate_totp"),
    path("passkeys/", RedirectView.as_view(pattern_name="mfa_index"), name="mfa_list_webauthn"),
    path("passkeys/add/", views.AddPasskey.as_view(), name="mfa_add_webauthn"),
    path("passkeys/<int:pk>/remove/", views.RemovePasskey.as_view(), name="mfa_remove_webauthn"),
    path("recovery-codes/", views.ShowCodes.as_view(), name="mfa_view_recovery_codes"),
    path("recovery-codes/new/", views.MakeCodes.as_view(), name="mfa_generate_recovery_codes"),
]
