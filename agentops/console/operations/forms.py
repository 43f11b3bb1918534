"""What operators type: a freeze, a reason, what they found out about a call."""

from typing import Any
from uuid import UUID

from django import forms
from django.http import QueryDict

from agentops.agents.models import Agent
from agentops.console.operations.in_flight import Scope
from agentops.console.operations.rights import rules_everybody
from agentops.registry import roles
from agentops.registry.roles import UnknownRole, get_role
from agentops.runtime.freezing import MOST_REASON
from agentops.runtime.reconciling import MOST_EVIDENCE
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Freeze

HERE, EVERYWHERE, AGENT = "tenant", "everywhere", "agent:"


class FreezeForm(forms.Form):
    """What to freeze, and why. Offers what the reader may freeze and nothing else."""

    where = forms.ChoiceField(label="Whose work")
    tool = forms.ChoiceField(
        label="Tool",
        required=False,
        help_text="All tools: sessions stop after their present step. One tool: sessions go on without it.",
    )
    reason = forms.CharField(
        label="Why",
        max_length=MOST_REASON,
        help_text="Everybody of the tenant reads it, and so do agents whose calls are refused.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "A freeze needs a reason."},
    )

    def __init__(self, *args: Any, reader: Reader, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reader = reader
        self._agents = {str(agent.pk): agent for agent in Agent.objects.filter(tenant=reader.tenant)}
        self._everywhere = rules_everybody(reader)
        where, tool = self.fields["where"], self.fields["tool"]
        assert isinstance(where, forms.ChoiceField)  # noqa: S101 - declared above
        assert isinstance(tool, forms.ChoiceField)  # noqa: S101 - declared above
        where.choices = [
            (HERE, f"All agents of {reader.tenant.name}"),
            *((f"{AGENT}{pk}", f"The agent {agent.name}") for pk, agent in self._agents.items()),
            *([(EVERYWHERE, "All agents of every tenant")] if self._everywhere else []),
        ]
        tool.choices = [("", "All tools"), *((name, name) for name in sorted(self._tools()))]

    def _tools(self) -> frozenset[str]:
        if self._everywhere:
            return frozenset(tool.name for role in roles.all_roles() for tool in role.tools)
        return frozenset().union(*(tools_of(agent) for agent in self._agents.values()))

    def scope(self, where: str, tool: str) -> Scope | None:
        """Return what would be frozen, None when that is nothing the reader may freeze or nothing there is."""
        if tool and tool not in self._tools():
            return None
        if where == EVERYWHERE:
            return Scope(None, None, tool) if self._everywhere else None
        if where == HERE:
            return Scope(self._reader.tenant.pk, None, tool)
        agent = self._agents.get(where.removeprefix(AGENT))
        if agent is None or (tool and tool not in tools_of(agent)):
            return None
        return Scope(self._reader.tenant.pk, agent.pk, tool)

    def clean(self) -> dict[str, Any]:
        """Require a tool that the agent has, and a freeze that this person has not made already."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if "where" not in values or "tool" not in values:
            return values
        scope = self.scope(values["where"], values["tool"])
        if scope is None:
            self.add_error("tool", "This agent has no such tool.")
        elif self._is_made(scope):
            self.add_error(None, "You have frozen exactly this already, and it is still frozen.")
        return {**values, "scope": scope}

    def _is_made(self, scope: Scope) -> bool:
        mine = Freeze.objects.filter(lifted_at=None, frozen_by=self._reader.actor, tool=scope.tool)
        return any((one.tenant_id, one.agent_id) == (scope.tenant_id, scope.agent_id) for one in mine)


def tools_of(agent: Agent) -> frozenset[str]:
    """Return the names of the tools of an agent's role, none when it is not installed any more."""
    try:
        return frozenset(tool.name for tool in get_role(agent.role).tools)
    except UnknownRole:
        return frozenset()


class LiftForm(forms.Form):
    """Why it is safe to lift a freeze."""

    reason = forms.CharField(
        label="Why it is safe now",
        max_length=MOST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say why it is safe now."},
    )


class SettleForm(forms.Form):
    """What a person found out about a call."""

    happened = forms.ChoiceField(
        label="What you found",
        choices=[
            ("yes", "It happened. It stays counted, and is never done again."),
            ("no", "It did not happen. What it counted is free again, and it may be proposed anew."),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": "Say whether it happened."},
    )
    evidence = forms.CharField(
        label="How you know",
        max_length=MOST_EVIDENCE,
        help_text="The record or the number that you saw. It goes on record with your name.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say how you know: name the record or the number that you saw."},
    )

    def __init__(self, data: QueryDict | None = None, *, call: UUID) -> None:
        """Take the id of the call, because a page has a form for each."""
        super().__init__(data, auto_id=f"id_{call}_%s", use_required_attribute=False)
