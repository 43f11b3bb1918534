"""The benchmark's role: a planner that answers at once and tools that do nothing, so that only the runtime costs time.

A subject's id says what its session does: ``write-20-7`` is session 7 with 20 writes, ``read-…`` makes as many reads
and then one write (a session may not end in silence), ``ask-…`` as many reads and then a write that a person approves.
"""

import random
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.flow import Argument, Field, Flow, Intent, Kind, Trust
from agentops.registry.planner import FinalAnswer, PlanContext, Proposal, Subject, ToolCall
from agentops.registry.role import Budget, GrantDefault, Intake, QueueDefault, RoleSpec
from agentops.registry.tool import CallContext, Change, DataClass, Dial, Preview, Tier, ToolSpec

RESULT_CHARACTERS = 1_000
QUEUE = "benchmark"
MANY = 1_000_000

# Text that does not compress, neither in the ledger nor in the server: large values must not get cheaper than they are.
_TEXT = urlsafe_b64encode(random.Random(1).randbytes(12_000)).decode()
_PUT_WORDS = "The next line of the benchmark, as long as the arguments of an ordinary call."

asked_at: list[float] = []
"""When the planner was asked, by ``time.perf_counter``; filled while ``watch`` is on. For one thread only."""
_watching = [False]


def watch(on: bool) -> None:
    """Begin or end to note when the planner is asked."""
    _watching[0] = on
    asked_at.clear()


def result_of(number: int) -> dict[str, Any]:
    """Return the result of call ``number``: about 1 KB, another one for each number."""
    start = number * 13 % 14_000
    return {"number": number, "text": _TEXT[start : start + RESULT_CHARACTERS]}


def _script(context: PlanContext) -> Proposal:
    if _watching[0]:
        asked_at.append(time.perf_counter())
    kind, steps, _ = context.subject.id.split("-", 2)
    done = len(context.history)
    if done < int(steps):
        if kind == "write":
            return ToolCall("put", {"number": done, "text": _PUT_WORDS}, "The script says so.")
        return ToolCall("look", {"number": done}, "The script says so.")
    if done == int(steps) and kind != "write":
        tool = "sign_off" if kind == "ask" else "put"
        return ToolCall(tool, {"number": done, "text": _PUT_WORDS}, "The script says so.")
    return FinalAnswer("Done.")


PLANNER = ScriptedPlanner(_script, name="benchmark")


def _look(context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    number = arguments["number"]
    return {**result_of(number), "next": number + 1}


def _sign_off(context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    at = time.monotonic()
    from benchmarks.runtime_tasks import say_reached  # noqa: PLC0415 - needs Redis, which most runs do without

    say_reached(context.session_id, at)
    return _look(context, arguments)


def _preview(context: CallContext, arguments: Mapping[str, Any]) -> Preview:
    number = arguments["number"]
    return Preview(f"Put line {number}", f"subject:{context.subject_id}", (Change("Line", "", str(number)),))


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_NUMBER = {"type": "integer", "minimum": 0, "maximum": MANY}
_LINE = {"type": "string", "maxLength": 2_000}
_RESULTS = {
    "number": Field(Trust.OWN, Kind.REF, of="line"),
    "next": Field(Trust.OWN, Kind.REF, of="line"),
    "text": Field(Trust.HOUSE, Kind.TEXT),
}
_ARGUMENTS = {"number": Argument(Kind.REF, of="line"), "text": Argument(Kind.TEXT)}


def _write(name: str, run: Any) -> ToolSpec:
    return ToolSpec(
        name=name,
        version=1,
        owner="benchmarks",
        description="Put a line.",
        input_schema=_object(number=_NUMBER, text=_LINE),
        output_schema=_object(number=_NUMBER, next=_NUMBER, text=_LINE),
        tier=Tier.WRITE_SOFT,
        auth_scope="lines:write",
        data_class=DataClass.INTERNAL,
        undo="can be struck out",
        queue=QUEUE,
        preview=_preview,
        reconcile=lambda *_: None,
        outcome="changed",
        flow=Flow("put", arguments=_ARGUMENTS, results=_RESULTS),
        run=run,
        worst="puts a wrong line",
        stopped_by="it can be struck out",
    )


_LOOK = ToolSpec(
    name="look",
    version=1,
    owner="benchmarks",
    description="Look at a line.",
    input_schema=_object(number=_NUMBER),
    output_schema=_object(number=_NUMBER, next=_NUMBER, text=_LINE),
    tier=Tier.READ,
    auth_scope="lines:read",
    data_class=DataClass.INTERNAL,
    flow=Flow("look", arguments=_ARGUMENTS, results=_RESULTS),
    run=_look,
    worst="reads a line of the benchmark",
)


def _load(tenant_id: UUID, subject_id: str) -> Subject:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    return Subject(
        "line",
        subject_id,
        f"Work {subject_id}",
        "Please put lines, beginning with line 0.",
        "ann@example.com",
        "ann",
        at,
    )


def _open(tenant_id: UUID, intake: Intake) -> str:
    raise NotImplementedError("the benchmark starts its sessions by their subjects' ids")


ROLE = RoleSpec(
    name="benchmark",
    title="Benchmark",
    job_description="Puts lines.",
    instructions="Put lines.",
    success_metric="changed",
    subject_kind="line",
    tools=(_LOOK, _write("put", _look), _write("sign_off", _sign_off)),
    grants=(
        GrantDefault("look", Dial.AUTONOMOUS),
        GrantDefault("put", Dial.AUTONOMOUS),
        GrantDefault("sign_off", Dial.ASK),
    ),
    queues=(QueueDefault(QUEUE, "Benchmark", "Lines that a person signs off."),),
    budget=Budget(max_steps=MANY, max_seconds=86_400, max_cost_micro=MANY, max_tokens=MANY),
    playbook=lambda: PLANNER,
    load_subject=_load,
    open_subject=_open,
    waiting_subjects=lambda *_: [],
    take_subjects=lambda *_: [],
    owner_of=lambda *_: None,
    fallback=lambda reason: ("put", {"number": MANY, "text": reason[:500]}),
    intents=(Intent("put", ("put line*",)),),
)
