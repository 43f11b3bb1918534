"""Erasing people and holding records in the admin: asked twice, permitted, on record, within one's own tenants."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from agentops.kernel.ids import derived_id
from agentops.ledger.erasing import erase
from agentops.ledger.holds import place_hold
from agentops.ledger.models import LedgerEvent
from agentops.ledger.vault_models import LedgerKey, LegalHold
from agentops.runtime.models import Session
from approvals.models import ApprovalRequest
from tests.console.conftest import DONE, Stage, pay, signed_in
from tests.console.operators import superuser_of
from tests.console.test_admin import save

KEYS = "/admin/agentops/ledgerkey/"
HOLDS = "/admin/agentops/legalhold/"
ANN = "customer:ann"


def ask(client: Client, **more: str) -> bytes:
    chosen = [str(pk) for pk in LedgerKey.objects.values_list("pk", flat=True)]
    answer = client.post(KEYS, {"action": "erase_people", "_selected_action": chosen, **more}, follow=True)
    assert answer.status_code == 200
    return answer.content


def is_erased() -> bool:
    return LedgerKey.objects.filter(subject=ANN, destroyed_at=None).count() == 0


def test_a_person_is_erased_after_a_second_page(stage: Stage) -> None:
    stage.work(pay(500), DONE)
    root = superuser_of(stage)
    page = ask(root).decode()
    assert "Erase for good" in page
    assert ANN in page
    assert not is_erased()
    assert "was erased" in ask(root, confirm="erase", reason="Asked for.").decode()
    assert is_erased()
    event = LedgerEvent.objects.get(type="subject.erased")
    assert (event.actor, event.facts["subject"]) == ("user:root", ANN)
    assert Session.objects.get().title == "Erased"


def test_without_the_permission_there_is_no_such_action(stage: Stage) -> None:
    stage.work(pay(500), DONE)
    stage.cast.alice.is_staff = True
    stage.cast.alice.save()
    stage.cast.alice.user_permissions.add(Permission.objects.get(codename="view_ledgerkey"))
    alice = signed_in(stage.cast.alice)
    ask(alice, confirm="erase")
    assert not is_erased()
    stage.cast.alice.user_permissions.add(Permission.objects.get(codename="erase_subject"))
    ask(signed_in(stage.cast.alice), confirm="erase")
    assert is_erased()


def test_people_of_another_tenant_are_out_of_reach(stage: Stage) -> None:
    stage.work(pay(500), DONE)
    stage.cast.charlie.is_staff = stage.cast.charlie.is_superuser = True
    stage.cast.charlie.save()
    ask(signed_in(stage.cast.charlie), confirm="erase")
    assert not is_erased()


def test_key_is_shown_to_nobody_and_changed_by_nobody(stage: Stage) -> None:
    stage.work(pay(500), DONE)
    root, key = superuser_of(stage), LedgerKey.objects.filter(subject=ANN)[0]
    page = root.get(f"{KEYS}{key.pk}/change/").content
    assert bytes(key.wrapped or b"").hex().encode() not in page
    assert root.post(f"{KEYS}{key.pk}/change/", {"subject": "customer:bea"}).status_code == 403
    assert root.post(f"{KEYS}{key.pk}/delete/", {"post": "yes"}).status_code == 403


def test_hold_is_placed_and_lifted_on_record_and_stands_in_the_way(stage: Stage) -> None:
    stage.work(pay(500), DONE)
    root, tenant = superuser_of(stage), str(stage.cast.tenant.pk)
    save(root, f"{HOLDS}add/", tenant=tenant, subject=ANN, reason="Case 7.")
    hold = LegalHold.objects.get()
    assert (hold.subject, hold.placed_by) == (ANN, "user:root")
    assert "Case 7." in ask(root, confirm="erase").decode()
    assert not is_erased()
    root.post(HOLDS, {"action": "lift", "_selected_action": [str(hold.pk)]})
    ask(root, confirm="erase")
    assert is_erased()
    stream = derived_id(tenant, f"tenant:{tenant}")
    told = LedgerEvent.objects.filter(stream=stream, type__startswith="hold.").order_by("position")
    assert [(event.type, event.actor) for event in told] == [("hold.placed", "user:root"), ("hold.lifted", "user:root")]


def test_hold_on_nobody_is_refused_in_the_form(stage: Stage) -> None:
    root = superuser_of(stage)
    given = {"tenant": str(stage.cast.tenant.pk), "subject": "ann", "reason": "Case 7."}
    assert "names no data subject" in root.post(f"{HOLDS}add/", given).content.decode()
    assert not LegalHold.objects.exists()


def test_hold_is_neither_edited_nor_deleted(stage: Stage) -> None:
    hold = place_hold(tenant_id=stage.cast.tenant.pk, subject=ANN, reason="Case 7.", actor="user:bob")
    root = superuser_of(stage)
    assert root.post(f"{HOLDS}{hold.pk}/change/", {"reason": "x"}).status_code == 403
    assert root.post(f"{HOLDS}{hold.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("minor", [500, 5_000])
def test_pages_say_what_was_erased(stage: Stage, bob: Client, alice: Client, minor: int) -> None:
    session = stage.work(pay(minor), DONE, text="My name is Ann Ash.")
    erase(tenant_id=stage.cast.tenant.pk, subject=ANN, actor="user:dpo")
    page = bob.get(reverse("session_detail", args=[session.pk]))
    assert page.status_code == 200
    assert "Erased on" in page.content.decode()
    assert "Ann Ash" not in page.content.decode()
    for position in range(session.position):
        assert bob.get(reverse("step_payload", args=[session.pk, position])).status_code == 200
    for request in ApprovalRequest.objects.all():
        for name in ("approval_request", "approval_print"):
            shown = alice.get(reverse(name, args=[request.pk]))
            assert shown.status_code == 200
            assert "Ann Ash" not in shown.content.decode()
        assert "Erased on" in alice.get(reverse("approval_request", args=[request.pk])).content.decode()
