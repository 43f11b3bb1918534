"""Requests in the admin: queues can be shaped, what was asked and decided can only be read."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.forms import ValidationError
from django.test import Client
from django.urls import reverse

from agentops.ledger.models import LedgerEvent
from approvals.access import rights_of
from approvals.forms import SpanField, span_words
from approvals.models import ApprovalQueue, ApprovalRequest, Decision
from tests.approvals.conftest import Stage, client_of, decide
from tests.factories.people import make_queue

LADDER = {"ladder-TOTAL_FORMS": "0", "ladder-INITIAL_FORMS": "0"}
"""What the browser sends for a queue's page besides its own fields."""


@pytest.fixture
def admin(stage: Stage) -> Client:
    """Bob, who administers the installation."""
    User.objects.filter(pk=stage.cast.bob.pk).update(is_staff=True, is_superuser=True)
    stage.cast.bob.refresh_from_db()
    return client_of(stage.cast.bob)


@pytest.mark.django_db
@pytest.mark.parametrize("model", ["approvalrequest", "decision"])
def test_what_was_decided_is_read_only(stage: Stage, alice: Client, admin: Client, model: str) -> None:
    request = stage.ask()
    decide(alice, request)
    pk = request.pk if model == "approvalrequest" else Decision.objects.get().pk
    change = reverse(f"admin:approvals_{model}_change", args=[pk])
    listed = admin.get(reverse(f"admin:approvals_{model}_changelist"))
    assert (listed.status_code, admin.get(change).status_code) == (200, 200)
    assert admin.post(change, {"state": "rejected", "verdict": "reject"}).status_code == 403
    assert admin.get(reverse(f"admin:approvals_{model}_add")).status_code == 403
    assert admin.post(reverse(f"admin:approvals_{model}_delete", args=[pk]), {"post": "yes"}).status_code == 403
    bulk = {"action": "delete_selected", "_selected_action": str(pk), "post": "yes"}
    admin.post(reverse(f"admin:approvals_{model}_changelist"), bulk)
    assert 'name="action"' not in listed.content.decode()
    assert ApprovalRequest.objects.get().state == "approved"
    assert Decision.objects.get().verdict == "approve"


@pytest.mark.django_db
def test_admin_shows_its_own_tenants_and_no_others(stage: Stage, admin: Client) -> None:
    foreign = make_queue(stage.cast.other, "secret-queue")
    request = stage.ask()
    ApprovalRequest.objects.update(tenant=stage.cast.other)
    assert "Secret-Queue" not in admin.get(reverse("admin:approvals_approvalqueue_changelist")).content.decode()
    assert request.code not in admin.get(reverse("admin:approvals_approvalrequest_changelist")).content.decode()
    for name, pk in (
        ("approvalqueue_change", foreign.pk),
        ("approvalqueue_permissions", foreign.pk),
        ("approvalrequest_change", request.pk),
    ):
        assert admin.get(reverse(f"admin:approvals_{name}", args=[pk])).status_code in (302, 404), name
    added = admin.post(
        reverse("admin:approvals_approvalqueue_add"),
        {
            "tenant": str(stage.cast.other.pk),
            "slug": "x",
            "name": "X",
            "decide_within": "4 h",
            "on_expiry": "nothing",
            **LADDER,
        },
    )
    assert (added.status_code, ApprovalQueue.objects.filter(slug="x").count()) == (200, 0)


@pytest.mark.django_db
def test_queue_is_changed_in_words_and_keeps_its_name_and_tenant(stage: Stage, admin: Client) -> None:
    queue = stage.cast.queue
    url = reverse("admin:approvals_approvalqueue_change", args=[queue.pk])
    assert 'value="4 h"' in admin.get(url).content.decode()
    sent = {"name": "Money", "slug": "other", "tenant": str(stage.cast.other.pk), "decide_within": "1 d 30 min"}
    sent |= {"on_expiry": "nothing", **LADDER}
    assert admin.post(url, sent).status_code == 302
    queue.refresh_from_db()
    assert (queue.name, queue.slug, queue.tenant, queue.decide_within) == (
        "Money",
        "payments",
        stage.cast.tenant,
        timedelta(days=1, minutes=30),
    )
    event = LedgerEvent.objects.get(type="config.changed")
    assert (event.actor, event.facts["changes"]["name"]) == ("user:bob", ["Payments", "Money"])


@pytest.mark.django_db
def test_admin_names_who_decides_a_queue(stage: Stage, admin: Client) -> None:
    queue, bob = stage.cast.queue, stage.cast.bob
    overview = reverse("admin:approvals_approvalqueue_permissions", args=[queue.pk])
    assert "alice" in admin.get(overview).content.decode()
    assert rights_of(bob).decide == frozenset()
    url = reverse("admin:approvals_approvalqueue_permissions_manage_user", args=[queue.pk, bob.pk])
    assert admin.get(url).status_code == 200
    assert admin.post(url, {"permissions": ["decide_queue"]}).status_code == 302
    assert rights_of(bob).decide == {queue.pk}
    admin.post(url, {"permissions": ["decide_queue"]})
    event = LedgerEvent.objects.get(type="config.permissions")
    assert (event.actor, event.tenant_id) == ("user:bob", stage.cast.tenant.pk)
    assert (event.facts["object"], event.facts["holder"], event.facts["rights"]) == (
        "payments",
        "user:bob",
        [["see_queue"], ["decide_queue"]],
    )


@pytest.mark.django_db
def test_group_gets_a_queue_and_loses_it_on_record(stage: Stage, admin: Client) -> None:
    group = Group.objects.create(name="payers")
    stage.cast.bob.groups.add(group)
    url = reverse("admin:approvals_approvalqueue_permissions_manage_group", args=[stage.cast.queue.pk, group.pk])
    admin.post(url, {"permissions": ["decide_queue"]})
    assert rights_of(stage.cast.bob).decide == {stage.cast.queue.pk}
    admin.post(url, {"permissions": [], "csrfmiddlewaretoken": "x"})
    assert rights_of(stage.cast.bob).decide == frozenset()
    recorded = LedgerEvent.objects.filter(type="config.permissions").order_by("position")
    assert [event.facts["rights"] for event in recorded] == [[[], ["decide_queue"]], [["decide_queue"], []]]
    assert {event.facts["holder"] for event in recorded} == {"group:payers"}


@pytest.mark.django_db
def test_queue_is_made_and_deleted_on_record(stage: Stage, admin: Client) -> None:
    sent = {"tenant": str(stage.cast.tenant.pk), "slug": "mail", "name": "Mail", "decide_within": "30 min"}
    sent |= {"on_expiry": "hand_over", **LADDER}
    assert admin.post(reverse("admin:approvals_approvalqueue_add"), sent).status_code == 302
    queue = ApprovalQueue.objects.get(slug="mail")
    assert (queue.tenant, queue.decide_within) == (stage.cast.tenant, timedelta(minutes=30))
    delete = reverse("admin:approvals_approvalqueue_delete", args=[queue.pk])
    assert admin.post(delete, {"post": "yes"}).status_code == 302
    recorded = LedgerEvent.objects.filter(type__startswith="config.", facts__object="mail").order_by("position")
    assert [event.type for event in recorded] == ["config.added", "config.deleted"]
    assert recorded[0].facts["changes"]["name"] == ["", "Mail"]


@pytest.mark.django_db
def test_queue_with_requests_cannot_be_deleted(stage: Stage, admin: Client) -> None:
    stage.ask()
    delete = reverse("admin:approvals_approvalqueue_delete", args=[stage.cast.queue.pk])
    admin.post(delete, {"post": "yes"})
    assert ApprovalQueue.objects.filter(pk=stage.cast.queue.pk).exists()


@pytest.mark.django_db
def test_approver_without_admin_rights_gets_none(stage: Stage, alice: Client) -> None:
    for name in ("approvalqueue", "approvalrequest", "decision"):
        assert alice.get(reverse(f"admin:approvals_{name}_changelist")).status_code == 302


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("4 h", timedelta(hours=4)),
        ("1 d 12 h", timedelta(days=1, hours=12)),
        ("90min", timedelta(minutes=90)),
        ("2 days, 3 hours", timedelta(days=2, hours=3)),
        ("1 minute", timedelta(minutes=1)),
    ],
)
def test_span_is_read_as_people_write_it(text: str, span: timedelta) -> None:
    assert SpanField().clean(text) == span
    assert SpanField().clean(span_words(span)) == span


@pytest.mark.parametrize(
    "text", ["", "soon", "4", "4:00:00", "0 h", "31 d", "9999 d 9999 h", "-4 h", "4 h x", "4 parsecs"]
)
def test_span_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        SpanField().clean(text)
