"""The offline playbook in real sessions: policy, process guards, approvals by people, and the books at the end."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, start_waiting
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Role, Tenant
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from approvals.refusals import AlreadyClosed
from billing_agent.books import imbalances
from billing_agent.models import Case, Mail, Operation
from billing_agent.role import ROLE
from billing_agent.seeds import seed_demo
from tests.factories.deciding import decide_fully
from tests.factories.people import make_person
from tests.factories.verbs import edit

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return seed_demo()


@pytest.fixture
def agent(tenant: Tenant) -> Agent:
    return employ_agent(tenant_id=tenant.pk, role=ROLE, name="Billing", actor="tests")


@pytest.fixture
def alice(tenant: Tenant, agent: Agent) -> User:
    person = make_person("alice", tenant, Role.APPROVER)
    for queue in ApprovalQueue.objects.filter(tenant=tenant):
        assign_perm("approvals.decide_queue", person, queue)
    return person


def work_all(agent: Agent, person: User, verdict: Callable[[ApprovalRequest], Verdict]) -> None:
    """Work every waiting case to its end, with a person who decides whatever asks."""
    start_waiting(agent=agent, limit=100)
    work_until_quiet()
    while requests := list(ApprovalRequest.objects.filter(state="pending").order_by("id")):
        for request in requests:
            with suppress(AlreadyClosed):
                decide_fully(request, person, verdict(request))
        sweep_once()
        work_until_quiet()


# What a person was asked before each case ended: tools in the order of the sessions' steps.
ASKED = {
    "C-2001": ["refund_charge"],
    "C-2008": ["change_plan"],
    "C-2009": ["change_plan"],
    "C-2010": ["refund_charge"],
    "C-2012": ["apply_credit"],
    "C-2021": ["change_plan"],
    "C-2022": ["cancel_subscription"],
    "C-2023": ["pause_subscription"],
    "C-2024": ["void_invoice"],
    "C-2026": ["cancel_subscription"],
}
# What ran without anybody being asked, beside mails and the end of cases.
RAN = {
    "C-2003": ["retry_charge"],
    "C-2004": ["retry_charge"],
    "C-2005": ["retry_charge"],
    "C-2027": ["apply_credit"],
}
SOFT = ("send_email", "close_case", "escalate_case")


def hard_writes(state: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    subjects = dict(Session.objects.values_list("pk", "subject_id"))
    for made in Invocation.objects.filter(state=state).exclude(tool__in=SOFT).order_by("session_id", "id"):
        found.setdefault(subjects[made.session_id], []).append(made.tool)
    return dict(sorted(found.items()))


def asked() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    subjects = dict(Session.objects.values_list("pk", "subject_id"))
    for request in ApprovalRequest.objects.order_by("session_id", "id"):
        found.setdefault(subjects[request.session_id], []).append(request.tool)
    return dict(sorted(found.items()))


def test_queue_is_worked_to_the_end(tenant: Tenant, agent: Agent, alice: User) -> None:
    # The sweep also carries out what is due, which opens a case where the last attempt to charge was declined.
    seeded = set(Case.objects.values_list("ref", flat=True))
    work_all(agent, alice, lambda request: Verdict.APPROVE)
    assert set(Session.objects.values_list("status", "stop_code")) == {("finished", "")}
    ends = {session.subject_id: session.outcome for session in Session.objects.filter(subject_id__in=seeded)}
    assert len(ends) == 35
    assert {ref for ref, outcome in ends.items() if outcome == "escalated"} == set(
        Case.objects.filter(ref__in=seeded, status="escalated").values_list("ref", flat=True)
    )
    assert Case.objects.filter(ref__in=ends, status="closed").count() == 20
    assert asked() == ASKED
    assert hard_writes("succeeded") == dict(sorted((ASKED | RAN).items()))
    assert imbalances(tenant.pk) == []


def test_what_is_rejected_changes_nothing_and_is_told(tenant: Tenant, agent: Agent, alice: User) -> None:
    work_all(agent, alice, lambda request: Verdict.REJECT)
    assert set(Session.objects.values_list("status", "stop_code")) == {("finished", "")}
    assert hard_writes("succeeded") == RAN
    told = Mail.objects.filter(template_ref="not-done").values_list("customer__ref", flat=True)
    assert len(told) == len(ASKED)
    assert Case.objects.filter(ref__in=ASKED, status="closed").count() == len(ASKED)
    assert imbalances(tenant.pk) == []


def test_amount_that_a_person_changed_is_what_the_customer_is_told(tenant: Tenant, agent: Agent, alice: User) -> None:
    Case.objects.exclude(ref="C-2010").update(taken_at=F("received_at"))
    start_waiting(agent=agent, limit=100)
    work_until_quiet()
    edit(alice, amount_minor=2000)
    work_until_quiet()
    other = make_person("dora", tenant, Role.APPROVER)
    request = ApprovalRequest.objects.get(state="pending")
    assign_perm("approvals.decide_queue", other, request.queue)
    decide_fully(request, other, Verdict.APPROVE)
    work_until_quiet()
    mail = Mail.objects.get()
    assert mail.subject == "Your refund of $20.00"
    assert Operation.objects.filter(action="RefundCharge", result__amount_minor=2000).count() == 1
    assert Case.objects.get(ref="C-2010").status == "closed"
