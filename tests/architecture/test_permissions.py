"""Who gets what from every route of the installation. A route without a row here fails the run."""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.gateway.breakers import report_failure
from agentops.kernel.errors import FailureKind
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation
from agentops.runtime.operations import start_session
from agentops.tenancy.models import Freeze, Role, Tenant
from approvals.insight import drills
from approvals.models import ApprovalRequest, Drill
from sre_agent.models import Incident, Page, StatusUpdate
from tests.architecture.routes import Route, all_routes, all_sockets
from tests.factories.billing import make_desk
from tests.factories.books import Shop, open_shop
from tests.factories.people import make_person
from tests.factories.sre import make_incident

pytestmark = pytest.mark.django_db

ADMIN_ENTRY = ("admin:login", "admin:logout")


@dataclass(frozen=True)
class Row:
    """Statuses of one method: for somebody signed out, for Charlie of another tenant, and for ``member``.

    ``member`` is the person of the tenant who lacks what the route asks for; where every member may, it is any.
    """

    method: str
    anonymous: int
    outsider: int
    member: int
    by: str = "bob"


TABLE = {
    "live": Row("get", 200, 200, 200),
    "ready": Row("get", 200, 200, 200),
    # Only a signature opens it, whoever is signed in.
    "hook": Row("post", 404, 404, 404),
    "login": Row("get", 200, 302, 302),
    "logout": Row("post", 302, 302, 302),
    "theme": Row("post", 302, 400, 400),
    "tenant": Row("post", 302, 404, 404),
    "home": Row("get", 302, 200, 200),
    "session_list": Row("get", 302, 200, 200),
    "session_new": Row("post", 302, 404, 404, by="alice"),
    "session_detail": Row("get", 302, 404, 200),
    "step_payload": Row("get", 302, 404, 200),
    "step_evidence": Row("post", 302, 404, 404, by="bob"),
    "session_pause": Row("post", 302, 404, 404, by="alice"),
    "session_resume": Row("post", 302, 404, 404, by="alice"),
    "session_cancel": Row("post", 302, 404, 404, by="alice"),
    "session_take_over": Row("post", 302, 404, 404, by="alice"),
    "session_hand_back": Row("post", 302, 404, 404, by="alice"),
    "session_priority": Row("post", 302, 404, 404, by="alice"),
    "session_step": Row("post", 302, 404, 404, by="alice"),
    "session_finish": Row("post", 302, 404, 404, by="alice"),
    "session_answer": Row("post", 302, 404, 404, by="alice"),
    "session_undo": Row("post", 302, 404, 404, by="alice"),
    "session_elevate": Row("post", 302, 404, 404, by="bob"),
    "session_revoke": Row("post", 302, 404, 404, by="bob"),
    "operations": Row("get", 302, 200, 200),
    "freeze_list": Row("get", 302, 200, 200),
    "freeze_new": Row("post", 302, 404, 404, by="alice"),
    "freeze_detail": Row("get", 302, 404, 200),
    "freeze_ask": Row("post", 302, 404, 404, by="alice"),
    "freeze_lift": Row("post", 302, 404, 404),
    "unknown_list": Row("get", 302, 200, 200),
    "unknown_ask": Row("post", 302, 404, 404, by="alice"),
    "unknown_settle": Row("post", 302, 404, 404, by="alice"),
    "breaker_list": Row("get", 302, 200, 200),
    "breaker_reset": Row("post", 302, 404, 404),
    "question_list": Row("get", 302, 200, 200),
    "spend_today": Row("get", 302, 200, 200),
    "blast_radius": Row("get", 302, 200, 200),
    "reconciliation": Row("get", 302, 200, 200),
    "call": Row("get", 302, 404, 302),
    "billing_customers": Row("get", 302, 200, 200),
    "billing_customer": Row("get", 302, 404, 200),
    "billing_invoice": Row("get", 302, 404, 200),
    "billing_journal": Row("get", 302, 404, 404),
    "billing_export": Row("post", 302, 404, 404),
    "sre_incidents": Row("get", 302, 200, 200),
    "sre_status": Row("get", 302, 200, 200),
    "sre_incident": Row("get", 302, 404, 200),
    "sre_post_mortem": Row("post", 302, 404, 200),
    "sre_incident_acknowledge": Row("post", 302, 404, 404, by="alice"),
    "sre_incident_take_over": Row("post", 302, 404, 422),
    "sre_incident_resolve": Row("post", 302, 404, 422),
    "sre_incident_reopen": Row("post", 302, 404, 422),
    "sre_publish": Row("post", 302, 404, 422),
    "sre_discard": Row("post", 302, 404, 302),
    "sre_post_again": Row("post", 302, 404, 409),
    "sre_acknowledge": Row("post", 302, 404, 302),
    "approval_queue": Row("get", 302, 200, 200),
    "approval_news": Row("get", 302, 200, 200),
    "approval_request": Row("get", 302, 404, 404),
    "approval_decide": Row("post", 302, 404, 404),
    "approval_draft": Row("post", 302, 404, 404),
    "approval_edit": Row("get", 302, 404, 404),
    "approval_ask": Row("post", 302, 404, 404),
    "approval_escalate": Row("post", 302, 404, 404),
    "approval_take_over": Row("post", 302, 404, 404),
    "approval_assign": Row("post", 302, 404, 404),
    "approval_undo": Row("post", 302, 404, 404),
    "approval_print": Row("get", 302, 404, 404),
    "approval_export": Row("get", 302, 404, 404),
    "approval_next": Row("post", 302, 302, 302),
    "approval_bulk": Row("post", 302, 302, 302),
    "approval_view_save": Row("post", 302, 302, 302),
    "approval_view_delete": Row("post", 302, 404, 404),
    "approval_away": Row("get", 302, 200, 200),
    "approval_away_end": Row("post", 302, 404, 404),
    "approval_claim": Row("post", 302, 404, 404),
    "approval_release": Row("post", 302, 404, 404),
    "approval_skip": Row("post", 302, 404, 404),
    "notice_preferences": Row("get", 302, 200, 200),
    "notice_link": Row("get", 302, 410, 410),
    "approval_metrics": Row("get", 302, 404, 404),
    "approval_metrics_export": Row("get", 302, 404, 404),
    "approval_signals": Row("get", 302, 200, 200),
    "approval_drills": Row("get", 302, 200, 200),
    "approval_drill": Row("post", 302, 404, 422),
    "approval_calibration": Row("get", 302, 200, 200),
    "approval_exemplars": Row("get", 302, 200, 200),
    "approval_exemplar_propose": Row("post", 302, 404, 404),
    "approval_exemplar_review": Row("post", 302, 404, 404),
    "approval_exemplar_retire": Row("post", 302, 404, 404),
    "approval_regret": Row("post", 302, 404, 422),
    "approval_rule": Row("get", 302, 404, 404),
    "approval_duties": Row("get", 302, 200, 200),
    "approval_duty_revoke": Row("post", 302, 404, 404),
    "mfa_index": Row("get", 302, 200, 200),
    "account_login": Row("get", 302, 302, 302),
    "step_up": Row("get", 302, 302, 302),
    "account_reauthenticate": Row("get", 302, 200, 200),
    # Whoever has no factor is sent to what they have, the password.
    "mfa_reauthenticate": Row("get", 302, 302, 302),
    "mfa_reauthenticate_webauthn": Row("get", 302, 302, 302),
    # Factors are shown and changed after the password was typed again.
    "mfa_activate_totp": Row("post", 302, 302, 302),
    "mfa_deactivate_totp": Row("post", 302, 302, 302),
    "mfa_list_webauthn": Row("get", 302, 302, 302),
    "mfa_add_webauthn": Row("post", 302, 302, 302),
    "mfa_remove_webauthn": Row("post", 302, 302, 302),
    "mfa_view_recovery_codes": Row("get", 302, 302, 302),
    "mfa_generate_recovery_codes": Row("post", 302, 302, 302),
}
ONE_REQUEST = [
    f"approval_{name}"
    for name in (
        *("request", "decide", "draft", "edit", "ask", "escalate", "take_over", "assign", "undo", "print", "export"),
        *("claim", "release", "skip", "regret", "exemplar_propose", "rule"),
    )
]
NO_SESSION = ("session_list", "session_new")
SOCKETS = {"ws/approvals/": "tests/approvals/test_socket.py"}


def test_every_route_has_a_row() -> None:
    named = {route.name for route in all_routes() if not route.name.startswith("admin:")}
    assert named == set(TABLE)


def test_every_socket_has_its_tests() -> None:
    assert all_sockets() == set(SOCKETS)


@pytest.fixture
def shop() -> Shop:
    shop = open_shop("north", approver="alice")
    make_person("bob", shop.tenant, Role.SUPPORT)
    make_person("charlie", Tenant.objects.create(slug="south", name="South Goods"), Role.APPROVER)
    return shop


@pytest.fixture
def request_(shop: Shop) -> ApprovalRequest:
    start_session(agent=shop.agent, subject_id="T-1002", actor="user:bob")
    work_until_quiet()
    return ApprovalRequest.objects.get()


def signed_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=name)
    return client


ONE_FREEZE = ("freeze_detail", "freeze_ask", "freeze_lift")


def freeze_look(tenant: Tenant) -> Freeze:
    return Freeze.objects.create(
        tenant=tenant, tool="look", reason="Why.", frozen_by="user:bob", frozen_at=timezone.now()
    )


def drill_of(tenant: Tenant) -> Drill:
    drills.ensure(tenant)
    return Drill.objects.filter(tenant=tenant)[0]


def fail_look(tenant: Tenant) -> UUID:
    failure = FailureKind.TIMEOUT
    return report_failure(tenant_id=tenant.pk, name="tool:look", kind=failure, words="Too slow.").id


def call_of(request: ApprovalRequest) -> str:
    """The key of a call of the request's session that took effect."""
    made = Invocation.objects.filter(session_id=request.session_id, idempotency_key__isnull=False).first()
    if made is None:
        key = "a" * 64
        Invocation.objects.filter(pk=request.invocation_id).update(idempotency_key=key)
        return key
    return made.idempotency_key or ""


ONE_INCIDENT = ("sre_incident", "sre_post_mortem")


def told_of(incident: Incident) -> None:
    """Let somebody be called about an incident, and an update about it be drafted."""
    now, more = timezone.now(), {"tenant": incident.tenant, "incident": incident}
    StatusUpdate.objects.create(ref="SU-1", text="We look into it.", drafted_by="agent:sre", drafted_at=now, **more)
    Page.objects.create(ref="PG-1", person="dana", contact="dana@example.com", words="Help.", paged_at=now, **more)


def test_rows_hold(request_: ApprovalRequest) -> None:
    make_desk(request_.tenant)
    told_of(make_incident(request_.tenant))
    args: dict[str, list[Any]] = {
        "hook": ["an-address-that-nobody-was-given"],
        **{name: [request_.session_id, request_.position] for name in ("step_payload", "step_evidence")},
        **{name: [request_.session_id] for name in TABLE if name.startswith("session_") and name not in NO_SESSION},
        **{name: [request_.session_id, uuid4()] for name in ("session_answer", "session_revoke")},
        "session_undo": [request_.session_id, request_.invocation_id],
        **{name: [request_.pk] for name in ONE_REQUEST},
        "approval_view_delete": [1],
        "approval_away_end": [1],
        **{name: [freeze_look(request_.tenant).pk] for name in TABLE if name in ONE_FREEZE},
        "approval_drill": [drill_of(request_.tenant).pk],
        **{name: [uuid4()] for name in ("approval_exemplar_review", "approval_exemplar_retire")},
        "unknown_ask": [request_.invocation_id],
        "unknown_settle": [request_.invocation_id],
        **{name: [2**31 - 1] for name in ("approval_duty_revoke", "mfa_remove_webauthn")},
        "breaker_reset": [fail_look(request_.tenant)],
        "call": [call_of(request_)],
        "billing_customer": ["dana"],
        "billing_invoice": ["INV-000001"],
        **{name: ["INC-1"] for name in TABLE if name.startswith("sre_incident_") or name in ONE_INCIDENT},
        **{name: ["SU-1"] for name in ("sre_publish", "sre_discard", "sre_post_again")},
        "sre_acknowledge": ["PG-1"],
    }
    data = {"verb": "approve", "digest": request_.digest}
    found = {}
    for name, row in TABLE.items():
        url = reverse(name, args=args.get(name, []))
        clients = (Client(), signed_in("charlie"), signed_in(row.by))
        anonymous, outsider, member = (getattr(client, row.method)(url, data).status_code for client in clients)
        found[name] = Row(row.method, anonymous, outsider, member, by=row.by)
    assert found == TABLE
    request_.refresh_from_db()
    assert request_.state == "pending"


def test_admin_is_for_staff_of_the_installation_alone(shop: Shop) -> None:
    routes = [route for route in all_routes() if route.name.startswith("admin:") and route.name not in ADMIN_ENTRY]
    assert len(routes) > 100
    for client in (Client(), signed_in("charlie"), signed_in("bob")):
        let_in = {route for route in routes if not is_sent_to_sign_in(client, route)}
        assert let_in == set()


def is_sent_to_sign_in(client: Client, route: Route) -> bool:
    answer = client.get(route.url)
    return answer.status_code == 302 and bool(re.match(r"/(admin/)?login/\?next=", answer.headers["Location"]))
