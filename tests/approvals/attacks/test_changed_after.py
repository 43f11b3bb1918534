"""Arguments, tool, record or policy changed after approval: the approval does not reach what is carried out now."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from guardian.shortcuts import remove_perm

from agentops.agents.models import Threshold
from agentops.registry import roles
from agentops.registry.preview_parts import TextChange
from agentops.runtime.models import Invocation
from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, decide, page_url
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db


def states() -> list[str]:
    return list(ApprovalRequest.objects.order_by("created_at", "pk").values_list("state", flat=True))


def approved(stage: Stage, alice: Client) -> ApprovalRequest:
    request = stage.ask()
    assert decide(alice, request).status_code == 302
    return request


def record_moves(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.toy.vendor.versions["a-1"] += 1


def balance_moves(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.toy.vendor.balances["a-1"] = 99_000


def _tool(stage: Stage, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    spec = stage.toy.spec()
    tools = tuple(replace(tool, **changes) if tool.name == "pay" else tool for tool in spec.tools)
    monkeypatch.setattr(roles, "all_roles", lambda: (replace(spec, tools=tools),))


def tool_moves(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    _tool(stage, monkeypatch, version=2)


def preview_moves(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def preview(context: Any, arguments: Any) -> Any:
        return replace(stage.toy._preview(context, arguments), effect="Pay $50.00 from a-1 to eve")

    _tool(stage, monkeypatch, preview=preview)


def parts_move(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:

    def preview(context: Any, arguments: Any) -> Any:
        return replace(stage.toy._preview(context, arguments), parts=(TextChange("Note", "", "to eve"),))

    _tool(stage, monkeypatch, preview=preview)


MOVES = [record_moves, balance_moves, tool_moves, preview_moves, parts_move]


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_what_moved_after_approval_is_asked_about_anew(
    stage: Stage, alice: Client, monkeypatch: pytest.MonkeyPatch, move: Any
) -> None:
    request = approved(stage, alice)
    move(stage, monkeypatch)
    stage.work()
    assert stage.toy.vendor.calls == []
    assert states() == ["voided", "pending"]
    new = ApprovalRequest.objects.get(state="pending")
    assert new.supersedes_id == request.pk
    assert new.digest != request.digest
    body = alice.get(page_url(new)).content.decode()
    assert request.code in body
    assert decide(alice, new, digest=request.digest).status_code == 409


def test_policy_that_moved_takes_the_approval_away(stage: Stage, alice: Client) -> None:
    approved(stage, alice)
    Threshold.objects.update(value=1)
    stage.work()
    assert stage.toy.vendor.calls == []
    assert states()[0] == "voided"


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": {"account": "a-1", "minor": 99_000}},
        {"effect": "Pay $0.01 from a-1"},
        {"money_minor": 1},
        {"tool": "note"},
        {"people": 1, "policy_version": "other"},
        {"tier": "write-soft"},
    ],
    ids=str,
)
def test_row_that_was_changed_before_the_decision_is_not_decided(
    stage: Stage, alice: Client, change: dict[str, Any]
) -> None:
    request = stage.ask()
    ApprovalRequest.objects.filter(pk=request.pk).update(**change)
    assert decide(alice, request).status_code == 409
    stage.work()
    assert stage.toy.vendor.calls == []
    assert not ApprovalRequest.objects.filter(state="approved").exists()


def test_page_that_was_read_before_the_change_decides_nothing(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    seen = request.digest
    rewritten(request, effect="Pay $500.00 from a-1")
    response = decide(alice, request, digest=seen)
    assert response.status_code == 409
    assert "Changed since you looked" in response.content.decode()
    assert states() == ["pending"]


def test_call_that_was_changed_in_the_runtime_s_row_is_not_what_was_approved(stage: Stage, alice: Client) -> None:
    approved(stage, alice)
    Invocation.objects.update(arguments={"account": "a-1", "minor": 99_000})
    stage.work()
    assert stage.toy.vendor.balances["a-1"] == 100_000
    assert states()[0] == "voided"


def test_permission_that_was_lost_after_approval_counts(stage: Stage, alice: Client) -> None:
    approved(stage, alice)
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    stage.work()
    assert stage.toy.vendor.calls == []
    assert states()[0] == "voided"
