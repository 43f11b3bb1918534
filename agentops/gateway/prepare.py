"""The checks between a proposal and a decision: is it a call at all, and may this session touch that record?

Order: known tool, granted tool, exposed tool, readable arguments, schema, records of the session's customer only, dry
run. Whatever fails becomes a ``Refusal`` that goes back to the planner; nothing has happened yet.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentops.gateway.breakers import Breakers, tool_breaker
from agentops.gateway.calling import ToolBroke, act_once_renewed, failure_of
from agentops.gateway.credentials import NoCredential, lent
from agentops.kernel.canonical import BadJSON, NotCanonical, canonical_bytes, parse_json, storable
from agentops.kernel.errors import FailureKind
from agentops.registry import schemas
from agentops.registry.planner import ToolCall
from agentops.registry.role import RoleSpec
from agentops.registry.tool import CallContext, OutcomeUnknown, Preview, ToolFailure, ToolSpec

MAX_ARGUMENT_BYTES = 100_000
MOST_WORDS = 2_000
NOT_FOUND_WORDS = "There is no such record for this customer."


@dataclass(frozen=True)
class Refusal:
    """Why a proposal was not let through, in a form that a planner can act on.

    ``message`` and ``field`` may quote a vendor or a planner, so they are kept as far as they can be recorded.
    """

    code: str
    message: str
    next_step: str
    field: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", storable(self.message, most=MOST_WORDS))
        object.__setattr__(self, "field", storable(self.field, most=MOST_WORDS))

    def as_json(self) -> dict[str, Any]:
        """Return what the planner is told."""
        told = {"code": self.code, "message": self.message, "next_step": self.next_step}
        return {**told, "field": self.field} if self.field else told


_NOTHING: Mapping[str, Refusal] = {}


@dataclass(frozen=True)
class Prepared:
    """A call that may be decided about. ``preview`` is None for reads."""

    tool: ToolSpec
    arguments: dict[str, Any]
    preview: Preview | None


def prepare(
    *,
    call: ToolCall,
    role: RoleSpec,
    granted: frozenset[str],
    context: CallContext,
    withheld: Mapping[str, Refusal] = _NOTHING,
    breakers: Breakers | None = None,
) -> Prepared | Refusal:
    """Check a proposed call and compute its dry run. Reads the system of record, changes nothing.

    ``withheld`` are granted tools that may not be called yet, each with its refusal. With ``breakers`` a call of a tool
    that is off is refused, and a dry run that fails is reported.
    """
    tool = role.tool(call.tool)
    if tool is None or tool.name not in granted:
        return Refusal(
            "UNKNOWN_TOOL",
            f"There is no tool {call.tool[:80]!r}.",
            f"Use one of: {', '.join(sorted(granted - withheld.keys()))}.",
        )
    if tool.name in withheld:
        return withheld[tool.name]
    arguments = checked_arguments(tool, call.arguments)
    if isinstance(arguments, Refusal):
        return arguments
    if not _within_scope(tool, arguments, role, context):
        return Refusal(FailureKind.NOT_FOUND, NOT_FOUND_WORDS, "Look up the customer's own records first.")
    off = None if breakers is None else breakers.off(tool_breaker(tool.name))
    if off is not None:
        return refusal_of(off)
    return _previewed(tool, arguments, context, breakers)


def checked_arguments(tool: ToolSpec, given: dict[str, Any] | str) -> dict[str, Any] | Refusal:
    """Return arguments that can be read, fit the tool's schema and can be recorded, or what is wrong with them."""
    arguments = _read_arguments(given)
    if isinstance(arguments, Refusal):
        return arguments
    found = schemas.violations(tool.checks_input, arguments)
    if found:
        words = "; ".join(f"{item.path or 'arguments'}: {item.message}" for item in found)
        return Refusal(FailureKind.VALIDATION, words, "Correct the arguments and propose again.", found[0].path)
    return _canonical_problem(arguments) or arguments


def _previewed(
    tool: ToolSpec, arguments: dict[str, Any], context: CallContext, breakers: Breakers | None
) -> Prepared | Refusal:
    preview = tool.preview
    if preview is None:
        return Prepared(tool, arguments, None)
    try:
        with lent(tool, context) as loan:
            made = act_once_renewed(tool, loan, lambda given: loan.preview(_dry_run(preview, given, arguments)))
            return Prepared(tool, arguments, made)
    except NoCredential as missing:
        return refusal_of(missing)
    except (ToolFailure, OutcomeUnknown, ToolBroke) as failure:
        # A dry run that works says little about the call itself, so only its failures are reported.
        if breakers is not None:
            breakers.failed(tool_breaker(tool.name), *failure_of(failure))
        if isinstance(failure, ToolBroke):
            return Refusal(FailureKind.UNKNOWN, "The tool's dry run failed.", "Try another way.")
        return refusal_of(failure)


def _dry_run(
    preview: Callable[[CallContext, Mapping[str, Any]], Preview], context: CallContext, arguments: dict[str, Any]
) -> Preview:
    """Without its dry run a write would pass for a read, which has no intent; so nothing else is believed to be one."""
    made = preview(context, arguments)
    if not isinstance(made, Preview):
        raise TypeError(f"a dry run returned {type(made).__name__}")
    return made


def refusal_of(failure: ToolFailure | OutcomeUnknown) -> Refusal:
    """Return a tool's own failure as what the planner is told."""
    if isinstance(failure, ToolFailure):
        return Refusal(failure.kind.value, failure.message, _NEXT[failure.kind], failure.field or "")
    return Refusal(FailureKind.UNKNOWN, failure.message, failure.next_step)


_NEXT: Mapping[FailureKind, str] = {
    FailureKind.RATE_LIMIT: "Wait, or do something else first.",
    FailureKind.VALIDATION: "Correct the argument, or ask for what is missing.",
    FailureKind.AUTH: "Hand over to a person; access is missing.",
    FailureKind.TIMEOUT: "Ask for less at once.",
    FailureKind.CONFLICT: "The record has changed: look it up again and plan anew.",
    FailureKind.NOT_FOUND: "Look up the customer's own records first.",
    FailureKind.UNAVAILABLE: "Try another way, or hand over to a person.",
    FailureKind.UNKNOWN: "Do not repeat it; hand over to a person.",
}


def _read_arguments(raw: dict[str, Any] | str) -> dict[str, Any] | Refusal:
    try:
        value = parse_json(raw, max_bytes=MAX_ARGUMENT_BYTES) if isinstance(raw, str) else raw
        if not isinstance(value, dict):
            return Refusal("BAD_JSON", "Arguments must be one JSON object.", "Send an object.")
    except BadJSON as error:
        return Refusal(error.code, error.message, error.next_step)
    return value


def _canonical_problem(arguments: dict[str, Any]) -> Refusal | None:
    """Text that cannot be recorded (NUL, half a surrogate pair) passes a schema but not this."""
    try:
        size = len(canonical_bytes(arguments))
    except NotCanonical as error:
        return Refusal(error.code, error.message, error.next_step)
    if size > MAX_ARGUMENT_BYTES:
        return Refusal("BAD_JSON", f"Arguments are larger than {MAX_ARGUMENT_BYTES} bytes.", "Send less.")
    return None


def _within_scope(tool: ToolSpec, arguments: dict[str, Any], role: RoleSpec, context: CallContext) -> bool:
    """A record of nobody, of somebody else, and of a session without a customer look the same."""
    for argument, kind in tool.scoped.items():
        named = arguments.get(argument)
        if named is None:
            continue
        owner = role.owner_of(context.tenant_id, kind, named)
        if owner is None or owner != context.customer_id:
            return False
    return True
