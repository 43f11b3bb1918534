"""Who decides about a proposed call: the product's engine, or one of two simple policies to compare it with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentops.policy.baseline import BASELINE
from agentops.policy.engine import decide
from agentops.policy.evidence import Evidence
from agentops.policy.facts import GrantFacts, Proposed, SessionFacts, Switches, facts_of
from agentops.policy.flow import Flowing, done_key, flow_of
from agentops.policy.plan import plan_of
from agentops.policy.rules import Effect
from agentops.registry.flow import Argument, Field, Flow, Intent, Sends
from agentops.registry.tool import DataClass, Dial, Tier, ToolSpec
from benchmarks.dojo_world import Call

GRANT = GrantFacts(dial=Dial.AUTONOMOUS.value, bounded_here=False)
SWITCHES = Switches(frozen=False, elevated=True)
HANDLES = {
    Tier.READ: "nothing",
    Tier.WRITE_SOFT: "it can be taken back",
    Tier.WRITE_HARD: "it can be made good by hand",
}


@dataclass(frozen=True)
class Declared:
    """What the registry would hold for one suite: its tools, and which words of a request ask for what.

    ``words`` are what an argument's codes mean, by (tool, argument): an adapter would take words, and send the code.
    """

    tools: Mapping[str, ToolSpec]
    intents: tuple[Intent, ...]
    words: Mapping[tuple[str, str], Mapping[Any, str]] = field(default_factory=dict)

    def seen(self, call: Call) -> Mapping[str, Any]:
        """Return the arguments as the policy and people see them."""
        return {
            name: self.words[call.tool, name].get(value, value) if (call.tool, name) in self.words else value
            for name, value in call.arguments.items()
        }


def declared_tool(
    name: str,
    tier: Tier,
    capability: str,
    arguments: Mapping[str, Argument] | None = None,
    results: Mapping[str, Field] | None = None,
    **flow: Any,
) -> ToolSpec:
    """Return the specification of a tool; ``flow`` are other fields of its flow.

    What no rule looks at is left at its plainest: the suite runs the call.
    """
    return ToolSpec(
        name=name,
        version=1,
        owner="benchmark",
        description=name,
        input_schema={},
        output_schema={},
        tier=tier,
        auth_scope="",
        data_class=DataClass.INTERNAL,
        run=_not_here,
        undo=HANDLES[tier],
        flow=Flow(capability=capability, arguments=arguments or {}, results=results or {}, **flow),
    )


def tools_by_name(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """Return the tools by their names."""
    return {tool.name: tool for tool in tools}


def _not_here(*_: Any) -> dict[str, Any]:
    raise NotImplementedError("the suite runs the call")


@dataclass(frozen=True)
class Judged:
    """What is to be done with a call, and the rules that asked or refused."""

    effect: Effect
    rules: tuple[str, ...] = ()


class Guard(Protocol):
    """Decides about the calls of one session, and is told what became of them."""

    def judge(self, call: Call) -> Judged:
        """Decide about a call."""

    def approved(self, call: Call) -> None:
        """Note that a person approved a call."""

    def happened(self, call: Call, result: Any) -> None:
        """Note what a call returned."""


class Engine:
    """The product: evidence, plan, facts, rules."""

    def __init__(self, declared: Declared, request: str) -> None:
        self._declared = declared
        self.evidence = Evidence(request)
        self.plan = plan_of(request, declared.intents)
        self._done: set[tuple[str, str]] = set()
        self._steps = self._writes = 0

    def flowing(self, call: Call) -> Flowing:
        """Return what the engine finds out about a call."""
        tool = self._declared.tools[call.tool]
        always = plan_of("", self._declared.intents)
        known = {"evidence": self.evidence, "plan": self.plan, "always": always, "done": self._done}
        return flow_of(tool, self._declared.seen(call), **known)

    def judge(self, call: Call) -> Judged:
        """Decide as the runtime does, with every tool granted and its dial at autonomous."""
        tool = self._declared.tools[call.tool]
        facts = facts_of(
            Proposed(
                tool=tool,
                grant=GRANT,
                session=SessionFacts(self._steps, self._writes),
                preview=None,
                arguments=self._declared.seen(call),
                switches=SWITCHES,
                flow=self.flowing(call),
            )
        )
        verdict = decide(facts, BASELINE)
        return Judged(verdict.effect, tuple(r.rule for r in verdict.reasons if r.effect is not Effect.ALLOW))

    def approved(self, call: Call) -> None:
        """Note the exact values that a person approved."""
        self.evidence.approve(self._declared.tools[call.tool].flow, self._declared.seen(call))

    def happened(self, call: Call, result: Any) -> None:
        """Note a result, and that a hard write was done."""
        tool = self._declared.tools[call.tool]
        self._steps += 1
        self._writes += tool.is_write
        if tool.tier is Tier.WRITE_HARD:
            self._done.add(done_key(tool, self._declared.seen(call)))
        self.evidence.read(
            step=self._steps, tool=tool.name, flow=tool.flow, arguments=self._declared.seen(call), result=result
        )


class Simple:
    """A policy that looks at the tool only: ``ask`` for every write and every way out, or never."""

    def __init__(self, declared: Declared, *, asks: bool) -> None:
        self._declared = declared
        self._asks = asks

    def judge(self, call: Call) -> Judged:
        """Decide by the tool alone."""
        tool = self._declared.tools[call.tool]
        harmless = not tool.is_write and tool.flow.sends is not Sends.OUTSIDE
        return Judged(Effect.ALLOW) if harmless or not self._asks else Judged(Effect.ASK, ("every write and way out",))

    def approved(self, call: Call) -> None:
        """Nothing follows from it."""

    def happened(self, call: Call, result: Any) -> None:
        """Nothing follows from it."""
