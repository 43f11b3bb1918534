"""Taking a factor away from somebody who lost it."""

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agentops.ledger.models import LedgerEvent
from tests.factories.factors import SECRET, add_app
from tests.factories.people import Cast, make_admin

pytestmark = pytest.mark.django_db

LIST = "admin:mfa_authenticator_changelist"


@pytest.fixture
def root(cast: Cast) -> User:
    return make_admin("root", cast.tenant)


@pytest.fixture
def admin(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


def remove(client: Client, factor: Authenticator) -> int:
    return client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"}).status_code


def test_admin_takes_a_factor_away_on_record(admin: Client, cast: Cast) -> None:
    factor = add_app(cast.alice)
    assert remove(admin, factor) == 302
    event = LedgerEvent.objects.get(type="factor.removed")
    assert (event.actor, event.facts) == ("user:root", {"person": "alice", "factor": "totp"})
    assert not Authenticator.objects.exists()


def test_admin_sees_no_secret_and_no_other_tenant(admin: Client, cast: Cast) -> None:
    factor, foreign = add_app(cast.alice), add_app(cast.charlie)
    page = admin.get(reverse("admin:mfa_authenticator_change", args=[factor.pk])).content.decode()
    assert SECRET not in page
    assert str(factor.data["secret"]) not in page
    assert "charlie" not in admin.get(reverse(LIST)).content.decode()
    assert remove(admin, foreign) in (302, 404)
    assert Authenticator.objects.filter(pk=foreign.pk).exists()


def test_own_factor_is_not_removed_in_the_admin(admin: Client, root: User) -> None:
    factor = add_app(root)
    assert remove(admin, factor) == 403
    data = {"action": "delete_selected", "_selected_action": [factor.pk], "post": "yes"}
    admin.post(reverse(LIST), data)
    assert Authenticator.objects.filter(pk=factor.pk).exists()


def test_nobody_adds_a_factor_for_another(admin: Client) -> None:
    assert admin.get(reverse("admin:mfa_authenticator_add")).status_code == 403
