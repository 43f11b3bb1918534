"""Second factors of people, and codes as an authenticator app shows them."""

import base64
import hashlib
import hmac
import struct
import time

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

SECRET = base64.b32encode(b"only-for-tests-20byt").decode()


def add_app(person: User) -> Authenticator:
    """Give the person an authenticator app."""
    factor: Authenticator = TOTP.activate(person, SECRET).instance
    return factor


def code_of(secret: str = SECRET, *, steps: int = 0) -> str:
    """Return the code that the app shows now, or so many half minutes from now (RFC 6238)."""
    counter = int(time.time()) // 30 + steps
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", counter), hashlib.sha1).digest()
    offset = digest[-1] & 15
    (number,) = struct.unpack(">I", digest[offset : offset + 4])
    return f"{(number & 0x7FFFFFFF) % 10**6:06d}"


def step_up(client: Client, *, steps: int = 0) -> None:
    """Show a code in the person's browser."""
    answer = client.post(reverse("mfa_reauthenticate"), {"code": code_of(steps=steps)})
    assert answer.status_code == 302, answer.content
