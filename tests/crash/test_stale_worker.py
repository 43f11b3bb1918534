"""A worker that goes silent, for good or for a while: its session goes on elsewhere, and no effect is made twice."""

import signal
import time

import pytest

from agentops.ledger.models import LedgerEvent
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import start_session
from agentops.runtime.sweep import sweep_once
from approvals.models import Verdict
from support_agent.models import DeskOperation, Ticket
from tests.crash.one_worker import Moment, let_go_on, worker_that
from tests.factories.books import Shop, accounts_of_effects, decide, faults_of_ledger, open_shop

CANCEL = "cancel_pending_order"
PATIENCE = 60


@pytest.fixture
def shop(transactional_db: None) -> Shop:
    """A shop in which only the ticket that asks for a cancellation waits."""
    shop = open_shop("silent")
    Ticket.objects.exclude(ref="T-1002").delete()
    return shop


@pytest.fixture
def session(shop: Shop) -> Session:
    """The session of that ticket, approved and waiting for a worker that cancels the order."""
    session = start_session(agent=shop.agent, subject_id="T-1002", actor="tests")
    work_until_quiet()
    (request,) = shop.pending()
    assert request.tool == CANCEL
    decide(request, shop.approver, Verdict.APPROVE)
    return session


@pytest.mark.parametrize("place", ["before", "after"])
def test_worker_that_dies_at_the_effect_is_succeeded_by_one_that_concludes_it(
    shop: Shop, session: Session, place: str
) -> None:
    with worker_that(Moment(place, signal.SIGKILL, CANCEL)) as worker:
        worker.join(PATIENCE)
        assert worker.exitcode == -signal.SIGKILL
        assert Invocation.objects.get(tool=CANCEL).state == "intended"
        assert effects() == (1 if place == "after" else 0)
        finish_elsewhere(session)
    require_one_effect(shop, session)


@pytest.mark.parametrize("place", ["planning", "before", "after"])
def test_worker_that_wakes_up_after_its_lease_writes_nothing(shop: Shop, session: Session, place: str) -> None:
    with worker_that(Moment(place, signal.SIGSTOP, CANCEL)) as worker:
        assert effects() == (0 if place == "before" else 1)
        finish_elsewhere(session)
        left = everything(session)
        let_go_on(worker)
    assert everything(session) == left
    require_one_effect(shop, session)


def effects() -> int:
    return DeskOperation.objects.filter(action="CancelOrder").count()


def finish_elsewhere(session: Session) -> None:
    """Work the session to its end in this process, once its lease has run out."""
    assert work_until_quiet() == 0
    deadline = time.monotonic() + PATIENCE
    while Session.objects.get(pk=session.pk).status != "finished":
        assert time.monotonic() < deadline, "the session did not come back"
        time.sleep(0.05)
        sweep_once()
        work_until_quiet()


def everything(session: Session) -> list[object]:
    """Return all that a worker could write about a session."""
    return [
        *Session.objects.filter(pk=session.pk).values(),
        *LedgerEvent.objects.filter(stream=session.pk).order_by("position").values_list("position", "type", "actor"),
        *Invocation.objects.order_by("id").values(),
        *DeskOperation.objects.order_by("id").values(),
    ]


def require_one_effect(shop: Shop, session: Session) -> None:
    events = list(LedgerEvent.objects.filter(stream=session.pk).order_by("position").values_list("type", "facts"))
    cancelled = [name for name, facts in events if name.startswith("call.") and facts.get("tool") == CANCEL]
    # The next worker says so when it makes the call that certainly never was.
    assert [name for name in cancelled if name != "call.retried"] == ["call.intended", "call.succeeded"]
    assert [name for name, _ in events].count("session.lease_expired") == 1
    assert effects() == 1
    made, known = accounts_of_effects(shop.tenant)
    assert made == known
    assert list(faults_of_ledger()) == []
