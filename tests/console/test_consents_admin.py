"""Consent to credentials in the admin: given and taken back, on record, within one's own tenants."""

import pytest
from django.test import Client

from agentops.gateway import consents
from agentops.gateway.consents import CannotConsent, give_consent, revoke_consent
from agentops.gateway.models import SecretConsent
from agentops.kernel.ids import derived_id
from agentops.ledger.models import LedgerEvent
from tests.console.conftest import Stage
from tests.console.operators import superuser_of
from tests.console.test_admin import form_of, save

URL = "/admin/agentops/secretconsent/"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("agentops.gateway.consents", "agentops.console.admin.consents"):
        monkeypatch.setattr(f"{module}.capabilities", lambda: ["mail_api", "shop_api"])


def told(stage: Stage) -> list[tuple[str, str, object]]:
    stream = derived_id(str(stage.cast.tenant.pk), f"tenant:{stage.cast.tenant.pk}")
    events = LedgerEvent.objects.filter(stream=stream, type__startswith="consent.").order_by("position")
    return [(event.type, event.actor, event.facts) for event in events]


def give(stage: Stage, client: Client) -> SecretConsent:
    save(client, f"{URL}add/", tenant=str(stage.cast.tenant.pk), capability="shop_api", environment="sandbox")
    return SecretConsent.objects.get(revoked_at=None)


def test_consent_is_given_and_taken_back_on_record(stage: Stage) -> None:
    root = superuser_of(stage)
    made = give(stage, root)
    assert (made.tenant, made.capability, made.environment) == (stage.cast.tenant, "shop_api", "sandbox")
    assert give(stage, root) == made, "one that stands is not given twice"
    root.post(URL, {"action": "take_back", "_selected_action": [str(made.pk)]})
    made.refresh_from_db()
    assert (made.revoked_by, made.revoked_at is None) == ("user:root", False)
    facts = {"capability": "shop_api", "environment": "sandbox"}
    assert told(stage) == [("consent.given", "user:root", facts), ("consent.revoked", "user:root", facts)]
    revoke_consent(consent_id=made.pk, actor="user:eve")
    made.refresh_from_db()
    assert made.revoked_by == "user:root"
    assert give(stage, root) != made


def test_consent_is_neither_edited_nor_deleted(stage: Stage) -> None:
    root = superuser_of(stage)
    made = give(stage, root)
    assert root.get(f"{URL}{made.pk}/change/").status_code == 200
    assert root.post(f"{URL}{made.pk}/change/", {"environment": "production"}).status_code == 403
    assert root.post(f"{URL}{made.pk}/delete/", {"post": "yes"}).status_code == 403
    root.post(URL, {"action": "delete_selected", "_selected_action": [str(made.pk)], "post": "yes"})
    made.refresh_from_db()
    assert (made.environment, made.revoked_at) == ("sandbox", None)


def test_person_of_another_tenant_sees_and_gives_nothing_here(stage: Stage) -> None:
    made = give(stage, superuser_of(stage))
    far = superuser_of(stage, "ruth", stage.cast.other)
    assert far.get(URL).context["cl"].result_count == 0
    far.post(URL, {"action": "take_back", "_selected_action": [str(made.pk)]})
    response = far.post(
        f"{URL}add/",
        {
            **form_of(far, f"{URL}add/"),
            "tenant": str(stage.cast.tenant.pk),
            "capability": "mail_api",
            "environment": "sandbox",
        },
    )
    assert response.status_code == 200
    assert list(SecretConsent.objects.values_list("capability", "revoked_at")) == [("shop_api", None)]


@pytest.mark.parametrize(("capability", "environment"), [("nothing_names_it", "sandbox"), ("shop_api", "everywhere")])
def test_consent_to_what_there_is_not_is_refused(stage: Stage, capability: str, environment: str) -> None:
    with pytest.raises(CannotConsent):
        give_consent(tenant_id=stage.cast.tenant.pk, capability=capability, environment=environment, actor="user:root")
    assert not SecretConsent.objects.exists()


def test_capabilities_are_those_that_installed_tools_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert consents.capabilities() == []
