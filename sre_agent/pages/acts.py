"""With what a person steps in on the page of an incident."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from sre_agent.act_forms import ActForm, Tried, form_of
from sre_agent.connectors import act_rules
from sre_agent.connectors.act_rules import Acknowledge, Reopen, Resolve, TakeOver
from sre_agent.connectors.desk_rows import incident_now
from sre_agent.models import Incident

# label, icon, what it does
_SAYS = {
    Acknowledge.name: ("Acknowledge", "check", "You say that you know of it. Whoever works on it goes on."),
    TakeOver.name: (
        "Take over",
        "user",
        "It is yours: no agent begins it or changes anything of it, until somebody gives it back to one.",
    ),
    Resolve.name: ("Resolve", "check", "It is over. It cannot be while an alert of it fires."),
    Reopen.name: ("Reopen", "reply", "It goes on: an agent begins it anew, unless somebody takes it over."),
}
_GIVE_BACK = ("Give to an agent", "reply", "An agent begins it anew, and reads what stands in the timeline.")


@dataclass(frozen=True)
class ActControl:
    """A button that opens its form. ``failed``: it was sent, and not done."""

    name: str
    url: str
    label: str
    icon: str
    words: str
    form: ActForm
    failed: bool


def acts_of(incident: Incident, person: str, *, worked: bool, tried: Tried | None) -> Sequence[ActControl]:
    """Return what ``person`` may do with an incident now. ``worked``: a session works on it."""
    now = incident_now(incident)
    return [_control(incident, name, tried) for name in act_rules.offered(now, person, worked=worked)]


def _control(incident: Incident, name: str, tried: Tried | None) -> ActControl:
    given = name == Reopen.name and incident.status == Incident.Status.ESCALATED
    label, icon, words = _GIVE_BACK if given else _SAYS[name]
    failed = tried is not None and tried.name == name
    return ActControl(
        name=name,
        url=reverse(f"sre_incident_{name}", args=[incident.ref]),
        label=label,
        icon=icon,
        words=words,
        form=tried.again(incident.version) if tried and failed else form_of(name, version=incident.version),
        failed=failed,
    )
