from typing import Any

import pytest
from allauth.mfa.models import Authenticator

from agentops.accounts.demo import seed_factors
from tests.factories.people import Cast

pytestmark = pytest.mark.django_db


def test_demo_approvers_get_a_factor_once(cast: Cast, settings: Any) -> None:
    settings.DEMO_ACCOUNTS = (
        {"name": "alice", "password": "p", "role": "approver", "does": "decides"},
        {"name": "bob", "password": "p", "role": "support", "does": "works"},
    )
    seed_factors()
    seed_factors()
    assert list(Authenticator.objects.values_list("user__username", "type")) == [("alice", "totp")]


def test_without_demo_accounts_nobody_gets_one(cast: Cast) -> None:
    seed_factors()
    assert not Authenticator.objects.exists()
