"""Performing a call, and finding out what became of one.

Whatever a tool does, the answer is one of four outcomes: done, certainly not done, certainly not done but
worth another try, or unknown. A write whose outcome is unknown is asked about by its key, never repeated
blindly.
"""

import logging
from dataclasses import dataclass
from typing import Any

from agentops.gateway.prepare import Refusal, refusal_of
from agentops.kernel.canonical import NotCanonical, canonical_bytes, digest
from agentops.kernel.errors import FailureKind
from agentops.registry import schemas
from agentops.registry.tool import CallContext, OutcomeUnknown, Preview, Result, ToolFailure, ToolSpec

log = logging.getLogger(__name__)

MAX_RESULT_BYTES = 200_000


@dataclass(frozen=True)
class Done:
    """The call took effect (or, for a read, answered)."""

    result: Result


@dataclass(frozen=True)
class NotDone:
    """The call certainly had no effect. ``retry_after`` is seconds, when the other side said so."""

    refusal: Refusal
    retryable: bool = False
    retry_after: float | None = None


@dataclass(frozen=True)
class Unknown:
    """Nobody can say whether the call took effect; a person must look."""

    words: str


Outcome = Done | NotDone | Unknown


def idempotency_key(*, tool: ToolSpec, arguments: dict[str, Any], preview: Preview, context: CallContext) -> str:
    """Return the key of the business action: SHA-256 hex over tenant, subject, tool, and what identifies it."""
    identity = {name: arguments.get(name) for name in tool.identity} if tool.identity else arguments
    parts = [
        str(context.tenant_id),
        context.subject_id,
        tool.name,
        identity,
        dict(preview.versions) if tool.versioned else {},
    ]
    return digest(parts).hex()


def read(tool: ToolSpec, context: CallContext, arguments: dict[str, Any]) -> Done | NotDone:
    """Perform a read."""
    try:
        result = tool.run(context, arguments)
    except (ToolFailure, OutcomeUnknown) as failure:
        return _not_done(failure)
    except Exception:
        log.exception("tool %s failed", tool.name)
        return NotDone(Refusal(FailureKind.UNKNOWN, "The tool failed.", "Try another way."))
    problem = _problem_of(tool, result)
    if problem:
        return NotDone(Refusal(FailureKind.UNKNOWN, f"The tool's answer was unusable: {problem}.", "Try another way."))
    return Done(result)


def write(tool: ToolSpec, context: CallContext, arguments: dict[str, Any]) -> Outcome:
    """Perform a write whose intent is already recorded. ``context`` carries its key and versions."""
    try:
        return Done(_recordable(tool, tool.run(context, arguments)))
    except ToolFailure as failure:
        return _not_done(failure)
    except Exception as error:
        log.warning("write %s failed; asking what became of its key", tool.name, exc_info=True)
        return find_out(tool, context, words=f"The call ended in {type(error).__name__}.")


def find_out(tool: ToolSpec, context: CallContext, *, words: str) -> Outcome:
    """Ask the system of record what became of the key. NotDone here means: it is safe to try again."""
    if tool.reconcile is None:
        return Unknown(f"{words} The system of record cannot be asked about it.")
    try:
        result = tool.reconcile(context)
    except Exception:
        log.warning("asking about a key of %s failed", tool.name, exc_info=True)
        return Unknown(f"{words} Asking the system of record about it failed.")
    if result is not None:
        return Done(_recordable(tool, result))
    refusal = Refusal(FailureKind.UNAVAILABLE, f"{words} It certainly had no effect.", "It is tried again.")
    return NotDone(refusal, retryable=True)


def _not_done(failure: ToolFailure | OutcomeUnknown) -> NotDone:
    if isinstance(failure, ToolFailure):
        return NotDone(refusal_of(failure), failure.kind.retryable, failure.retry_after)
    return NotDone(refusal_of(failure))


def _problem_of(tool: ToolSpec, result: Any) -> str:
    try:
        size = len(canonical_bytes(result))
    except NotCanonical as error:
        return error.message
    if size > MAX_RESULT_BYTES:
        return f"{size} bytes are more than the {MAX_RESULT_BYTES} allowed"
    found = schemas.violations(schemas.validator(tool.output_schema), result)
    return f"{found[0].path or 'result'}: {found[0].message}" if found else ""


def _recordable(tool: ToolSpec, result: Any) -> Result:
    """A write that took effect counts as done even when its answer is unusable; that is then what is recorded."""
    problem = _problem_of(tool, result)
    return {"done": True, "unreadable_answer": problem} if problem else result
