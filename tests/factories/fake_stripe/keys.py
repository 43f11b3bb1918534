"""API keys with what they may do, and the idempotency keys that were used.

https://docs.stripe.com/api/authentication, /keys/restricted-api-keys and /api/idempotent_requests
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.factories.fake_stripe.errors import ApiError

SECRET_TEST, SECRET_LIVE = "sk_test_fake0000000000000000", "sk_live_fake0000000000000000"
KEPT = 24 * 60 * 60
LONGEST = 255


@dataclass(frozen=True)
class ApiKey:
    """A key of a mode. ``may`` maps a resource to ``read`` or ``write``; None is everything, for a secret key."""

    secret: str
    mode: str
    may: Mapping[str, str] | None = None

    def require(self, resource: str, access: str) -> None:
        """Raise ApiError 403 unless the key has the permission; ``write`` includes ``read``."""
        if self.may is None or self.may.get(resource) in (access, "write"):
            return
        needed = f"rak_{resource}_{access}"
        raise ApiError(
            403,
            f"The provided key '{_shortened(self.secret)}' does not have the required permissions for this endpoint."
            f" Having the '{needed}' permission would allow this request to continue.",
        )


def _shortened(secret: str) -> str:
    return f"{secret[:8]}{'*' * 8}{secret[-4:]}"


def authenticated(keys: Mapping[str, ApiKey], header: str | None) -> ApiKey:
    """Return the key of an Authorization header, bearer or basic. Raises ApiError 401."""
    kind, _, given = (header or "").partition(" ")
    if kind.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode().partition(":")[0]
        except (binascii.Error, UnicodeDecodeError):
            given = ""
    if not given:
        raise ApiError(401, "You did not provide an API key.")
    key = keys.get(given)
    if key is None:
        raise ApiError(401, f"Invalid API Key provided: {_shortened(given)}")
    return key


@dataclass
class Kept:
    """What a key was first used for, and the answer; ``status`` is None while it is under way."""

    method: str
    path: str
    form: Mapping[str, Any]
    at: int
    request: str
    status: int | None = None
    body: bytes = b""


@dataclass
class Idempotency:
    """The keys of one mode. Every method is called under the server's lock."""

    kept: dict[str, Kept] = field(default_factory=dict)

    def begin(self, key: str, call: Kept) -> Kept | None:
        """Claim a key for a call, or return what was answered to it. Raises ApiError 400 and 409."""
        if len(key) > LONGEST:
            raise ApiError(400, f"Idempotency keys can be at most {LONGEST} characters long.")
        known = self.kept.get(key)
        if known is None or call.at - known.at >= KEPT:
            self.kept[key] = call
            return None
        if known.path != call.path or known.method != call.method:
            raise _misused(key, f"for the same endpoint they were first used for ('{call.path}' vs '{known.path}')")
        if known.form != call.form:
            raise _misused(key, "with the same parameters they were first used with")
        if known.status is None:
            raise ApiError(
                409,
                "There is currently another in-progress request using this Idempotent Key (that probably means you"
                f" submitted twice, and the other request is still going through): {key}. Please try again later.",
                code="idempotency_key_in_use",
            )
        return known

    def keep(self, key: str, status: int, body: bytes) -> None:
        """Keep the answer of a call that was executed."""
        self.kept[key].status, self.kept[key].body = status, body

    def forget(self, key: str) -> None:
        """Free the key of a call that was not executed."""
        self.kept.pop(key, None)


def _misused(key: str, how: str) -> ApiError:
    return ApiError(
        400,
        f"Keys for idempotent requests can only be used {how}. Try using a key other than '{key}' if you meant to"
        " execute a different request.",
        kind="idempotency_error",
    )
