"""What allauth asks the installation: no sign-up, where to go, what a factor is called, how its secret is stored."""

import base64
import hashlib
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import force_bytes


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Accounts are made by admins."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody signs up."""
        return False

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Return to the person's account when nothing else was asked for."""
        return reverse("mfa_index")

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        """Changes of factors are in the ledger; mail of this installation goes through its own outbox."""


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth is untyped
    """Names of factors, and their secrets."""

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        """Return the person's name, as it stands in the authenticator app."""
        return str(user.get_username())

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:  # noqa: A002 - its name
        """Return what a new passkey is called unless the person says otherwise."""
        before = Authenticator.objects.filter(user_id=user.pk, type=type).count()
        return f"Passkey {before + 1}" if before else "Passkey"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return the domain that passkeys are bound to, and its name."""
        entity: dict[str, str] = super().get_public_key_credential_rp_entity()
        return {"id": settings.PASSKEY_DOMAIN or entity["id"], "name": settings.MFA_TOTP_ISSUER}

    def encrypt(self, text: str) -> str:
        """Return a secret as it is stored: whoever reads the database alone has no factor."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return a stored secret."""
        return _cipher().decrypt(encrypted_text.encode()).decode()


def _cipher() -> MultiFernet:
    """The keys come from SECRET_KEY, and from those before it as long as they are listed."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [hashlib.sha256(b"agentops second factor\0" + force_bytes(key)).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
