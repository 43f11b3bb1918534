"""The pieces that the role's tools share: arguments, results, and the functions of a write."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agentops.kernel.errors import FailureKind
from agentops.registry.declare import Door, Schema, integer, ref, text
from agentops.registry.tool import (
    Arguments,
    CallContext,
    DataClass,
    LatencyClass,
    Preview,
    Result,
    Tier,
    ToolFailure,
    ToolSpec,
)
from sre_agent.connectors import platform, the_desk, the_pager
from sre_agent.connectors.port import DeskWrite, PagerWrite, PlatformWrite

OWNER = "sre"
CHANGES, INCIDENTS = "sre-changes", "sre-incidents"
MOST_REASON, MOST_SUMMARY = 300, 2_000

SERVICE = ref("The service's name, as list_services gives it.")
NODE = ref("The node's name, as list_nodes gives it.")
SEEN_VERSION = integer(
    "seen_version of the service or node as it was read last. When it has changed since, nothing is done."
)
REASON = text(MOST_REASON, "Why, in one sentence that says what was found.")
OUT_NAME = text(64)
OUT_MOMENT = text(40, "A moment in UTC, ISO 8601.")
OUT_MAYBE = text(40, "A moment in UTC, ISO 8601; empty when there is none.", least=0)
OUT_STATUS = text(20)
OUT_VERSION = integer("The version of what was changed, after it was.")
OUT_AFTER = integer("So many seconds later verify_change can say whether it helped.")
OUT_FIGURE = integer("-1 when it is not known.", least=-1)
FLAG: Schema = {"type": "boolean"}


@dataclass(frozen=True)
class OnPlatform:
    """The functions of a write on the platform, bound to the version of its target that the agent has read.

    ``kind`` is the argument that names the target: ``service`` or ``node``.
    """

    build: Callable[[Arguments], PlatformWrite]
    kind: str = "service"

    def run(self, context: CallContext, arguments: Arguments) -> Result:
        """Carry it out, unless the target has another version. Raises ToolFailure or OutcomeUnknown."""
        versions = {**context.expected_versions, self._target(arguments): arguments["seen_version"]}
        return platform().write(replace(context, expected_versions=versions), self.build(arguments))

    def preview(self, context: CallContext, arguments: Arguments) -> Preview:
        """Say what it would do. Raises ToolFailure CONFLICT when the target has another version than was read."""
        made, target = platform().preview(context, self.build(arguments)), self._target(arguments)
        if made.versions.get(target) != arguments["seen_version"]:
            message = f"{arguments[self.kind]} has changed since it was read; read it again."
            raise ToolFailure(FailureKind.CONFLICT, message, field="seen_version")
        return made

    def _target(self, arguments: Arguments) -> str:
        return f"{self.kind}:{arguments[self.kind]}"


def platform_outcome(context: CallContext) -> Result | None:
    """Return what became of the context's key on the platform."""
    return platform().outcome(context)


ON_DESK = Door[DeskWrite](the_desk)
ON_PAGER = Door[PagerWrite](the_pager)

platform_write = partial(
    ToolSpec,
    owner=OWNER,
    tier=Tier.WRITE_HARD,
    data_class=DataClass.INTERNAL,
    latency=LatencyClass.SLOW,
    slo_ms=10_000,
    reconcile=platform_outcome,
    reconcile_is_final=True,
    versioned=True,
    queue=CHANGES,
    tags=("platform",),
)
"""A hard write on the platform: slow, bound to a version, and asked of the people who decide on changes."""

desk_write = partial(
    ToolSpec,
    owner=OWNER,
    tier=Tier.WRITE_SOFT,
    data_class=DataClass.INTERNAL,
    reconcile=ON_DESK.reconcile,
    reconcile_is_final=True,
    queue=INCIDENTS,
)
"""A soft write on the desk: to incidents, alerts, and drafts of status updates."""
