"""Performing a call, and finding out what became of one.

Whatever a tool does, the answer is one of four outcomes: done, certainly not done, certainly not done but
worth another try, or unknown. A write whose outcome is unknown is asked about by its key, never repeated
blindly.

With ``breakers`` every call is let through by its tool's breaker and reported to it. A write is one call, whether or
not its outcome has to be asked about.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from agentops.gateway.breaker import COUNTED
from agentops.gateway.breakers import Breakers, ToolOff
from agentops.gateway.calling import Answer, ToolBroke, call, failure_of
from agentops.gateway.prepare import MOST_WORDS, Refusal, refusal_of
from agentops.kernel.canonical import NotCanonical, canonical_bytes, digest, storable
from agentops.kernel.errors import FailureKind
from agentops.registry import schemas
from agentops.registry.tool import CallContext, NotYet, OutcomeUnknown, Preview, Result, ToolFailure, ToolSpec

log = logging.getLogger(__name__)

MAX_RESULT_BYTES = 200_000


@dataclass(frozen=True)
class Done:
    """The call took effect (or, for a read, answered). ``scrubbed`` counts the places where a secret was taken out."""

    result: Result
    scrubbed: int = 0


@dataclass(frozen=True)
class NotDone:
    """The call had no effect. ``retry_after`` is seconds, when the other side said so.

    ``definite``: the other side refused it. Otherwise it knows nothing of the key, and a request that is still on its
    way could take effect after all.
    """

    refusal: Refusal
    retryable: bool = False
    retry_after: float | None = None
    definite: bool = True


@dataclass(frozen=True)
class Unknown:
    """Nobody can say whether the call took effect. ``worth_asking``: asking again may tell, otherwise a person must."""

    words: str
    worth_asking: bool = False


@dataclass(frozen=True)
class NotAsked:
    """The tool is off, so nobody was asked: what is on record stands, and is asked about in ``retry_after`` seconds."""

    words: str
    retry_after: float


@dataclass(frozen=True)
class Later:
    """The answer of a read is not due before ``after``. Nothing failed."""

    words: str
    after: timedelta


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


def read(
    tool: ToolSpec, context: CallContext, arguments: dict[str, Any], *, breakers: Breakers | None = None
) -> Done | NotDone | Later:
    """Perform a read. Of a tool that is off, nothing is asked."""
    try:
        answer = call(
            tool,
            context,
            lambda lent: tool.run(lent, arguments),
            problem_of=partial(_problem_of, tool),
            breakers=breakers,
        )
    except (ToolFailure, OutcomeUnknown) as failure:
        return _not_done(failure)
    except ToolBroke as error:
        return _not_done(_timed_out(error)) if error.timed_out else NotDone(_BROKEN)
    except NotYet as early:
        return Later(storable(early.message, most=MOST_WORDS), early.after)
    if answer.problem:
        words = f"The tool's answer was unusable: {answer.problem}."
        return NotDone(Refusal(FailureKind.UNKNOWN, words, "Try another way."))
    return Done(answer.result, answer.scrubbed)


_BROKEN = Refusal(FailureKind.UNKNOWN, "The tool failed.", "Try another way.")


def _timed_out(error: ToolBroke) -> ToolFailure:
    """A read that took too long had no effect, so it may be asked again, for less."""
    return ToolFailure(FailureKind.TIMEOUT, f"The tool did not answer in time ({error.message}).")


def write(
    tool: ToolSpec, context: CallContext, arguments: dict[str, Any], *, breakers: Breakers | None = None
) -> Outcome:
    """Perform a write whose intent is already recorded. ``context`` carries its key and versions.

    A tool that is off was not called: that certainly had no effect, and is worth another try when it is on again.
    """
    try:
        answer = call(
            tool,
            context,
            lambda lent: tool.run(lent, arguments),
            problem_of=partial(_problem_of, tool),
            breakers=breakers,
        )
    except ToolFailure as failure:
        return _not_done(failure)
    except (OutcomeUnknown, ToolBroke) as error:
        log.warning("write %s failed; asking what became of its key: %s", tool.name, error.message)
        ended_in = error.message if isinstance(error, ToolBroke) else type(error).__name__
        # Asking is part of this call, which is already reported as failed.
        return _ask(tool, context, f"The call ended in {ended_in}.", None)
    return _recordable(answer)


def find_out(
    tool: ToolSpec, context: CallContext, *, words: str, breakers: Breakers | None = None
) -> Outcome | NotAsked:
    """Ask the system of record what became of the key. NotDone here means: it is safe to try again."""
    try:
        return _ask(tool, context, words, breakers)
    except ToolOff as off:
        return NotAsked(off.message, off.retry_after or 1.0)


def _ask(tool: ToolSpec, context: CallContext, words: str, breakers: Breakers | None) -> Outcome:
    reconcile = tool.reconcile
    if reconcile is None:
        return Unknown(f"{words} The system of record cannot be asked about it.")
    try:
        answer = call(
            tool,
            context,
            reconcile,
            problem_of=lambda found: "" if found is None else _problem_of(tool, found),
            breakers=breakers,
        )
    except ToolOff:
        raise
    except (ToolFailure, OutcomeUnknown, ToolBroke) as error:
        log.warning("asking about a key of %s failed: %s", tool.name, error.message)
        # What is down or slow now may answer later; what refuses to say will not.
        worth_asking = failure_of(error)[0] in COUNTED
        return Unknown(f"{words} Asking the system of record about it failed.", worth_asking)
    if answer.result is not None:
        return _recordable(answer)
    refusal = Refusal(FailureKind.UNAVAILABLE, f"{words} It certainly had no effect.", "It is tried again.")
    return NotDone(refusal, retryable=True, definite=tool.reconcile_is_final)


def _not_done(failure: ToolFailure | OutcomeUnknown) -> NotDone:
    if isinstance(failure, ToolFailure):
        return NotDone(refusal_of(failure), failure.kind.retryable, failure.retry_after)
    return NotDone(refusal_of(failure))


def _problem_of(tool: ToolSpec, result: Any) -> str:
    """Return what is wrong with a tool's answer, empty when it can be used. Nothing is believed about its type."""
    try:
        size = len(canonical_bytes(result))
    except NotCanonical as error:
        return error.message
    except Exception as error:
        log.exception("an answer of %s cannot be read", tool.name)
        return f"reading it ended in {type(error).__name__}"
    if size > MAX_RESULT_BYTES:
        return f"{size} bytes are more than the {MAX_RESULT_BYTES} allowed"
    found = schemas.violations(tool.checks_output, result)
    return f"{found[0].path or 'result'}: {found[0].message}" if found else ""


def _recordable(answer: Answer[Any]) -> Done:
    """A write that took effect counts as done even when its answer is unusable; that is then what is recorded."""
    result = {"done": True, "unreadable_answer": answer.problem} if answer.problem else answer.result
    return Done(result, answer.scrubbed)
