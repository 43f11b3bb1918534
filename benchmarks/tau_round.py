"""One round: a fresh copy of the shop, at most one task a customer, and the comparison afterwards."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent
from agentops.registry.role import Intake
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, open_and_start
from agentops.runtime.states import ENDED, InvocationState
from agentops.tenancy.models import Membership, Role, Tenant
from approvals.duties.acknowledge import fact_of
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from approvals.operations import decide_request
from approvals.refusals import AlreadyClosed
from benchmarks.tau_script import WRITES, proposals_of, unknown_calls
from benchmarks.worker_pool import workers
from support_agent.connectors.shop_json import dump_customers, dump_orders, in_minor, load_shop
from support_agent.models import DeskOperation
from support_agent.role import ROLE

Task = dict[str, Any]


@dataclass(frozen=True)
class Shop:
    """The files: records by id, and the tasks."""

    users: dict[str, Any]
    orders: dict[str, Any]
    products: dict[str, Any]
    tasks: list[Task]


def read_shop(folder: Path) -> Shop:
    """Read the folder. Raises OSError or ValueError when a file is missing or not JSON."""

    def read(name: str) -> Any:
        return json.loads((folder / name).read_text(encoding="utf-8"))

    lines = (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = [json.loads(line) for line in lines if line.strip()]
    return Shop(read("users.json"), read("orders.json"), read("products.json"), tasks)


def rounds_of(tasks: list[Task]) -> Iterator[list[Task]]:
    """Yield the tasks in rounds, so that no customer has two in one round."""
    left = tasks
    while left:
        seen: set[str] = set()
        now = [task for task in left if not (task["user_id"] in seen or seen.add(task["user_id"]))]  # type: ignore[func-returns-value]
        yield now
        chosen = {id(task) for task in now}
        left = [task for task in left if id(task) not in chosen]


class Round:
    """One round with its own tenant."""

    def __init__(self, shop: Shop, tasks: list[Task], number: int, seed: int) -> None:
        self.shop, self.tasks, self.seed = shop, tasks, seed
        self.tenant = Tenant.objects.create(slug=f"round-{number}", name=f"Round {number}")
        load_shop(self.tenant, users=shop.users, orders=shop.orders, products=shop.products)
        self.agent: Agent = employ_agent(tenant_id=self.tenant.pk, role=ROLE, name="Support", actor="benchmark")
        # What cannot be undone takes two people.
        self.people = [self._approver(f"approver-{number}-{which}") for which in (1, 2)]

    def _approver(self, name: str) -> User:
        person = User.objects.create_user(name)
        Membership.objects.create(tenant=self.tenant, user=person, role=Role.APPROVER)
        for queue in ApprovalQueue.objects.filter(tenant=self.tenant):
            assign_perm("approvals.decide_queue", person, queue)
        return person

    def run(self, patience_s: float) -> tuple[Counter[str], list[str]]:
        """Work every task to its end while workers are killed; return the figures and what was wrong, in words."""
        sessions = {task["id"]: self._start(task) for task in self.tasks}
        deadline = time.monotonic() + patience_s
        with workers(2, prepare="benchmarks.tau_script:use_script", progress=self._progress, seed=self.seed) as pool:
            while Session.objects.filter(tenant=self.tenant).exclude(status__in=ENDED).exists():
                self._approve_all()
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)
        figures, words = self._compare(sessions)
        figures.update(kills=pool.kills, errors=pool.deaths)
        if pool.deaths:
            words.append(f"{pool.deaths} workers ended by themselves")
        return figures, words

    def _progress(self) -> int:
        """How many events the sessions have recorded."""
        return LedgerEvent.objects.filter(tenant_id=self.tenant.pk).count()

    def _start(self, task: Task) -> UUID:
        intake = Intake(sender=task["email"], title=task["id"], text=task["body"])
        return open_and_start(agent=self.agent, intake=intake, actor="benchmark").pk

    def _approve_all(self) -> None:
        for request in ApprovalRequest.objects.filter(tenant=self.tenant, state="pending"):
            fact = fact_of(request).expected if request.irreversible else ""
            for person in self.people[: request.people]:
                with suppress(AlreadyClosed):
                    decide_request(
                        request_id=request.pk,
                        person=person,
                        verdict=Verdict.APPROVE,
                        digest=request.digest,
                        acknowledged=fact,
                        stepped_up="totp" if fact else "",
                        now=timezone.now(),
                    )

    def _compare(self, sessions: dict[str, UUID]) -> tuple[Counter[str], list[str]]:
        words: list[str] = []
        orders = {ref: in_minor(record) for ref, record in self.shop.orders.items()}
        users = {ref: in_minor(record) for ref, record in self.shop.users.items()}
        touched: dict[str, str] = {}
        for task in self.tasks:
            orders |= {ref: in_minor(record) for ref, record in task["after"]["orders"].items()}
            users |= {ref: in_minor(record) for ref, record in task["after"]["users"].items()}
            touched |= dict.fromkeys((*task["after"]["orders"], *task["after"]["users"], task["user_id"]), task["id"])
        wrong: set[str] = set()
        for ref, got in self._records():
            expected = orders.get(ref, users.get(ref))
            if got != expected:
                wrong.add(touched.get(ref, f"nobody's {ref}"))
                words.append(f"{touched.get(ref, 'nobody')}: {ref} is {_difference(got, expected)}")
        figures = Counter(
            equal=sum(task["id"] not in wrong for task in self.tasks) if not self._stray(wrong) else 0,
            questions=ApprovalRequest.objects.filter(tenant=self.tenant).count(),
            double_effects=self._double_effects(),
        )
        for task in self.tasks:
            problem = self._problem(task, sessions[task["id"]])
            if problem:
                figures["errors"] += 1
                words.append(f"{task['id']}: {problem}")
        return figures, words

    def _records(self) -> Iterator[tuple[str, Any]]:
        for ref, record in (dump_orders(self.tenant) | dump_customers(self.tenant)).items():
            yield ref, in_minor(record)

    def _stray(self, wrong: set[str]) -> bool:
        """An effect on a record that no task of the round touches spoils the whole round."""
        return any(name.startswith("nobody's ") for name in wrong)

    def _double_effects(self) -> int:
        """Effects at the desk beyond one for each call that the sessions know to have succeeded."""
        effects = DeskOperation.objects.filter(tenant=self.tenant).count()
        known = Invocation.objects.filter(tenant_id=self.tenant.pk, state=InvocationState.SUCCEEDED).count()
        return max(0, effects - known)

    def _problem(self, task: Task, session_id: UUID) -> str:
        session = Session.objects.get(pk=session_id)
        if session.status != "finished":
            return f"the session is {session.status} {session.stop_code}"
        unknown = unknown_calls(task["actions"])
        if unknown:
            return f"no tool for {', '.join(unknown)}"
        expected = sum(call.tool in WRITES for call in proposals_of(task["actions"]))
        failing = sum(name in _RECORDED_WRITES for name, _ in task["errors"])
        done = Invocation.objects.filter(session_id=session_id, tool__in=WRITES, state="succeeded").count()
        return "" if done == expected - failing else f"{done} of {expected - failing} writes took effect"


_RECORDED_WRITES = frozenset(
    {
        "cancel_pending_order",
        "modify_pending_order_items",
        "modify_pending_order_address",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
        "exchange_delivered_order_items",
    }
)


def _difference(got: Any, expected: Any) -> str:
    if not isinstance(got, dict) or not isinstance(expected, dict):
        return f"{got!r}, expected {expected!r}"
    names = [name for name in {*got, *expected} if got.get(name) != expected.get(name)]
    return "; ".join(f"{name} {got.get(name)!r}, expected {expected.get(name)!r}" for name in sorted(names))[:300]
