"""Hard writes while the evidence is behind: refused where the installation says so, at each door to the vendor."""

from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from agentops.agents.models import Agent
from agentops.kernel.errors import FailureKind
from agentops.ledger.append import Event, append_to
from agentops.ledger.notes import SigningKey
from agentops.registry.tool import ToolFailure
from agentops.runtime.models import Invocation
from tests.factories.people import Cast
from tests.factories.runs import DONE, TELL, come_back, decide, go_on, once, pay, results, thinking, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _stopping(settings: Settings) -> None:
    settings.LEDGER_KEY = SigningKey("log.example", bytes(32)).skey()
    settings.LEDGER_LAG_STOPS_WRITES = True
    # Nobody brings the evidence up to date.
    settings.SWEEP_DUTIES = []


def fall_behind() -> None:
    """Let an event wait for its place in the log for two minutes."""
    with time_machine.travel(timezone.now() - timedelta(minutes=2), tick=False):
        append_to(tenant_id=UUID(int=7), name="agent:x", events=[Event("a", "sweep")])


def test_hard_write_is_made_while_the_evidence_is_fresh(toy: Toy, agent: Agent) -> None:
    assert work(toy, agent, pay(), TELL, DONE).status == "finished"
    assert len(toy.vendor.calls) == 1


def test_hard_write_is_refused_and_a_soft_one_is_not(toy: Toy, agent: Agent) -> None:
    fall_behind()
    session = work(toy, agent, pay(), TELL, DONE)
    (refused,) = results(session, "call.refused")
    assert (refused["code"], toy.vendor.calls) == ("LEDGER_BEHIND", [])
    assert list(Invocation.objects.filter(state="succeeded").values_list("tool", flat=True)) == ["note"]


def test_nobody_is_asked_meanwhile(toy: Toy, agent: Agent) -> None:
    fall_behind()
    session = work(toy, agent, pay(5000), TELL, DONE)
    assert [one["code"] for one in results(session, "call.refused")] == ["LEDGER_BEHIND"]


def test_it_counts_when_the_call_is_decided_about(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, thinking(once(partial(fall_behind)), pay()), TELL, DONE)
    assert [one["code"] for one in results(session, "call.refused")] == ["LEDGER_BEHIND"]
    assert toy.vendor.calls == []


def test_approved_call_is_not_made(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5000), TELL, DONE)
    request = decide(cast)
    fall_behind()
    go_on(session)
    request.refresh_from_db()
    assert (toy.vendor.calls, session.status) == ([], "finished")
    assert request.state != "approved"


def test_call_that_certainly_had_no_effect_is_not_made_again(toy: Toy, agent: Agent) -> None:
    toy.vendor.before.append(ToolFailure(FailureKind.RATE_LIMIT, "slow down"))
    session = work(toy, agent, pay(), TELL, DONE)
    assert session.status == "sleeping"
    fall_behind()
    come_back(session)
    assert len(toy.vendor.calls) == 1
    assert (session.status, Invocation.objects.get(tool="pay").state) == ("finished", "failed")


@pytest.mark.parametrize("setting", ["LEDGER_LAG_STOPS_WRITES", "LEDGER_KEY"])
def test_without_the_setting_or_a_key_nothing_is_refused(
    toy: Toy, agent: Agent, settings: Settings, setting: str
) -> None:
    setattr(settings, setting, "")
    fall_behind()
    assert work(toy, agent, pay(), TELL, DONE).status == "finished"
    assert len(toy.vendor.calls) == 1


def test_every_page_says_it_and_readiness_does_too(client: Client, agent: Agent, cast: Cast) -> None:
    client.force_login(cast.bob)
    words = "An event has had no place in the log for "
    assert words not in client.get("/").text
    fall_behind()
    assert words in client.get("/").text
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["ledger"]) == (200, "behind")
