"""Giving work to an agent: a subject that already waits, or a request typed in."""

from typing import Any

from django import forms

from agentops.agents.models import Agent
from agentops.kernel.canonical import BadJSON, NotCanonical, require_canonical
from agentops.registry.role import Intake
from agentops.registry.roles import UnknownRole, get_role
from agentops.runtime.models import Session
from agentops.runtime.operations import open_and_start, start_session
from agentops.tenancy.access import Reader

MOST_WAITING = 100
MOST_LABEL = 120
MOST_TITLE = 200
MOST_BODY = 50_000
_MARK = ":"


class SessionForm(forms.Form):
    """Which agent, and what it shall work on. ``save`` raises AgentOpsError when the session cannot start."""

    role = forms.ChoiceField(label="Agent", widget=forms.RadioSelect)
    ticket = forms.ChoiceField(label="Ticket", required=False)
    sender = forms.EmailField(
        label="From", required=False, max_length=254, help_text="The e-mail address of the person who asks."
    )
    subject = forms.CharField(label="Subject", required=False, max_length=MOST_TITLE)
    body = forms.CharField(
        label="Message", required=False, max_length=MOST_BODY, strip=True, widget=forms.Textarea(attrs={"rows": 8})
    )

    def __init__(self, *args: Any, reader: Reader, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reader = reader
        self._agents = {str(agent.pk): agent for agent in _agents_of(reader)}
        role, ticket = self.fields["role"], self.fields["ticket"]
        assert isinstance(role, forms.ChoiceField)  # noqa: S101 - declared above
        assert isinstance(ticket, forms.ChoiceField)  # noqa: S101 - declared above
        role.choices = [(pk, str(agent.current_version)) for pk, agent in self._agents.items()]
        if len(self._agents) == 1:
            role.initial = next(iter(self._agents))
        ticket.choices = [("", "None, I type a message below"), *self._waiting()]

    def _waiting(self) -> list[tuple[str, str]]:
        """Return the subjects that wait for the roles of the agents, those that came first."""
        found = []
        for name in sorted({agent.role for agent in self._agents.values()}):
            for subject in get_role(name).waiting_subjects(self._reader.tenant.pk, MOST_WAITING):
                label = f"{subject.id} · {subject.title} · {subject.sender}"
                found.append((f"{name}{_MARK}{subject.id}", _one_line(label)))
        return found

    def clean(self) -> dict[str, Any]:
        """Require exactly one of the two: a waiting subject of the agent's role, or a message with its sender."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        agent, ticket = self._agents.get(values.get("role", "")), values.get("ticket", "")
        typed = [name for name in ("sender", "subject", "body") if values.get(name)]
        if ticket and typed:
            self.add_error("ticket", "Choose something that waits or type a message, not both.")
        elif ticket and agent and not ticket.startswith(f"{agent.role}{_MARK}"):
            self.add_error("ticket", "This waits for an agent of another role.")
        elif not ticket:
            for name, words in (("sender", "Say whose request it is."), ("body", "Write the message.")):
                if not values.get(name) and name not in self.errors:
                    self.add_error(name, words)
            self._require_storable(values)
        return values

    def _require_storable(self, values: dict[str, Any]) -> None:
        for name in ("subject", "body"):
            try:
                require_canonical(values.get(name, ""))
            except (NotCanonical, BadJSON):
                self.add_error(name, "This holds characters that cannot be recorded.")

    def save(self) -> Session:
        """Start the session. Raises AgentOpsError: what is to be worked on is gone, taken, or refused."""
        values = self.cleaned_data
        agent, actor = self._agents[values["role"]], f"user:{self._reader.person.get_username()}"
        if values["ticket"]:
            subject_id = values["ticket"].partition(_MARK)[2]
            return start_session(agent=agent, subject_id=subject_id, actor=actor)
        intake = Intake(sender=values["sender"], title=values["subject"], text=values["body"])
        return open_and_start(agent=agent, intake=intake, actor=actor)


def _agents_of(reader: Reader) -> list[Agent]:
    """The tenant's agents that take work and whose role this installation knows."""
    agents = Agent.objects.filter(tenant=reader.tenant, is_active=True, current_version__isnull=False)
    return [agent for agent in agents.select_related("current_version__agent") if _is_known(agent.role)]


def _is_known(role: str) -> bool:
    try:
        get_role(role)
    except UnknownRole:
        return False
    return True


def _one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MOST_LABEL else f"{line[:MOST_LABEL]}…"
