"""The drill's own role: a read, writes whose vendor knows idempotency keys, and one whose vendor does not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentops.chaos import client, vendor
from agentops.chaos.models import Job
from agentops.chaos.scripts import ASKED_ABOVE, SCRIPTS, edited, scripts_for, verdict_on
from agentops.kernel.money import Money
from agentops.registry.drill import Action, DrillSpec, Effect, Piece
from agentops.registry.flow import Argument, Flow, Intent, Kind
from agentops.registry.planner import (
    Answer,
    FinalAnswer,
    ObservationStatus,
    PlanContext,
    Subject,
    ToolCall,
    Turn,
    Usage,
)
from agentops.registry.process import Edge, ProcessSpec
from agentops.registry.role import Budget, GrantDefault, Intake, QueueDefault, RoleSpec, ThresholdDefault
from agentops.registry.tool import CallContext, Change, DataClass, Dial, Preview, Result, Tier, ToolSpec, UndoCall

KIND = "job"
QUEUE = "drill"
HAND_OVER = "hand_over"
# A job's request is the name of a script that stands in this program, so no value of a call is anybody else's.
_FLOW = Flow("drill", arguments={"": Argument(Kind.LABEL)})
_HANDED_OVER = {"reason": "A step did not work."}


class ScriptPlanner:
    """Proposes the steps of the subject's script, then ends; hands over, or gives up, after anything went wrong."""

    name = "drill script"

    def most_micro(self, context: PlanContext) -> int:
        """Return 0: nothing is paid for."""
        return 0

    def propose(self, context: PlanContext) -> Turn:
        """Propose what follows from the history alone, so that another worker proposes the same."""
        return Turn(self._next(context), Usage(model=self.name))

    def most_micro_to_explain(self, context: PlanContext, call: ToolCall, question: str) -> int:
        """Return 0: nothing is paid for."""
        return 0

    def answer(self, context: PlanContext, call: ToolCall, question: str) -> Answer:
        """Say that it is the script's."""
        return Answer(call.rationale, Usage(model=self.name))

    def _next(self, context: PlanContext) -> ToolCall | FinalAnswer:
        # A step that a person changed is told of twice: that it was changed, and what became of it.
        history = [o for o in context.history if not o.is_edited]
        steps, done, job = SCRIPTS[context.subject.text], len(history), context.subject.id
        failed = any(o.status is not ObservationStatus.OK for o in history)
        if any(o.tool == HAND_OVER for o in context.history) or (done >= len(steps) and not failed):
            return FinalAnswer("Done.")
        if failed and any(step.tool in ORDER.tools for step in steps):
            # Neither finished nor handed over: what was done of the order has to be taken back.
            return FinalAnswer("The order cannot be finished.")
        if failed:
            return ToolCall(HAND_OVER, dict(_HANDED_OVER), "A step did not work.")
        step = steps[done]
        if step.tool == "look":
            return ToolCall("look", {"account": account_of(job)}, "Look first.")
        arguments = {
            "account": account_of(job),
            "ref": f"{job}.{done}",
            "minor": step.minor,
            "words": step.words,
        }
        return ToolCall(step.tool, arguments, "The next step of the script.")


def account_of(job: str) -> str:
    """Return the job's account at the vendor."""
    return f"a-{job}"


def action_of(tool: str, arguments: Mapping[str, Any], job: str) -> Action:
    """Return what the vendor knows a call as: the action and the reference that stand in its log."""
    return tool, f"{job}.end" if tool == HAND_OVER else arguments["ref"]


def _write(name: str, tier: Tier, *, keys: bool = True, undo: str = "", **more: Any) -> ToolSpec:
    """Return a write; ``keys`` False: its vendor takes no idempotency key and cannot be asked about one."""

    def run(context: CallContext, arguments: Mapping[str, Any]) -> Result:
        return client.call({"action": name, "key": context.idempotency_key if keys else "", **arguments})

    def undo_call(arguments: Mapping[str, Any], result: Result) -> UndoCall | None:
        return undo, {**arguments, "words": arguments["words"].partition("|")[2]}

    return ToolSpec(
        name=name,
        version=1,
        owner="chaos",
        description=f"Make the vendor's call {name}.",
        input_schema=_object(
            account={"type": "string", "maxLength": 60},
            ref={"type": "string", "maxLength": 60},
            minor={"type": "integer", "minimum": 0, "maximum": 1_000_000},
            words={"type": "string", "maxLength": 60},
        ),
        output_schema=_object(receipt={"type": "string", "maxLength": 20}),
        tier=tier,
        auth_scope="drill:write",
        data_class=DataClass.INTERNAL,
        undo="by a call of the opposite",
        undo_call=undo_call if undo else None,
        preview=_preview,
        reconcile=(lambda context: client.ask(context.idempotency_key)) if keys else None,
        scoped={"account": "account"},
        identity=("ref",),
        queue=QUEUE,
        examples=({"account": "a-1", "ref": "1.1", "minor": 100, "words": ""},),
        flow=_FLOW,
        run=run,
        worst="makes a wrong entry with the drill's vendor",
        stopped_by="the vendor is a part of the drill; the session's own account only; amounts above the limit ask",
        **more,
    )


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _preview(context: CallContext, arguments: Mapping[str, Any]) -> Preview:
    minor = arguments["minor"]
    return Preview(
        effect=f"Call for {arguments['ref']}",
        target=f"account:{arguments['account']}",
        changes=(Change("Amount", "", str(minor)),),
        money=Money(minor, "USD") if minor else None,
    )


def _hand_over(context: CallContext, arguments: Mapping[str, Any]) -> Result:
    job, key = context.subject_id, context.idempotency_key
    return client.call({"action": HAND_OVER, "key": key, "account": account_of(job), "ref": f"{job}.end", "minor": 0})


_END = ToolSpec(
    name=HAND_OVER,
    version=1,
    owner="chaos",
    description="Hand the job to a person.",
    input_schema=_object(reason={"type": "string", "maxLength": 200}),
    output_schema=_object(receipt={"type": "string", "maxLength": 20}),
    tier=Tier.WRITE_SOFT,
    auth_scope="drill:write",
    data_class=DataClass.INTERNAL,
    undo="by taking it back",
    preview=lambda context, _: Preview("Hand over", f"job:{context.subject_id}"),
    reconcile=lambda context: client.ask(context.idempotency_key),
    queue=QUEUE,
    outcome="escalated",
    examples=(_HANDED_OVER,),
    flow=_FLOW,
    run=_hand_over,
    worst="leaves a job of the drill to a person for no reason",
    stopped_by="the drill counts what was handed over",
)

_LOOK = ToolSpec(
    name="look",
    version=1,
    owner="chaos",
    description="Look at the account.",
    input_schema=_object(account={"type": "string", "maxLength": 60}),
    output_schema=_object(balance={"type": "integer", "maximum": 10**9}),
    tier=Tier.READ,
    auth_scope="drill:read",
    data_class=DataClass.INTERNAL,
    scoped={"account": "account"},
    examples=({"account": "a-1"},),
    run=lambda _, arguments: {"balance": client.balance_of(arguments["account"])},
    worst="reads the balance of another job's account",
    stopped_by="the account must belong to the session's customer",
)

_LIMIT = ThresholdDefault(
    "money.minor", ">", ASKED_ABOVE, "ask", "More than the agent may move by itself.", currency="USD"
)


ORDER = ProcessSpec(
    name="order",
    version=1,
    title="Order",
    initial="new",
    final=frozenset({"shipped"}),
    edges=(
        Edge("reserve", "new", "reserved", "reserve"),
        Edge("charge", "reserved", "charged", "charge"),
        Edge("ship", "charged", "shipped", "ship"),
    ),
)


def _load(tenant: UUID, ref: str) -> Subject | None:
    job = Job.objects.filter(tenant_id=tenant, ref=ref).first()
    return None if job is None else _subject(job)


def _take(tenant: UUID, limit: int) -> list[Subject]:
    waiting = Job.objects.select_for_update(skip_locked=True).filter(tenant_id=tenant, taken=False)
    jobs = list(waiting.order_by("ref")[:limit])
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(taken=True)
    return [_subject(job) for job in jobs]


def _open(tenant: UUID, intake: Intake) -> str:
    return str(Job.objects.create(ref=intake.title, tenant_id=tenant, script=intake.text).pk)


def _waiting(tenant: UUID, limit: int) -> list[Subject]:
    waiting = Job.objects.filter(tenant_id=tenant, taken=False).order_by("ref")
    return [_subject(job) for job in waiting[:limit]]


def _subject(job: Job) -> Subject:
    received = datetime(2026, 1, 1, tzinfo=UTC)
    return Subject(KIND, job.ref, f"Job {job.ref}", job.script, "drill@example.com", f"c-{job.ref}", received)


def _feed(pieces: Sequence[Piece]) -> None:
    Job.objects.bulk_create(
        Job(ref=one.ref, tenant_id=one.tenant_id, script=one.script, taken=one.by_hand) for one in pieces
    )


def _effects() -> list[Effect]:
    made = client.books(patience=30)["effects"]
    return [Effect((one["action"], one["ref"]), one["key"], one["minor"]) for one in made]


def _faults(tenants: Sequence[UUID]) -> list[str]:
    """Return the accounts of which the vendor's balance is not what its log adds up to."""
    told = client.books(patience=30)
    moved: Counter[str] = Counter()
    for effect in told["effects"]:
        moved[effect["account"]] += vendor.SIGNS.get(effect["action"], 0) * effect["minor"]
    return [
        f"the vendor's balance of {account} is not what its log adds up to"
        for account, balance in told["balances"].items()
        if balance != vendor.OPENING_MINOR + moved[account]
    ]


DRILL = DrillSpec(
    planner=ScriptPlanner,
    processes=(ORDER,),
    way=lambda tool, _: tool,
    scripts_for=scripts_for,
    prepare=lambda _: None,
    feed=_feed,
    verdict=verdict_on,
    edited=edited,
    action=action_of,
    effects=_effects,
    made=lambda action: client.was_made(*action),
    faults=_faults,
    serving=vendor.serving,
    connect=client.connect,
)

ROLE = RoleSpec(
    name="drill",
    title="Drill",
    job_description="Does what its script says.",
    instructions="Follow the script.",
    success_metric="every session ends",
    subject_kind=KIND,
    tools=(
        _LOOK,
        _write("note", Tier.WRITE_SOFT, undo="strike", outcome="answered"),
        _write("strike", Tier.WRITE_SOFT),
        _write("pay", Tier.WRITE_HARD, undo="take_back", outcome="refunded", money_family="drill"),
        _write("take_back", Tier.WRITE_SOFT),
        _write("post", Tier.WRITE_SOFT, keys=False, outcome="changed"),
        _write("reserve", Tier.WRITE_SOFT, undo="release"),
        _write("release", Tier.WRITE_SOFT),
        _write("charge", Tier.WRITE_HARD, undo="credit", money_family="drill"),
        _write("credit", Tier.WRITE_SOFT),
        _write("ship", Tier.WRITE_SOFT, keys=False, outcome="changed"),
        _END,
    ),
    grants=(
        *(GrantDefault(name, Dial.AUTONOMOUS) for name in ("look", "post", "ship", HAND_OVER)),
        *(GrantDefault(name, Dial.AUTONOMOUS) for name in ("note", "strike", "take_back")),
        *(GrantDefault(name, Dial.AUTONOMOUS) for name in ("reserve", "release", "credit")),
        *(GrantDefault(name, Dial.BOUNDED, (_LIMIT,)) for name in ("pay", "charge")),
    ),
    queues=(QueueDefault(QUEUE, "Drill", "Whatever the drill asks."),),
    budget=Budget(max_steps=30, max_seconds=600, max_cost_micro=1_000_000),
    playbook=ScriptPlanner,
    processes=(ORDER,),
    load_subject=_load,
    open_subject=_open,
    waiting_subjects=_waiting,
    take_subjects=_take,
    owner_of=lambda _tenant, _kind, record: f"c-{record.removeprefix('a-')}",
    fallback=lambda _: (HAND_OVER, _HANDED_OVER),
    intents=(Intent(_FLOW.capability),),
    drill=DRILL,
)
