"""A write of an embedded system of record happens once: its key is claimed in the transaction of its effect.

The role's table of operations has the columns ``tenant_id``, ``key`` (unique together), ``action``,
``arguments_digest``, ``result``, ``at``, and one for the piece of work.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db import DataError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Model

from agentops.kernel.canonical import NotCanonical, digest
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, OutcomeUnknown, Result, ToolFailure


@dataclass(frozen=True)
class Call:
    """For whom and when something is done. ``key`` is the operation's, ``subject_id`` the work that it belongs to."""

    tenant_id: UUID
    key: str
    now: datetime
    subject_id: str = ""


def call_of(context: CallContext) -> Call:
    """Return the call that a tool makes."""
    return Call(context.tenant_id, context.idempotency_key, context.now, context.subject_id)


@dataclass(frozen=True)
class Once:
    """Carries writes out once. ``subject`` is the column of the piece of work, ``name`` what the database is called."""

    table: type[Model]
    subject: str
    name: str

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Say that the database did not answer, in a form that is tried again later. Also a decorator."""
        try:
            yield
        except (OperationalError, InterfaceError) as error:
            raise self._silent() from error

    def write(self, context: CallContext, fingerprint: bytes, action: str, act: Callable[[], Result]) -> Result:
        """Do ``act`` in the transaction that claims the context's key, and return its result.

        ``act`` records the result. The same key with the same fingerprint returns the recorded one; with another it is
        a CONFLICT. Raises ToolFailure, or OutcomeUnknown when the commit was not confirmed.
        """
        if not context.idempotency_key:
            raise ToolFailure(FailureKind.VALIDATION, "A write needs an idempotency key.")
        call, committing = call_of(context), False
        try:
            with transaction.atomic():
                done = act() if self.claim(call, action, fingerprint) else self._recorded(call, fingerprint)
                committing = True
        except (OperationalError, InterfaceError) as error:
            if committing:
                raise OutcomeUnknown(f"The {self.name} did not confirm the write.") from error
            raise self._silent() from error
        except DataError as error:
            message = "A text is too long for the records, or a number too large."
            raise ToolFailure(FailureKind.VALIDATION, message) from error
        return done

    def known(self, context: CallContext, fingerprint: bytes) -> Result | None:
        """Return the recorded result of the context's key, None when there is none; nothing is waited for.

        For a system of record that is elsewhere, whose writes are no part of a transaction. Raises ToolFailure CONFLICT
        when the key was used with another fingerprint, VALIDATION without a key.
        """
        if not context.idempotency_key:
            raise ToolFailure(FailureKind.VALIDATION, "A write needs an idempotency key.")
        call = call_of(context)
        with self.answering():
            used = self.table._default_manager.filter(tenant_id=call.tenant_id, key=call.key).exists()  # noqa: SLF001 - as above
            return self._recorded(call, fingerprint) if used else None

    def keep(self, context: CallContext, fingerprint: bytes, action: str, result: Result) -> Result:
        """Record what a system of record that is elsewhere did under the context's key, and return what is on record.

        Raises as ``write`` does.
        """

        def act() -> Result:
            self.record(call_of(context), result)
            return result

        return self.write(context, fingerprint, action, act)

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the context's key, None when it took no effect.

        Waits for a write of the same key that is still under way: claiming the key does, and the claim is rolled back.
        """
        with self.answering(), transaction.atomic():
            call = call_of(context)
            if self.claim(call, "", b""):
                transaction.set_rollback(True)
                return None
            return dict(self._operation(call).result)

    def claim(self, call: Call, action: str, fingerprint: bytes) -> bool:
        """Insert the operation, waiting for another one of the same key; False when the key has had its effect."""
        table = self.table._meta.db_table  # noqa: SLF001 - Django's public interface to a model
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} (tenant_id, key, action, arguments_digest, result, at, {self.subject})"  # noqa: S608 - a role's own names
                " VALUES (%s, %s, %s, %s, '{}', %s, %s) ON CONFLICT (tenant_id, key) DO NOTHING",
                [call.tenant_id, call.key, action, fingerprint, call.now, call.subject_id],
            )
            return bool(cursor.rowcount == 1)

    def record(self, call: Call, result: Result, **more: Any) -> None:
        """Keep what the operation came to, in the transaction of its effect; ``more`` are columns of the role's own."""
        operations = self.table._default_manager.filter(tenant_id=call.tenant_id, key=call.key)  # noqa: SLF001 - as above
        operations.update(result=result, **more)

    def _recorded(self, call: Call, fingerprint: bytes) -> Result:
        operation = self._operation(call)
        if bytes(operation.arguments_digest) != fingerprint:
            raise ToolFailure(FailureKind.CONFLICT, "This idempotency key was used for another call.")
        return dict(operation.result)

    def _operation(self, call: Call) -> Any:
        return self.table._default_manager.get(tenant_id=call.tenant_id, key=call.key)  # noqa: SLF001 - as above

    def _silent(self) -> ToolFailure:
        return ToolFailure(FailureKind.UNAVAILABLE, f"The {self.name} did not answer.")


def fingerprint_of(context: CallContext, write: Any, *, unsaid: Collection[str] = ()) -> bytes:
    """Return the digest of a write, a dataclass, without the fields ``unsaid``.

    Raises ToolFailure VALIDATION for what cannot be recorded.
    """
    arguments = {name: _plain(value) for name, value in asdict(write).items() if name not in unsaid}
    called = {
        "action": type(write).__name__,
        "arguments": arguments,
        "customer": context.customer_id,
        "subject": context.subject_id,
    }
    try:
        return digest(called)
    except NotCanonical as error:
        message = f"The arguments cannot be recorded: {error.message}."
        raise ToolFailure(FailureKind.VALIDATION, message) from error


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def require_versions(context: CallContext, now: dict[str, int]) -> None:
    """Raise CONFLICT unless the records are those that were decided on; ``now`` are their versions under the lock."""
    for record, version in context.expected_versions.items():
        if now.get(record) != version:
            message = f"The record {record} has changed since this was decided."
            raise ToolFailure(FailureKind.CONFLICT, message)
