"""What somebody proved in this web session, and how long ago."""

import time
from typing import cast

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest

FACTORS = (Authenticator.Type.WEBAUTHN, Authenticator.Type.TOTP)
"""What counts as a second factor. A recovery code is for a lost one, and is written down somewhere."""

MANAGING_SECONDS = 300
"""Within so many seconds of the password, and of a factor if there is one, somebody may change their factors."""


def fresh_factor(request: HttpRequest) -> str:
    """Return the factor that was shown within ``settings.STEP_UP_SECONDS``, "" when none was.

    The factor must still be the person's: one that was removed since proves nothing.
    """
    kinds = [kind.value for kind in FACTORS]
    for record in reversed(_records(request, settings.STEP_UP_SECONDS)):
        if record.get("method") == "mfa" and record.get("type") in kinds:
            kept = Authenticator.objects.filter(pk=record.get("id"), user_id=request.user.pk, type=record["type"])
            if kept.exists():
                return str(record["type"])
    return ""


def has_factor(user: User) -> bool:
    """Return whether the person has a second factor."""
    return bool(Authenticator.objects.filter(user=user, type__in=FACTORS).exists())


def missing_to_manage(request: HttpRequest) -> str:
    """Return what must be shown before factors may be changed: ``password``, ``mfa``, or "" when nothing is missing.

    The password alone does not do where there is a factor: it would let whoever stole it bring their own.
    """
    shown = {record.get("method") for record in _records(request, MANAGING_SECONDS) if record.get("reauthenticated")}
    if "password" not in shown:
        return "password"
    return "mfa" if has_factor(cast("User", request.user)) and "mfa" not in shown else ""


def _records(request: HttpRequest, seconds: int) -> list[dict[str, object]]:
    """Return what this person showed in this session within so many seconds, oldest first."""
    now, found = time.time(), get_authentication_records(request, request.user)
    return [record for record in found if isinstance(at := record.get("at"), int | float) and 0 <= now - at <= seconds]
