"""What would stop asking: only a suggestion, and only where everybody always said yes."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from agentops.agents.models import Threshold, ToolGrant
from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role
from approvals.acts import record_act
from approvals.insight.rule_math import LEAST, Past, evidence_of
from approvals.insight.rules import Proposal, proposal_for
from approvals.models import ActKind, ApprovalRequest, Regret
from tests.approvals.conftest import Stage, client_of
from tests.factories.past import past
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db


def known(request: ApprovalRequest) -> ApprovalRequest:
    """Let the target be one that the tool has touched before."""
    request.facts = {key: value for key, value in request.facts.items() if key != "rate"}
    request.save(update_fields=["facts"])
    return request


def history(stage: Stage, count: int = 20, minor: int = 6000) -> tuple[ApprovalRequest, list[ApprovalRequest]]:
    """A question about $50.00, and earlier ones that two people approved in turn."""
    request = known(stage.ask(5000))
    people = (stage.cast.alice, make_person("dan", stage.cast.tenant, Role.APPROVER))
    return request, [past(request, "approved", people[n % 2], minor=minor) for n in range(count)]


def test_enough_equal_approvals_suggest_the_largest_value_that_was_seen(stage: Stage) -> None:
    request, _ = history(stage)
    found = proposal_for(request)
    grant = ToolGrant.objects.get(version=stage.agent.current_version, tool="pay")
    assert found is not None
    assert (found.evidence.calls, found.evidence.people, found.evidence.most) == (20, 2, 6000)
    assert found.bound_percent == "13.9 %"
    assert found.now.endswith("more than $25.00 (money.customer_day_minor > 2500 USD).")
    assert found.then.endswith("more than $60.00 (money.customer_day_minor > 6000 USD).")
    assert found.url == reverse("admin:agentops_toolgrant_change", args=[grant.pk])


def test_too_little_or_anything_wrong_suggests_nothing(stage: Stage) -> None:
    request, _ = history(stage, 19)
    assert proposal_for(request) is None
    past(request, "approved", stage.cast.alice, minor=6000)
    assert proposal_for(request) is not None


@pytest.mark.parametrize("wrong", ["rejected", "edited", "regretted"])
def test_one_that_went_wrong_at_a_smaller_value_ends_it(stage: Stage, wrong: str) -> None:
    request, _ = history(stage, 25)
    state = {"edited": "voided", "regretted": "approved"}.get(wrong, wrong)
    bad = past(request, state, stage.cast.alice, minor=4000)
    if wrong == "edited":
        record_act(bad, ActKind.EDITED, person=stage.cast.alice, at=timezone.now())
    elif wrong == "regretted":
        Regret.objects.create(request=bad, kind=Regret.Kind.UNDONE, by="sweep", at=timezone.now())
    assert proposal_for(request) is None


@pytest.mark.parametrize(
    "change",
    [
        {"irreversible": True},
        {"reasons": [["threshold.pay.1", "ask", "Much."], ["tenant.rule", "ask", "Ours."]]},
        {"reasons": [["rules.own", "ask", "Ours."]]},
        {"facts": {}},
    ],
)
def test_what_must_ask_goes_on_asking(stage: Stage, change: dict[str, object]) -> None:
    request, _ = history(stage)
    ApprovalRequest.objects.filter(pk=request.pk).update(**change)
    request.refresh_from_db()
    assert proposal_for(request) is None


@pytest.mark.parametrize("tag", ["outbound", "permissions"])
def test_tagged_tools_go_on_asking(stage: Stage, tag: str) -> None:
    request, _ = history(stage)
    assert proposal_for(request, tags=[tag]) is None


def test_a_new_target_and_a_larger_amount_go_on_asking(stage: Stage) -> None:
    request, _ = history(stage, minor=4500)
    assert proposal_for(request) is None
    request, _ = history_again(stage, request)
    request.facts = {**request.facts, "rate": {"first_target": True}}
    assert proposal_for(request) is None


def history_again(stage: Stage, request: ApprovalRequest) -> tuple[ApprovalRequest, list[ApprovalRequest]]:
    return request, [past(request, "approved", stage.cast.alice, minor=7000) for _ in range(20)]


def test_a_limit_that_was_raised_already_is_not_suggested(stage: Stage) -> None:
    request, _ = history(stage)
    Threshold.objects.filter(grant__tool="pay").update(value=6000)
    assert proposal_for(request) is None


def test_a_dial_that_asks_is_answered_with_the_bounded_one(stage: Stage) -> None:
    request, _ = history(stage, 0)
    request.reasons = [["dial.ask", "ask", "Every use of this tool needs a person."]]
    request.save(update_fields=["reasons"])
    request.refresh_from_db()
    dan = make_person("eve", stage.cast.tenant, Role.APPROVER)
    for n in range(22):
        past(request, "approved", (stage.cast.alice, dan)[n % 2], minor=5500)
    found = proposal_for(request)
    assert isinstance(found, Proposal)
    assert found.then.startswith("Dial: bounded, with the limit: Ask when amounts for one customer in one day")


def test_the_page_is_for_admins_and_changes_nothing(stage: Stage, alice: Client, charlie: Client) -> None:
    request, _ = history(stage)
    admin = client_of(make_person("ada", stage.cast.tenant, Role.ADMIN))
    url, events = reverse("approval_rule", args=[request.pk]), LedgerEvent.objects.count()
    assert [client.get(url).status_code for client in (admin, alice, charlie)] == [200, 404, 404]
    page = admin.get(url).content.decode()
    assert "Up to 13.9 % of such calls" in page
    assert "Open the tool" not in page
    assert LedgerEvent.objects.count() == events
    assert "Yes, as far as is known." in admin.get(reverse("approval_rule", args=[stage.ask(9000).pk])).content.decode()


def _past(*outcomes: str) -> st.SearchStrategy[Past]:
    return st.builds(Past, st.integers(0, 50), st.sampled_from(outcomes), st.frozensets(st.integers(1, 3), max_size=2))


# So many that approvals alone would be enough: what is looked at is what few others among them do.
_MANY = st.tuples(
    st.lists(_past("approved"), min_size=LEAST, max_size=80),
    st.lists(_past("rejected", "edited", "regretted"), max_size=3),
).map(lambda both: [*both[0], *both[1]])
_ANY = st.lists(_past("approved", "approved", "approved", "rejected", "edited", "regretted"), max_size=80)


@given(_MANY | _ANY, st.integers(0, 60))
def test_evidence_never_reaches_what_went_wrong_or_was_never_seen(past_: list[Past], value: int) -> None:
    found = evidence_of(past_, value)
    if found is None:
        return
    covered = [one for one in past_ if one.value <= found.most]
    assert value <= found.most
    assert all(one.outcome == "approved" for one in covered)
    assert found.most in {one.value for one in covered}
    assert len(covered) == found.calls >= LEAST
    assert found.people >= 2
