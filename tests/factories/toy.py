"""A small role with a vendor that can be told to misbehave: enough to drive the runtime through every outcome."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.flow import Argument, Field, Flow, Intent, Kind, Trust
from agentops.registry.planner import Planner, Subject
from agentops.registry.role import Budget, GrantDefault, Intake, QueueDefault, RoleSpec, ThresholdDefault
from agentops.registry.tool import (
    CallContext,
    Change,
    DataClass,
    Dial,
    OutcomeUnknown,
    Preview,
    Tier,
    ToolFailure,
    ToolSpec,
)

TOY_FLOW = Flow("toy", arguments={"": Argument(Kind.LABEL)}, results={"": Field(Trust.OWN, Kind.LABEL)})
"""Nothing that the toy role does depends on where a value came from: its tests are about something else."""


@dataclass
class Vendor:
    """Accounts with a balance and a version, idempotent by key, with scripted faults.

    Faults are taken one a call: ``before`` raises instead of acting, ``after`` acts and then raises. ``before_back``
    is ``before`` of paying back.
    """

    balances: dict[str, int] = field(default_factory=lambda: {"a-1": 100_000, "b-1": 100_000})
    versions: Counter[str] = field(default_factory=Counter)
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    before: list[Exception] = field(default_factory=list)
    after: list[Exception] = field(default_factory=list)
    before_back: list[Exception] = field(default_factory=list)
    deaf: bool = False
    on_pay: Callable[[], None] = lambda: None

    def pay(self, key: str, account: str, minor: int, expected: Mapping[str, int]) -> dict[str, Any]:
        """Take ``minor`` from the account, once per key."""
        self.calls.append(key)
        if self.before:
            raise self.before.pop(0)
        if key not in self.done:
            if expected.get(account, self.versions[account]) != self.versions[account]:
                raise ToolFailure(FailureKind.CONFLICT, "The account has changed.")
            self.balances[account] -= minor
            self.versions[account] += 1
            self.done[key] = {"receipt": f"r-{len(self.done) + 1}", "minor": minor}
        self.on_pay()
        if self.after:
            raise self.after.pop(0)
        return self.done[key]

    def pay_back(self, key: str, account: str, minor: int) -> dict[str, Any]:
        """Give ``minor`` back to the account, once per key."""
        self.calls.append(key)
        if self.before_back:
            raise self.before_back.pop(0)
        if key not in self.done:
            self.balances[account] += minor
            self.done[key] = {}
        return self.done[key]

    def ask(self, key: str) -> dict[str, Any] | None:
        """Tell what became of a key."""
        if self.deaf:
            raise OutcomeUnknown("The vendor does not answer.")
        return self.done.get(key)


@dataclass
class Toy:
    """The role with its vendor and its pieces of work. ``customer`` of ``w-*`` is ``ann``."""

    vendor: Vendor = field(default_factory=Vendor)
    planner: Planner | None = None
    notes: list[str] = field(default_factory=list)
    handed_over: list[str] = field(default_factory=list)
    works: dict[str, Subject] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def add_work(self, work_id: str, text: str = "Please pay.", customer: str | None = "ann") -> None:
        """Add a piece of work that waits to be begun."""
        self.works[work_id] = Subject(
            "work", work_id, f"Work {work_id}", text, "ann@example.com", customer, datetime(2026, 11, 1, tzinfo=UTC)
        )

    def spec(self) -> RoleSpec:
        """Return the role."""
        return RoleSpec(
            name="toy",
            title="Toy",
            job_description="Pays what is asked.",
            instructions="Pay what is asked.",
            success_metric="paid",
            subject_kind="work",
            tools=(self._look(), self._pay(), self._pay_back(), self._note(), self._hand_over()),
            grants=(
                GrantDefault("look", Dial.AUTONOMOUS),
                GrantDefault("pay", Dial.BOUNDED, (_LIMIT,)),
                GrantDefault("pay_back", Dial.AUTONOMOUS),
                GrantDefault("note", Dial.AUTONOMOUS),
                GrantDefault("hand_over", Dial.AUTONOMOUS),
            ),
            queues=(QueueDefault("payments", "Payments", "Money that leaves the house."),),
            budget=Budget(max_steps=12, max_seconds=600, max_cost_micro=1_000_000),
            playbook=self._playbook,
            load_subject=lambda tenant, work: self.works.get(work),
            open_subject=self._open,
            waiting_subjects=lambda tenant, limit: [s for s in self.works.values() if s.id not in self.taken][:limit],
            take_subjects=self._take,
            owner_of=lambda tenant, kind, record: {"a-1": "ann", "b-1": "bea"}.get(record),
            fallback=lambda reason: ("hand_over", {"reason": reason}),
            intents=(Intent(TOY_FLOW.capability),),
        )

    def _playbook(self) -> Planner:
        if self.planner is None:
            raise AssertionError("the test gave no planner")
        return self.planner

    def _open(self, tenant: UUID, intake: Intake) -> str:
        work_id = f"w-{len(self.works) + 1}"
        self.add_work(work_id, intake.text)
        return work_id

    def _take(self, tenant: UUID, limit: int) -> list[Subject]:
        taken = [s for s in self.works.values() if s.id not in self.taken][:limit]
        self.taken.update(s.id for s in taken)
        return taken

    def _look(self) -> ToolSpec:
        return ToolSpec(
            name="look",
            version=1,
            owner="tests",
            description="Look at an account.",
            input_schema=_object(account={"type": "string", "maxLength": 20}),
            output_schema=_object(balance={"type": "integer", "maximum": 10**9}),
            tier=Tier.READ,
            auth_scope="accounts:read",
            data_class=DataClass.FINANCIAL,
            flow=TOY_FLOW,
            scoped={"account": "account"},
            run=lambda context, arguments: {"balance": self.vendor.balances[arguments["account"]]},
            worst="reads somebody else's balance",
            stopped_by="the account must be the customer's",
        )

    def _pay(self) -> ToolSpec:
        return ToolSpec(
            name="pay",
            version=1,
            owner="tests",
            description="Pay from an account.",
            input_schema=_object(
                account={"type": "string", "maxLength": 20},
                minor={"type": "integer", "minimum": 1, "maximum": 10**9},
            ),
            output_schema=_object(
                receipt={"type": "string", "maxLength": 20}, minor={"type": "integer", "maximum": 10**9}
            ),
            tier=Tier.WRITE_HARD,
            auth_scope="accounts:pay",
            data_class=DataClass.FINANCIAL,
            flow=TOY_FLOW,
            undo="can be paid back",
            undo_call=lambda arguments, result: ("pay_back", dict(arguments)),
            undo_within=timedelta(hours=1),
            scoped={"account": "account"},
            preview=self._preview,
            reconcile=lambda context: self.vendor.ask(context.idempotency_key),
            money_family="payment",
            queue="payments",
            outcome="refunded",
            run=lambda context, arguments: self.vendor.pay(
                context.idempotency_key, arguments["account"], arguments["minor"], context.expected_versions
            ),
            worst="empties the account",
            stopped_by="more than $25 for one customer in one day asks",
        )

    def _preview(self, context: CallContext, arguments: Mapping[str, Any]) -> Preview:
        account, minor = arguments["account"], arguments["minor"]
        before = self.vendor.balances[account]
        if minor > before:
            raise ToolFailure(FailureKind.VALIDATION, "More than the account holds.", field="minor")
        return Preview(
            effect=f"Pay {Money(minor, 'USD')} from {account}",
            target=f"customer:{context.customer_id}",
            changes=(Change("Balance", str(before), str(before - minor)),),
            versions={account: self.vendor.versions[account]},
            money=Money(minor, "USD"),
        )

    def _pay_back(self) -> ToolSpec:
        return ToolSpec(
            name="pay_back",
            version=1,
            owner="tests",
            description="Pay back to an account.",
            input_schema=_object(
                account={"type": "string", "maxLength": 20},
                minor={"type": "integer", "minimum": 1, "maximum": 10**9},
            ),
            output_schema=_object(),
            tier=Tier.WRITE_SOFT,
            auth_scope="accounts:pay",
            data_class=DataClass.FINANCIAL,
            flow=TOY_FLOW,
            undo="can be paid again",
            scoped={"account": "account"},
            preview=lambda context, arguments: Preview(
                f"Pay {Money(arguments['minor'], 'USD')} back to {arguments['account']}",
                f"customer:{context.customer_id}",
            ),
            reconcile=lambda context: self.vendor.ask(context.idempotency_key),
            queue="payments",
            run=lambda context, arguments: self.vendor.pay_back(
                context.idempotency_key, arguments["account"], arguments["minor"]
            ),
            worst="pays money in that nobody owes",
            stopped_by="the account must be the customer's",
        )

    def _note(self) -> ToolSpec:
        def run(context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
            self.notes.append(arguments["text"])
            return {}

        return _soft("note", "text", run, outcome="answered")

    def _hand_over(self) -> ToolSpec:
        def run(context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
            self.handed_over.append(arguments["reason"])
            return {}

        return _soft("hand_over", "reason", run, outcome="escalated")


_LIMIT = ThresholdDefault(
    "money.customer_day_minor", ">", 2500, "ask", "More than $25.00 for one customer in one day.", "USD"
)


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _soft(
    name: str, argument: str, run: Callable[[CallContext, Mapping[str, Any]], dict[str, Any]], *, outcome: str
) -> ToolSpec:
    return ToolSpec(
        name=name,
        version=1,
        owner="tests",
        description=f"Take a {argument}.",
        input_schema=_object(**{argument: {"type": "string", "maxLength": 500}}),
        output_schema=_object(),
        tier=Tier.WRITE_SOFT,
        auth_scope="notes:write",
        data_class=DataClass.INTERNAL,
        flow=TOY_FLOW,
        undo="can be struck out",
        queue="payments",
        preview=lambda context, arguments: Preview(f"Take a {argument}", f"subject:{context.subject_id}"),
        reconcile=lambda context: None,
        outcome=outcome,
        run=run,
        worst=f"takes a wrong {argument}",
        stopped_by="it can be struck out",
    )
