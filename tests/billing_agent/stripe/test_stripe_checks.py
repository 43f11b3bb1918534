"""What the system checks say where Stripe is to be used."""

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from billing_agent import checks


def found() -> list[str]:
    return [message.id for message in run_checks() if (message.id or "").startswith("billing.")]


def test_stripe_needs_its_sdk_and_a_safe_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found() == []
    with override_settings(BILLING_SYSTEM="stripe"):
        assert found() == []
        monkeypatch.setattr(checks, "find_spec", lambda name: None)
        with override_settings(STRIPE_URL="http://stripe.example"):
            assert found() == ["billing.E001", "billing.E002"]


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://api.stripe.com", True),
        ("http://127.0.0.1:8000", True),
        ("http://api.stripe.com", False),
        ("http://127.0.0.1.example.com", False),
        ("ftp://127.0.0.1", False),
        ("", False),
    ],
)
def test_address_that_a_key_may_be_sent_to(url: str, safe: bool) -> None:
    assert checks.is_safe_address(url) is safe
