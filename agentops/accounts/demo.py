"""Second factors of demo accounts. Their secrets are no more secret than their passwords: the page shows the code."""

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from allauth.mfa.utils import decrypt
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest

from agentops.tenancy.models import Role


@transaction.atomic
def seed_factors() -> None:
    """Give each demo account that approves an authenticator app, unless it has one."""
    names = [account["name"] for account in settings.DEMO_ACCOUNTS if account["role"] == Role.APPROVER]
    for person in User.objects.select_for_update().filter(username__in=names):
        if not Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).exists():
            TOTP.activate(person, generate_totp_secret())


def published_code(request: HttpRequest) -> str:
    """Return a code that a demo account can type now, "" for anybody else's account."""
    name = request.user.get_username()
    if name not in {account["name"] for account in settings.DEMO_ACCOUNTS}:
        return ""
    factor = Authenticator.objects.filter(user_id=request.user.pk, type=Authenticator.Type.TOTP).first()
    if factor is None:
        return ""
    secret, app = decrypt(factor.data["secret"]), TOTP(factor)
    codes = [format_hotp_value(hotp_value(secret, counter)) for counter in yield_hotp_counters_from_time()]
    # Each counts once, and nobody wants to wait half a minute for the next one.
    keys = {code: app._get_used_cache_key(code) for code in codes}  # noqa: SLF001 - allauth has no public name for it
    used = cache.get_many(list(keys.values()))
    return next((code for code, key in keys.items() if key not in used), "")
