"""How often writes come: what is counted, what limits do, and that several workers together cannot exceed one."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.kernel.ids import new_id
from agentops.ledger.queries import payload_of
from agentops.ledger.sql import fetch_all, fetch_one
from agentops.llm.scripted import Line
from agentops.policy.facts import restored
from agentops.registry.planner import PlanContext, ToolCall
from agentops.runtime import control, dispatch, rate_counts
from agentops.runtime.models import Invocation, Session
from agentops.runtime.rate_models import KnownTarget, RateLimit
from agentops.runtime.rate_rule import usual_amount, usual_most
from approvals.models import Verdict
from tests.factories.people import Cast
from tests.factories.runs import DONE, LOOK, TELL, decide, events, go_on, pay, plan, results, start, stream, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    rate_counts.forget()
    yield
    rate_counts.forget()


def note(text: str) -> ToolCall:
    return ToolCall("note", {"text": text})


def made(
    cast: Cast,
    tool: str,
    ago: timedelta,
    *,
    count: int = 1,
    target: str = "customer:ann",
    minor: int | None = None,
    currency: str = "USD",
    state: str = "succeeded",
    known: bool = True,
) -> None:
    """Put calls on record that somebody made a while ago."""
    at = timezone.now() - ago
    preview = {"effect": "", "target": target, "money": None if minor is None else [minor, currency]}
    rows = [
        Invocation(
            session_id=new_id(),
            tenant_id=cast.tenant.pk,
            position=1,
            tool=tool,
            tool_version=1,
            arguments={},
            preview=preview,
            state=state,
            idempotency_key=str(new_id()),
            created_at=at,
            intended_at=at,
        )
        for _ in range(count)
    ]
    Invocation.objects.bulk_create(rows)
    if known:
        row_id = rate_counts.target_id(cast.tenant.pk, tool, target)
        KnownTarget.objects.get_or_create(
            id=row_id, defaults={"tenant_id": cast.tenant.pk, "tool": tool, "first_at": at}
        )


def limit(
    cast: Cast, tool: str, most: int, *, per: str = "tool", seconds: int = 3600, excess: str = "forbid"
) -> RateLimit:
    return RateLimit.objects.create(
        tenant=cast.tenant, tool=tool, per=per, most=most, window_seconds=seconds, excess=excess
    )


def facts(session: Session, type_: str = "call.intended") -> list[dict[str, Any]]:
    """Return the facts of the session's decided writes, as a replay reads them."""
    bodies = [payload_of(session.pk, event.position) for event in stream(session) if event.type == type_]
    return [restored(body["facts"], {}) for body in bodies]


def rates(session: Session) -> list[list[Any]]:
    """Return of each write that was made: calls of the tool, for the target, of the tenant, and whether it was new."""
    names = ("tool_hour", "target_hour", "tenant_hour", "first_target")
    return [[one["rate"][name] for name in names] for one in facts(session)]


def test_what_was_made_within_the_hour_is_counted(toy: Toy, agent: Agent, cast: Cast) -> None:
    made(cast, "pay", timedelta(minutes=59), count=3)
    made(cast, "pay", timedelta(minutes=5), target="customer:bea")
    made(cast, "pay", timedelta(minutes=61))
    made(cast, "note", timedelta(minutes=1), count=2, target="subject:w-9")
    session = work(toy, agent, pay(100), pay(200), TELL, DONE)
    assert rates(session) == [[4, 3, 6, False], [5, 4, 7, False], [2, 0, 8, True]]


def test_another_tenants_calls_are_not_counted(toy: Toy, agent: Agent, cast: Cast) -> None:
    made(cast, "pay", timedelta(minutes=1), count=3)
    Invocation.objects.update(tenant_id=cast.other.pk)
    KnownTarget.objects.update(tenant_id=cast.other.pk, id=new_id())
    assert rates(work(toy, agent, pay(), TELL, DONE)) == [[0, 0, 0, True], [0, 0, 1, True]]


def test_what_was_not_made_is_not_counted(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5_000), pay(100), TELL, DONE)
    assert events(session)[-1] == "approval.requested"
    decide(cast, Verdict.REJECT)
    assert rates(go_on(session)) == [[0, 0, 0, True], [0, 0, 1, True]]


def test_an_approved_call_counts_from_when_it_is_made(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    Invocation.objects.update(created_at=timezone.now() - 3 * HOUR)
    decide(cast)
    assert rates(go_on(session)) == [[0, 0, 0, True], [0, 0, 1, True]]
    rate_counts.forget()
    assert rates(work(toy, agent, TELL, DONE, work_id="w-2")) == [[1, 0, 2, True]]
    assert Invocation.objects.filter(tool="pay", intended_at__gt=timezone.now() - HOUR).count() == 1


def test_a_target_is_known_to_every_process_and_for_good(toy: Toy, agent: Agent, cast: Cast) -> None:
    work(toy, agent, pay(100), TELL, DONE)
    rate_counts.forget()
    Invocation.objects.update(intended_at=timezone.now() - 60 * timedelta(days=1))
    assert rates(work(toy, agent, pay(300), TELL, DONE, work_id="w-2"))[0] == [0, 0, 0, False]
    [known] = KnownTarget.objects.filter(tool="pay")
    assert known.pk == rate_counts.target_id(cast.tenant.pk, "pay", "customer:ann")


def test_a_further_write_asks_for_no_rates(toy: Toy, agent: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """The price of a step is that of its durable points: its rates come from what the process knows."""

    found: list[str] = []

    def spied(fetch: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
        def spy(sql: str, params: Any) -> Any:
            found.append(sql)
            return fetch(sql, params)

        return spy

    def asked(*lines: ToolCall) -> int:
        found.clear()
        work(toy, agent, *lines, TELL, DONE, work_id=f"w-{len(lines)}")
        return len(found)

    monkeypatch.setattr("agentops.runtime.rate_counts.fetch_all", spied(fetch_all))
    monkeypatch.setattr("agentops.runtime.rate_counts.fetch_one", spied(fetch_one))
    assert asked(note("a")) == 2  # the last hour, and whether the target is known
    # Only that a session's own subject is new has to be found out, once.
    assert [asked(*[note(str(n)) for n in range(count)]) for count in (2, 8)] == [1, 1]


def test_a_limit_refuses_and_says_when_there_is_room(toy: Toy, agent: Agent, cast: Cast) -> None:
    limit(cast, "note", 2)
    made(cast, "note", timedelta(minutes=50), target="subject:w-1")
    script: list[Line] = [note("a"), note("b"), ToolCall("hand_over", {"reason": "limit"}), DONE]
    session = work(toy, agent, *script)
    assert [e for e in events(session) if e.startswith("call.")] == [
        "call.intended",
        "call.succeeded",
        "call.refused",
        "call.intended",
        "call.succeeded",
    ]
    [told] = results(session, "call.refused")
    assert told["code"] == "RATE_LIMIT"
    assert told["message"].startswith("The limit of calls of note is reached: 2 in 1 hour. There is room again in ")
    assert "9 minutes" in told["message"] or "10 minutes" in told["message"]
    assert toy.notes == ["a"]


def test_a_limit_may_ask_and_an_approved_call_is_made(toy: Toy, agent: Agent, cast: Cast) -> None:
    limit(cast, "pay", 1, excess="ask")
    session = work(toy, agent, pay(100), pay(200), TELL, DONE)
    decide(cast)
    assert [rule for rule, *_ in payload_of(session.pk, stream(session)[-2].position)["verdict"]["reasons"]][:1] == [
        "rate.ask"
    ]
    assert go_on(session).status == "finished"
    assert toy.vendor.balances["a-1"] == 100_000 - 300


@pytest.mark.parametrize(
    ("tool", "per", "most", "refused"),
    [
        ("pay", "tool", 3, []),
        ("pay", "tool", 2, ["pay"]),
        ("", "tool", 2, ["pay"]),  # each tool by itself
        ("", "tenant", 3, ["pay", "note"]),
        ("pay", "target", 2, ["pay"]),
        ("", "target", 1, ["pay", "note"]),
        ("note", "target", 1, ["note"]),
        ("note", "tool", 1, ["note"]),
    ],
)
def test_what_a_limit_counts(
    toy: Toy, agent: Agent, cast: Cast, tool: str, per: str, most: int, refused: list[str]
) -> None:
    """Before it: a call of each tool, one for Ann and one for this subject; in it: one of each, after two of others."""
    made(cast, "pay", timedelta(minutes=1))
    made(cast, "pay", timedelta(minutes=2), target="customer:bea")
    made(cast, "note", timedelta(minutes=3), target="subject:w-1")
    limit(cast, tool, most, per=per)
    if (tool, per) == ("pay", "target"):
        made(cast, "pay", timedelta(minutes=4))
    end = ToolCall("hand_over", {"reason": "done"})
    session = work(toy, agent, pay(), TELL, end, DONE)
    names = [event.facts["tool"] for event in stream(session) if event.type == "call.refused"]
    assert [name for name in names if name in ("pay", "note")] == refused


def test_a_session_that_a_limit_stops_still_hands_over(toy: Toy, agent: Agent, cast: Cast) -> None:
    limit(cast, "", 1, per="tenant")
    made(cast, "pay", timedelta(minutes=1))
    session = work(toy, agent, *[note("again")] * 9)
    assert (session.status, session.stop_code) == ("stopped", "LOOP_REFUSED")
    assert toy.handed_over == ["LOOP_REFUSED"]


def test_a_limit_does_not_hold_up_a_person(toy: Toy, agent: Agent, cast: Cast) -> None:
    limit(cast, "note", 1)
    session = work(toy, agent, note("a"), pay(5_000))
    control.take_over(session_id=session.pk, actor="user:bob", reason="")
    control.propose_call(
        session_id=session.pk, actor="user:bob", tool="note", arguments={"text": "by hand"}, rationale=""
    )
    go_on(session)
    assert toy.notes == ["a", "by hand"]


def test_a_changed_limit_holds_from_the_next_step(toy: Toy, agent: Agent, cast: Cast) -> None:
    def forbidden(context: PlanContext) -> Line:
        RateLimit.objects.create(
            tenant=cast.tenant, tool="note", per="tool", most=1, window_seconds=60, excess="forbid"
        )
        return note("b")

    session = work(toy, agent, note("a"), forbidden, TELL, DONE)
    assert "call.refused" in events(session)
    assert toy.notes == ["a"]


def test_usual_amounts_come_from_what_succeeded(toy: Toy, agent: Agent, cast: Cast) -> None:
    for minor in (100, 200, 300, 400, 500, 600, 700, 800, 900):
        made(cast, "pay", timedelta(days=2), minor=minor)
    made(cast, "pay", timedelta(days=1), minor=10**6, currency="JPY", count=20)
    made(cast, "pay", timedelta(days=1), minor=10**6, state="failed", count=20)
    tenant = cast.tenant.pk
    assert rate_counts.usual_minor(tenant, "pay", "USD") is None
    made(cast, "pay", timedelta(days=2), minor=10_000)
    assert rate_counts.usual_minor(tenant, "pay", "USD") is None, "kept for a minute"
    rate_counts.forget()
    assert rate_counts.usual_minor(tenant, "pay", "USD") == 500
    assert rate_counts.usual_minor(cast.other.pk, "pay", "USD") is None
    session = work(toy, agent, pay(500), TELL, DONE)
    assert facts(session)[0]["money"]["usual_minor"] == 500
    assert facts(session)[0]["risk"]["score"] < 50


def test_usual_amount_is_the_middle_one() -> None:
    assert usual_amount([5] * 9) is None
    assert usual_amount([1, 1, 1, 1, 1, 9, 9, 9, 9, 9]) == 1


@pytest.mark.parametrize(
    ("earlier", "floor", "most"),
    [
        ((), 30, None),
        ((5, 5), 30, None),
        ((0, 0, 0), 30, 30),
        ((1, 2, 3), 30, 30),
        ((100, 100, 100), 30, 300),
        ((100, 200, 300), 30, 690),
        ((9, 9, 9), 0, None),
    ],
)
def test_what_is_usual_for_an_hour(earlier: tuple[int, ...], floor: int, most: int | None) -> None:
    assert usual_most(earlier, floor=floor) == most


def test_earlier_hours_begin_when_the_tenant_did(toy: Toy, agent: Agent, cast: Cast) -> None:
    made(cast, "note", timedelta(days=4, minutes=90))
    made(cast, "pay", timedelta(days=2, minutes=30), count=2)
    made(cast, "pay", timedelta(days=2, minutes=90), count=7)
    made(cast, "pay", timedelta(days=4, minutes=10), count=3)
    now = timezone.now()
    assert rate_counts.earlier_calls(cast.tenant.pk, "pay", now) == (0, 2, 0, 3)
    assert rate_counts.earlier_calls(cast.tenant.pk, "note", now) == (0, 0, 0, 0)
    assert rate_counts.earlier_calls(cast.other.pk, "pay", now) == ()
    assert rate_counts.earlier_targets(cast.tenant.pk, "pay", now) == (0, 1, 0, 0)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"most": 0}, "most"),
        ({"most": 1_000_001}, "most"),
        ({"window_seconds": 0}, "window_seconds"),
        ({"window_seconds": 32 * 86_400}, "window_seconds"),
        ({"per": "planet"}, "per"),
        ({"excess": "shred"}, "excess"),
        ({"per": "tenant", "tool": "pay"}, "tool"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(cast: Cast, values: dict[str, Any], field: str) -> None:
    good = {"tool": "", "per": "tool", "most": 5, "window_seconds": 60, "excess": "ask"}
    with pytest.raises(ValidationError) as error:
        RateLimit(tenant=cast.tenant, **{**good, **values}).full_clean()
    assert field in error.value.message_dict
    with pytest.raises(IntegrityError), transaction.atomic():
        RateLimit(tenant=cast.tenant, **{**good, **values}).save()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("per", "tool"), [("tool", "note"), ("tenant", "")])
def test_eight_workers_together_do_not_exceed_a_limit(
    toy: Toy, agent: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch, per: str, tool: str
) -> None:
    limit(cast, tool, 5, per=per)
    together = threading.Barrier(8, timeout=30)
    first: set[str] = set()

    def choose(context: PlanContext) -> Line:
        if context.subject.id not in first:
            first.add(context.subject.id)
            together.wait()
        seen = len(context.history)
        return note(f"{context.subject.id}-{seen}") if seen < 2 else LOOK

    plan(toy, *[choose] * 20)
    for number in range(8):
        start(toy, agent, f"w-{number}")

    def run() -> None:
        try:
            dispatch.work_until_quiet(most=1)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    by_planner = Invocation.objects.filter(tool="note")
    assert len(toy.notes) == by_planner.count() == 5
    refused = [code for s in Session.objects.all() for code in (r["code"] for r in results(s, "call.refused"))]
    assert refused.count("RATE_LIMIT") == 16 - 5


def test_when_there_is_room_again_is_exact(toy: Toy, agent: Agent, cast: Cast) -> None:
    limit(cast, "note", 2, seconds=600)
    made(cast, "note", timedelta(seconds=590), target="subject:w-1")
    made(cast, "note", timedelta(seconds=300), target="subject:w-1")
    oldest = Invocation.objects.order_by("intended_at").values_list("intended_at", flat=True)[0]
    assert isinstance(oldest, datetime)
    session = work(toy, agent, note("a"), pay(5_000))
    [told] = results(session, "call.refused")
    assert f"at {(oldest + timedelta(seconds=600)).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC." in told["message"]
