"""A long past of requests: real ones of the demo's shop, stored again and again with other ids, times and outcomes."""

import itertools
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from agentops.agents.models import Agent
from agentops.kernel.canonical import dumps
from agentops.kernel.ids import new_id
from agentops.policy.facts import restored
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest
from benchmarks import policy_history
from benchmarks.runtime_base import BenchmarkFailed, conninfo

PENDING = 2_000
"""So many requests wait for people: what a desk of fifty approvers has before it on a bad day."""

DAYS = 730
_OUTCOMES = ("approved", "approved", "approved", "approved", "rejected", "expired", "voided")
_FIELDS = ApprovalRequest._meta.concrete_fields  # noqa: SLF001 - Django's public interface to a model's fields
_COLUMNS = {str(each.column): each.attname for each in _FIELDS if not each.generated}
_JSON = ("arguments", "preview", "reasons", "facts")


def real_requests() -> list[ApprovalRequest]:
    """Let the demo's agents work until they ask, and return what they ask."""
    for seed in _SEEDS:
        import_string(seed)()
    while sweep_once():
        work_until_quiet()
    found = list(ApprovalRequest.objects.filter(state="pending").order_by("id"))
    if not found:
        raise BenchmarkFailed("the demo's agents asked nobody")
    return found


_SEEDS = (
    "support_agent.seeds.seed_demo",
    "agentops.embedded.seed.seed_people_and_agents",
    "approvals.seeds.seed_demo",
)


def store_requests(real: list[ApprovalRequest], count: int) -> None:
    """Store ``count`` requests like the real ones: the newest wait, the others were closed in the last two years."""
    columns = list(_COLUMNS)
    with psycopg.connect(conninfo(), autocommit=True) as plain:
        with plain.cursor() as cursor:
            rows = cursor.copy(f"COPY approvals_approvalrequest ({', '.join(columns)}) FROM STDIN")
            with rows as copied:
                for row in _rows(real, count):
                    copied.write_row([row[column] for column in columns])
        with plain.cursor() as cursor:
            # They were decided long ago, and a trigger lets nobody decide what is closed.
            cursor.execute("ALTER TABLE approvals_decision DISABLE TRIGGER USER")
            names = "request_id, person_id, verdict, reason, checked, digest, at, acknowledged, stepped_up"
            cursor.execute(
                f"INSERT INTO approvals_decision ({names})"
                " SELECT id, %s, CASE state WHEN 'approved' THEN 'approve' ELSE 'reject' END, 'Not owed.', '', digest,"
                " closed_at, '', '' FROM approvals_approvalrequest WHERE state IN ('approved', 'rejected')",
                [_approver().pk],
            )
            cursor.execute("ALTER TABLE approvals_decision ENABLE TRIGGER USER")
        plain.execute("VACUUM ANALYZE")


def _approver() -> User:
    name = next(account["name"] for account in settings.DEMO_ACCOUNTS if account["role"] == "approver")
    return User.objects.get(username=name)


def _rows(real: list[ApprovalRequest], count: int) -> Iterator[dict[str, Any]]:
    now = datetime.now(UTC)
    pending = min(PENDING, count // 10)
    for n, like in zip(range(count), itertools.cycle(real), strict=False):
        row = {column: getattr(like, name) for column, name in _COLUMNS.items()}
        row |= {name: dumps(row[name]) for name in _JSON}
        row |= {"id": new_id(), "invocation_id": new_id(), "session_id": new_id(), "supersedes_id": None}
        row |= {"nonce": secrets.token_hex(16), "claimed_by_id": None, "claimed_until": None}
        if n < pending:
            asked = now - timedelta(seconds=n)
            row |= {"created_at": asked, "expires_at": asked + timedelta(hours=4), "next_at": None}
        else:
            # The past keeps its facts in the ledger; here they would only be gigabytes that no page reads.
            asked = now - timedelta(days=DAYS) * (n / count)
            row |= {"created_at": asked, "expires_at": asked + timedelta(hours=4), "next_at": None, "facts": "{}"}
            row |= {"state": _OUTCOMES[n % len(_OUTCOMES)], "closed_at": asked + timedelta(minutes=1 + n % 200)}
        yield row


def store_events(count: int, real: list[ApprovalRequest]) -> None:
    """Store about ``count`` events of finished sessions that moved money beside those of the demo."""
    like = next(each for each in real if each.money_minor is not None)
    facts = restored(like.facts, like.arguments)
    agent = Agent.objects.select_related("current_version").order_by("pk")[0]
    version = agent.current_version
    if version is None:
        raise BenchmarkFailed("the demo's agent has no version")
    session = list(policy_history._events(1, facts))  # noqa: SLF001 - the two make one past
    policy_history.record(version, count * policy_history.A_SESSION // len(session), facts)
