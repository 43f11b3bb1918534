"""Drills in the admin and from the command line."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from approvals.insight import drills
from approvals.models import Drill, Verdict
from tests.approvals.conftest import client_of
from tests.factories.people import Cast, make_admin, make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def admin(cast: Cast) -> Client:
    return client_of(make_admin("root", cast.tenant))


def test_the_command_adds_what_is_missing(cast: Cast) -> None:
    said = StringIO()
    call_command("add_drills", "north", stdout=said)
    call_command("add_drills", "north", stdout=said)
    assert said.getvalue() == "10 drills added for North Goods.\n0 drills added for North Goods.\n"
    with pytest.raises(CommandError, match="There is no tenant 'west'"):
        call_command("add_drills", "west")
    with pytest.raises(CommandError, match="South Goods has no queue yet"):
        call_command("add_drills", "south")


def test_content_that_no_page_can_show_is_refused(cast: Cast, admin: Client) -> None:
    drills.ensure(cast.tenant)
    drill = Drill.objects.order_by("id")[0]
    url = reverse("admin:approvals_drill_change", args=[drill.pk])
    data: dict[str, Any] = {
        "queue": cast.queue.pk,
        "name": "Mine",
        "right": "reject",
        "lesson": "So.",
        "is_active": "on",
    }
    for content in ('{"changes": [1]}', "[1]", '{"arguments": "x"}', '{"risk": {"score": "high"}}'):
        refused = admin.post(url, {**data, "content": content})
        assert refused.status_code == 200, content
        assert "A page cannot be made of this." in refused.content.decode(), content
    taken = admin.post(url, {**data, "content": '{"effect": "Pay $5.00", "tier": 2}'})
    assert taken.status_code == 302
    drill.refresh_from_db()
    assert drill.content == {"effect": "Pay $5.00", "tier": 2}
    assert LedgerEvent.objects.filter(type="config.changed").exists()


def test_an_answered_drill_keeps_what_it_was(cast: Cast, admin: Client) -> None:
    drills.ensure(cast.tenant)
    drill = Drill.objects.order_by("id")[0]
    drills.answer(drill=drill, person=cast.alice, verdict=Verdict.REJECT, confidence=80, now=timezone.now())
    url = reverse("admin:approvals_drill_change", args=[drill.pk])
    assert admin.post(url, {"queue": cast.queue.pk, "name": "Mine", "right": "approve"}).status_code == 302
    before = drill.name, drill.right
    drill.refresh_from_db()
    assert ((drill.name, drill.right), drill.is_active) == (before, False)
    assert admin.post(reverse("admin:approvals_drill_delete", args=[drill.pk]), {"post": "yes"}).status_code == 403
