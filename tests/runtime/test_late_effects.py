"""A call that may still take effect is never recorded as failed."""

import pytest

from agentops.agents.models import Agent
from agentops.gateway import execute
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.registry.tool import ToolFailure
from agentops.runtime.models import Invocation, Session
from tests.factories.runs import DONE, come_back, lose_worker, pay, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


def test_lost_worker_leaves_a_doubt_that_no_later_failure_takes_away(
    toy: Toy, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(execute, "call", _stopped)
        with pytest.raises(Stopped):
            work(toy, agent, pay(), DONE)
    session = lose_worker(Session.objects.get())
    toy.vendor.before += [ToolFailure(FailureKind.UNAVAILABLE, "down")] * 3
    come_back(session)
    come_back(session)
    come_back(session)
    call = Invocation.objects.get(tool="pay")
    assert (call.state, session.stop_code) == ("unknown", "OUTCOME_UNKNOWN")
    # The lost worker goes on after all: its effect is one of the key that is still held, and nobody called it failed.
    assert call.idempotency_key is not None
    toy.vendor.before.clear()
    toy.vendor.pay(call.idempotency_key, "a-1", 500, {})
    assert toy.vendor.balances["a-1"] == 99_500
    assert not LedgerEvent.objects.filter(type="call.failed").exists()


class Stopped(KeyboardInterrupt):
    """The worker stands still here, and its process is given up."""


def _stopped(*_: object, **__: object) -> None:
    raise Stopped


def test_definite_failures_without_a_lost_worker_are_failures(toy: Toy, agent: Agent) -> None:
    toy.vendor.before += [ToolFailure(FailureKind.UNAVAILABLE, "down")] * 3
    session = work(toy, agent, pay(), pay(), DONE)
    come_back(session)
    come_back(session)
    assert list(Invocation.objects.filter(tool="pay").order_by("position").values_list("state", flat=True)) == [
        "failed",
        "succeeded",
    ]


def test_requests_without_an_answer_leave_a_doubt(toy: Toy, agent: Agent) -> None:
    """The vendor knows nothing of the key, three times; the requests may still be on their way."""
    toy.vendor.before += [TimeoutError("no answer")] * 3
    session = work(toy, agent, pay(), DONE)
    come_back(session)
    come_back(session)
    assert (Invocation.objects.get(tool="pay").state, session.stop_code) == ("unknown", "OUTCOME_UNKNOWN")
