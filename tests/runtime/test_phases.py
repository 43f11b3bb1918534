"""What a session may not call before it has looked it is not shown, and it is refused when it proposes it anyway."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentops.agents.models import Agent, ToolGrant
from agentops.kernel.errors import FailureKind
from agentops.registry import roles
from agentops.registry.phase import Phase
from agentops.registry.planner import PlanContext, ToolCall
from agentops.registry.tool import ToolFailure
from agentops.runtime import control
from agentops.runtime.models import Invocation, Session
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    LOOK,
    TELL,
    Moment,
    begin,
    come_back,
    events,
    go_on,
    lose_worker,
    pay,
    plan,
    results,
    thinking,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

ACT = Phase("act", "Act", frozenset({"pay", "pay_back"}), ("look",), "Nothing is paid before the account was seen.")
REFUSED = {
    "code": "NOT_YET",
    "message": "Nothing is paid before the account was seen.",
    "next_step": "Call these first: look.",
}
ALL = ["look", "pay", "pay_back", "note", "hand_over"]
AT_FIRST = ["look", "note", "hand_over"]


def use(toy: Toy, monkeypatch: pytest.MonkeyPatch, *phases: Phase) -> None:
    spec = replace(toy.spec(), phases=phases)
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))


@pytest.fixture
def toy(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Toy:
    use(toy, monkeypatch, ACT)
    return toy


def noting(seen: list[list[str]], call: Any) -> Moment:
    """Return a line of a script that notes which tools the planner is shown."""

    def moment(context: PlanContext) -> Any:
        seen.append([tool.name for tool in context.tools])
        return call

    return moment


def test_tools_are_shown_once_what_they_need_was_read(toy: Toy, agent: Agent) -> None:
    seen: list[list[str]] = []
    script = [noting(seen, line) for line in (TELL, LOOK, pay(), DONE)]
    session = work(toy, agent, *script)
    assert (session.status, toy.vendor.balances["a-1"]) == ("finished", 99_500)
    assert seen == [AT_FIRST, AT_FIRST, ALL, ALL]


def test_call_of_a_withheld_tool_is_refused_before_anything_is_asked(toy: Toy, agent: Agent) -> None:
    """Neither its arguments nor its dry run matter: an account of somebody else is no other answer."""
    unread = ToolCall("pay", "{no JSON")
    session = work(toy, agent, pay(), pay(account="b-1"), unread, LOOK, pay(), DONE)
    assert (session.status, session.outcome) == ("finished", "refunded")
    assert results(session, "call.refused") == [REFUSED] * 3
    assert list(Invocation.objects.values_list("tool", "state")) == [("pay", "succeeded")]


def test_read_that_failed_opens_nothing(toy: Toy, agent: Agent) -> None:
    answers: list[Any] = [ToolFailure(FailureKind.TIMEOUT, "slow")]
    account = dict(toy.vendor.balances)

    class Slow(dict[str, int]):
        def __getitem__(self, name: str) -> int:
            if answers:
                raise answers.pop()
            return super().__getitem__(name)

    toy.vendor.balances = Slow(account)
    session = work(toy, agent, LOOK, pay(), LOOK, pay(), DONE)
    assert events(session).count("call.read_failed") == 1
    assert results(session, "call.refused") == [REFUSED]
    assert toy.vendor.balances["a-1"] == 99_500


def test_tool_that_was_not_granted_is_no_tool_whatever_was_read(toy: Toy, agent: Agent) -> None:
    ToolGrant.objects.filter(tool="pay").delete()
    session = work(toy, agent, pay(), LOOK, pay(), TELL, DONE)
    told = [(refusal["code"], refusal["next_step"]) for refusal in results(session, "call.refused")]
    assert told == [
        ("UNKNOWN_TOOL", "Use one of: hand_over, look, note."),
        ("UNKNOWN_TOOL", "Use one of: hand_over, look, note, pay_back."),
    ]


def test_what_was_read_counts_for_the_next_worker(toy: Toy, agent: Agent) -> None:
    seen: list[list[str]] = []
    toy.vendor.before.append(ToolFailure(FailureKind.UNAVAILABLE, "down"))
    session = work(toy, agent, LOOK, pay(), noting(seen, DONE))
    assert session.status == "sleeping"
    assert (come_back(session).status, seen) == ("finished", [ALL])


def test_people_look_first_as_well(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = begin(toy, agent, DONE)
    control.take_over(session_id=session.pk, actor="user:bob", reason="Mine.")
    for tool, arguments in (("pay", pay().arguments), ("look", LOOK.arguments), ("pay", pay().arguments)):
        assert isinstance(arguments, dict)
        control.propose_call(session_id=session.pk, actor="user:bob", tool=tool, arguments=arguments, rationale="")
        assert go_on(session).status == "paused"
    assert results(session, "call.refused") == [REFUSED]
    assert toy.vendor.balances["a-1"] == 99_500


def test_what_takes_a_call_back_is_never_withheld(
    toy: Toy, agent: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role has come by its phase after the call was made; without it the effect could not be undone."""
    use(toy, monkeypatch)
    session = work(toy, agent, pay(), DONE)
    use(toy, monkeypatch, ACT)
    control.propose_undo(invocation_id=Invocation.objects.get().pk, actor="user:bob", reason="Wrong.")
    assert go_on(session).status == "finished"
    assert toy.vendor.balances["a-1"] == 100_000
    assert dict(Invocation.objects.values_list("tool", "state")) == {"pay": "compensated", "pay_back": "succeeded"}


def test_session_that_keeps_proposing_it_stops(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, *[pay()] * 4)
    assert (session.status, session.stop_code, toy.handed_over) == ("stopped", "LOOP_REFUSED", ["LOOP_REFUSED"])


def test_lost_worker_changes_nothing_about_it(toy: Toy, agent: Agent) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    session = begin(toy, agent, LOOK, thinking(die, pay()))
    with pytest.raises(KeyboardInterrupt):
        go_on(session)
    lose_worker(session)
    seen: list[list[str]] = []
    plan(toy, LOOK, noting(seen, pay()), DONE)
    assert (go_on(session).status, seen) == ("finished", [ALL])


def test_phases_ask_the_database_nothing(toy: Toy, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on(begin(toy, agent, LOOK, pay(), TELL, DONE))
    counts = []
    for number, phases in enumerate(((), (ACT,))):
        use(toy, monkeypatch, *phases)
        session = begin(toy, agent, LOOK, pay(), TELL, DONE, work_id=f"w-{number + 2}")
        counts.append(queries_of(session))
    assert counts[0] == counts[1]


def queries_of(session: Session) -> int:
    with CaptureQueriesContext(connection) as captured:
        go_on(session)
    return len(captured)
