"""A call and what becomes of it, whatever the tool does; and that each call is let through and reported."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentops.gateway.breakers import Breakers, breakers_of, tool_breaker
from agentops.gateway.execute import Done, Later, NotAsked, NotDone, Unknown, find_out, read, write
from agentops.gateway.models import Breaker
from agentops.gateway.prepare import Prepared, Refusal, prepare
from agentops.kernel.errors import FailureKind
from agentops.registry.planner import ToolCall
from agentops.registry.tool import CallContext, NotYet, OutcomeUnknown, Preview, ToolFailure, ToolSpec
from agentops.tenancy.models import Tenant
from tests.gateway.tools import CONTEXT, GOOD, Run, raising, read_tool, write_tool

DOWN = ToolFailure(FailureKind.UNAVAILABLE, "The vendor is down.")


class Odd(BaseException):
    """Neither an Exception nor one of Python's own ways to end."""


class Rude(dict[str, Any]):
    """A result that fails when it is looked at."""

    def values(self) -> Any:
        raise RuntimeError("no")


def cyclic() -> dict[str, Any]:
    result: dict[str, Any] = {}
    result["again"] = result
    return result


GARBAGE: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a list": lambda: [GOOD],
    "bytes": lambda: b"\xff",
    "an object": object,
    "a set": lambda: {"balance": {1}},
    "another schema": lambda: {"balance": "five"},
    "a float": lambda: {"balance": 5.0},
    "not a number": lambda: {"balance": float("nan")},
    "a huge integer": lambda: {"balance": 10**400},
    "NUL": lambda: {"balance": 5, "note": "\x00"},
    "half a surrogate": lambda: {"balance": "\ud800"},
    "odd keys": lambda: {5: 5},
    "cyclic": cyclic,
    "rude": lambda: Rude(balance=5),
    "50 MB": lambda: {"balance": "x" * 50_000_000},
}
FATAL = [SystemExit(1), Odd(), GeneratorExit(), MemoryError(), RecursionError(), ValueError("x")]


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_from_a_read_is_refused(garbage: Run) -> None:
    outcome = read(read_tool(lambda *_: garbage()), CONTEXT, {})
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.code, outcome.retryable) == ("UNKNOWN", False)
    assert outcome.refusal.message.startswith("The tool's answer was unusable: ")
    assert len(outcome.refusal.message) < 3_000


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_from_a_write_is_done_and_recorded_as_unreadable(garbage: Run) -> None:
    outcome = write(write_tool(lambda *_: garbage()), CONTEXT, {})
    assert isinstance(outcome, Done)
    assert set(outcome.result) == {"done", "unreadable_answer"}


@pytest.mark.parametrize("size", [200_001, 50_000_000])
def test_answer_that_fits_the_schema_but_is_too_large_is_not_kept(size: int) -> None:
    schema = {"type": "object", "properties": {"page": {"type": "string"}}, "additionalProperties": False}
    many = {"page": "x" * size}
    refused = read(read_tool(lambda *_: many, output_schema=schema), CONTEXT, {})
    assert isinstance(refused, NotDone)
    assert "bytes are more than the 200000 allowed" in refused.refusal.message
    done = write(write_tool(lambda *_: many, output_schema=schema), CONTEXT, {})
    assert isinstance(done, Done)
    assert "bytes are more than the 200000 allowed" in done.result["unreadable_answer"]


@pytest.mark.parametrize("error", FATAL, ids=repr)
def test_read_that_raises_anything_is_a_failed_call(error: BaseException) -> None:
    outcome = read(read_tool(raising(error)), CONTEXT, {})
    assert outcome == NotDone(Refusal("UNKNOWN", "The tool failed.", "Try another way."))


@pytest.mark.parametrize("error", FATAL, ids=repr)
def test_write_that_raises_anything_is_asked_about(error: BaseException) -> None:
    words = f"The call ended in {type(error).__name__}."
    deaf = write(write_tool(raising(error), reconcile=raising(error)), CONTEXT, {})
    assert deaf == Unknown(f"{words} Asking the system of record about it failed.", worth_asking=True)
    silent = write(write_tool(raising(error)), CONTEXT, {})
    assert silent == Unknown(f"{words} The system of record cannot be asked about it.")
    assert write(write_tool(raising(error), reconcile=lambda _: GOOD), CONTEXT, {}) == Done(GOOD)
    never = write(write_tool(raising(error), reconcile=lambda _: None), CONTEXT, {})
    assert isinstance(never, NotDone)
    assert (never.retryable, never.refusal.message) == (True, f"{words} It certainly had no effect.")


@pytest.mark.parametrize("error", FATAL, ids=repr)
def test_dry_run_that_raises_anything_is_a_refusal(error: BaseException) -> None:
    tool = write_tool(lambda *_: GOOD, preview=raising(error))
    assert prepared(tool) == Refusal("UNKNOWN", "The tool's dry run failed.", "Try another way.")


def test_keyboard_interrupts_the_main_thread_and_no_other() -> None:
    with pytest.raises(KeyboardInterrupt):
        read(read_tool(raising(KeyboardInterrupt())), CONTEXT, {})
    seen: list[object] = []
    tool = read_tool(raising(KeyboardInterrupt()))
    thread = threading.Thread(target=lambda: seen.append(read(tool, CONTEXT, {})))
    thread.start()
    thread.join(30)
    assert seen == [NotDone(Refusal("UNKNOWN", "The tool failed.", "Try another way."))]


@pytest.mark.parametrize("error", [ToolFailure(FailureKind.TIMEOUT, "Too slow."), TimeoutError("Too slow.")], ids=repr)
def test_read_that_times_out_is_told_to_ask_for_less(error: Exception) -> None:
    outcome = read(read_tool(raising(error)), CONTEXT, {})
    assert isinstance(outcome, NotDone)
    assert outcome.retryable
    assert (outcome.refusal.code, outcome.refusal.next_step) == ("TIMEOUT", "Ask for less at once.")


def test_wait_that_the_other_side_asks_for_is_passed_on() -> None:
    busy = ToolFailure(FailureKind.RATE_LIMIT, "Too many.", retry_after=17.0)
    for outcome in (
        read(read_tool(raising(busy)), CONTEXT, {}),
        write(write_tool(raising(busy)), CONTEXT, {}),
    ):
        assert isinstance(outcome, NotDone)
        assert (outcome.retryable, outcome.retry_after) == (True, 17.0)


# -- Credentials ---------------------------------------------------------------------------------------

EXPIRED = FailureKind.AUTH


def expired() -> ToolFailure:
    return ToolFailure(EXPIRED, "The token has expired.")


@pytest.mark.parametrize("kind", ["read", "write"])
def test_expired_credentials_are_renewed_once_and_the_call_is_made_again(kind: str) -> None:
    renewed: list[object] = []
    outcome = perform(kind, raising(expired()), refresh=renewed.append)
    assert (outcome, renewed) == (Done(GOOD), [CONTEXT])


@pytest.mark.parametrize("kind", ["read", "write"])
def test_credentials_that_stay_expired_end_the_call_after_one_renewal(kind: str) -> None:
    renewed: list[object] = []
    outcome = perform(kind, raising(*[expired() for _ in range(9)]), refresh=renewed.append)
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.code, outcome.retryable, len(renewed)) == ("AUTH", False, 1)
    assert outcome.refusal.next_step == "Hand over to a person; access is missing."


@pytest.mark.parametrize("error", [SystemExit(1), DOWN, OutcomeUnknown("?"), ValueError("x")], ids=repr)
def test_renewal_that_fails_leaves_the_call_as_it_was(error: BaseException) -> None:
    made: list[int] = []

    def run(*_: Any) -> Any:
        made.append(1)
        raise expired()

    outcome = perform("read", run, refresh=raising(error))
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.code, len(made)) == ("AUTH", 1)


def test_asking_about_a_key_and_dry_runs_renew_too() -> None:
    renewed: list[object] = []
    tool = write_tool(
        raising(),
        reconcile=raising(expired()),
        preview=lambda *_: Preview("Pay", "x") if renewed else raising(expired())(),
        refresh=renewed.append,
    )
    assert find_out(tool, CONTEXT, words="Lost.") == Done(GOOD)
    renewed.clear()
    assert isinstance(prepared(tool), Prepared)
    assert len(renewed) == 1


def perform(kind: str, run: Run, **more: Any) -> object:
    if kind == "read":
        return read(read_tool(run, **more), CONTEXT, {})
    return write(write_tool(run, **more), CONTEXT, {})


# -- Breakers ------------------------------------------------------------------------------------------


def known(tenant: Tenant) -> Breakers:
    return Breakers(tenant.pk, breakers_of(tenant.pk))


def failures(tenant: Tenant) -> int:
    row = Breaker.objects.filter(tenant=tenant).first()
    return 0 if row is None else row.failures


def let_time_pass() -> None:
    Breaker.objects.update(retry_at=timezone.now() - timedelta(seconds=1))


def prepared(tool: ToolSpec, breakers: Breakers | None = None, *, context: CallContext = CONTEXT) -> Prepared | Refusal:
    return prepare(
        call=ToolCall(tool.name, {}),
        role=_Role(tool),  # type: ignore[arg-type]
        granted=frozenset({tool.name}),
        context=context,
        breakers=breakers,
    )


class _Role:
    def __init__(self, tool: ToolSpec) -> None:
        self._tool = tool

    def tool(self, name: str) -> ToolSpec | None:
        return self._tool if name == self._tool.name else None


def test_read_that_keeps_failing_is_not_made_any_more_until_a_probe_works(tenant: Tenant) -> None:
    made: list[int] = []
    vendor = {"down": True}

    def run(*_: Any) -> Any:
        made.append(1)
        if vendor["down"]:
            raise DOWN
        return GOOD

    tool = read_tool(run)
    for _ in range(5):
        read(tool, CONTEXT, {}, breakers=known(tenant))
    outcome = read(tool, CONTEXT, {}, breakers=known(tenant))
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.code, outcome.retryable, len(made)) == ("UNAVAILABLE", True, 5)
    assert "is off until" in outcome.refusal.message
    assert outcome.retry_after == pytest.approx(30, abs=5)
    let_time_pass()
    vendor["down"] = False
    assert read(tool, CONTEXT, {}, breakers=known(tenant)) == Done(GOOD)
    assert read(tool, CONTEXT, {}, breakers=known(tenant)) == Done(GOOD)
    assert Breaker.objects.get().state == "closed"


@pytest.mark.parametrize(
    "error",
    [DOWN, SystemExit(1), OutcomeUnknown("?"), TimeoutError(), ToolFailure(FailureKind.RATE_LIMIT, "Too many.")],
    ids=repr,
)
def test_failures_count_for_reads_and_writes_and_questions_alike(tenant: Tenant, error: BaseException) -> None:
    read(read_tool(raising(error)), CONTEXT, {}, breakers=known(tenant))
    assert failures(tenant) == 1
    tool = write_tool(raising(error), name="look", reconcile=raising(error))
    write(tool, CONTEXT, {}, breakers=known(tenant))
    assert failures(tenant) == 2, "a write is one call, also when its outcome was asked about"
    find_out(write_tool(raising(), name="look", reconcile=raising(error)), CONTEXT, words="", breakers=known(tenant))
    assert failures(tenant) == 3
    prepared(write_tool(raising(), name="look", preview=raising(error)), known(tenant))
    assert failures(tenant) == 4


@pytest.mark.parametrize(
    "kind", [FailureKind.VALIDATION, FailureKind.AUTH, FailureKind.CONFLICT, FailureKind.NOT_FOUND]
)
def test_refusals_of_the_call_itself_never_count(tenant: Tenant, kind: FailureKind) -> None:
    for _ in range(9):
        read(read_tool(raising(ToolFailure(kind, "No."))), CONTEXT, {}, breakers=known(tenant))
        write(write_tool(raising(ToolFailure(kind, "No."))), CONTEXT, {}, breakers=known(tenant))
    assert not Breaker.objects.exists()


def test_write_whose_outcome_had_to_be_asked_about_still_counts_as_failed(tenant: Tenant) -> None:
    for _ in range(5):
        tool = write_tool(raising(OutcomeUnknown("?")), reconcile=lambda _: GOOD)
        assert write(tool, CONTEXT, {}, breakers=known(tenant)) == Done(GOOD)
    assert known(tenant).off(tool_breaker("pay")) is not None


def test_answers_that_cannot_be_used_count(tenant: Tenant) -> None:
    read(read_tool(lambda *_: None), CONTEXT, {}, breakers=known(tenant))
    write(write_tool(lambda *_: b"", name="look"), CONTEXT, {}, breakers=known(tenant))
    assert failures(tenant) == 2


def test_tool_that_is_off_is_neither_run_nor_asked_nor_prepared(tenant: Tenant) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("the tool was called")

    for _ in range(5):
        write(write_tool(raising(DOWN)), CONTEXT, {}, breakers=known(tenant))
    tool = write_tool(never, reconcile=never, preview=never)
    outcome = write(tool, CONTEXT, {}, breakers=known(tenant))
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.code, outcome.retryable) == ("UNAVAILABLE", True)
    asked = find_out(tool, CONTEXT, words="Lost.", breakers=known(tenant))
    assert isinstance(asked, NotAsked)
    assert asked.retry_after == pytest.approx(30, abs=5)
    refusal = prepared(tool, known(tenant))
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.next_step) == ("UNAVAILABLE", "Try another way, or hand over to a person.")


def not_yet(seconds: int = 60) -> NotYet:
    return NotYet("Not due \x00 yet.", after=timedelta(seconds=seconds))


def test_answer_that_is_not_due_is_neither_done_nor_failed(tenant: Tenant) -> None:
    for _ in range(4):
        read(read_tool(raising(DOWN)), CONTEXT, {}, breakers=known(tenant))
    outcome = read(read_tool(raising(not_yet())), CONTEXT, {}, breakers=known(tenant))
    assert isinstance(outcome, Later)
    assert (outcome.after, "\x00" in outcome.words) == (timedelta(seconds=60), False)
    assert failures(tenant) == 4


def test_probe_whose_answer_is_not_due_was_answered(tenant: Tenant) -> None:
    for _ in range(5):
        read(read_tool(raising(DOWN)), CONTEXT, {}, breakers=known(tenant))
    let_time_pass()
    assert isinstance(read(read_tool(raising(not_yet())), CONTEXT, {}, breakers=known(tenant)), Later)
    assert Breaker.objects.get().state == "closed"


def test_write_that_is_not_yet_due_is_asked_about() -> None:
    tool = write_tool(raising(not_yet()), reconcile=lambda context: GOOD)
    assert write(tool, CONTEXT, {}) == Done(GOOD)
    refused = prepared(write_tool(raising(), preview=raising(not_yet())))
    assert isinstance(refused, Refusal)
    assert refused.message == "The tool's dry run failed."


def test_renewal_that_is_not_yet_due_leaves_the_call_as_it_was() -> None:
    outcome = read(read_tool(raising(expired()), refresh=raising(not_yet())), CONTEXT, {})
    assert isinstance(outcome, NotDone)
    assert outcome.refusal.code == "AUTH"


def test_finding_out_is_a_probe_too(tenant: Tenant) -> None:
    for _ in range(5):
        write(write_tool(raising(DOWN)), CONTEXT, {}, breakers=known(tenant))
    let_time_pass()
    asked = find_out(write_tool(raising(), reconcile=lambda _: None), CONTEXT, words="", breakers=known(tenant))
    assert isinstance(asked, NotDone)
    assert Breaker.objects.get().state == "closed"


def test_question_that_is_refused_is_not_worth_asking_again() -> None:
    tool = write_tool(raising(), reconcile=raising(ToolFailure(FailureKind.VALIDATION, "Unknown key format.")))
    assert find_out(tool, CONTEXT, words="Lost.") == Unknown("Lost. Asking the system of record about it failed.")
