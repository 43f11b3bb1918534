"""What people fill in when they work on an incident themselves, and what they have just tried."""

from dataclasses import dataclass
from typing import Any

from django import forms

from sre_agent.connectors.act_rules import Acknowledge, Act, Reopen, Resolve, TakeOver
from sre_agent.connectors.desk_effect import MOST_TEXT

MOST_NOTE = MOST_TEXT - 100
"""The note of an act says what was done, too."""


def _text(label: str, help_text: str = "", *, required: bool = True, most: int = MOST_NOTE) -> forms.CharField:
    return forms.CharField(
        label=label,
        help_text=help_text,
        required=required,
        max_length=most,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class ActForm(forms.Form):
    """An act on what the person saw: ``version`` is the incident's, as the page showed it."""

    version = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)

    def act(self) -> Act:
        """Return the act that a complete form asks for."""
        raise NotImplementedError

    def said(self, name: str) -> str:
        """Return what stands in a field of a complete form."""
        return str(self.cleaned_data[name])


class AcknowledgeForm(ActForm):
    """That somebody knows of it."""

    note = _text("Note", "What you know or do about it; it stands in the timeline.", required=False)

    def act(self) -> Act:
        """Return the act."""
        return Acknowledge(self.said("note"))


class TakeOverForm(ActForm):
    """That somebody works on it without an agent, and why."""

    reason = _text("Why")

    def act(self) -> Act:
        """Return the act."""
        return TakeOver(self.said("reason"))


class ResolveForm(ActForm):
    """What it was and what ended it."""

    cause = _text("Cause", "What was wrong. The post-mortem begins with it.", most=MOST_TEXT)
    remedy = _text("Remedy", "What ended it.", most=MOST_TEXT)

    def act(self) -> Act:
        """Return the act."""
        return Resolve(self.said("cause"), self.said("remedy"))


class ReopenForm(ActForm):
    """Why it is not over, or is an agent's again."""

    reason = _text("Why")

    def act(self) -> Act:
        """Return the act."""
        return Reopen(self.said("reason"))


FORMS: dict[str, type[ActForm]] = {
    Acknowledge.name: AcknowledgeForm,
    TakeOver.name: TakeOverForm,
    Resolve.name: ResolveForm,
    Reopen.name: ReopenForm,
}


def form_of(name: str, data: Any = None, *, version: int = 0) -> ActForm:
    """Return the form of an act on ``version`` of an incident, filled with ``data`` when it was sent."""
    return FORMS[name](data, auto_id=f"{name}-%s", initial={"version": version})


@dataclass(frozen=True)
class Tried:
    """An act that was not done, as its form was sent."""

    name: str
    form: ActForm

    @property
    def words(self) -> list[str]:
        """What the person wrote."""
        fields = (name for name in self.form.fields if name != "version")
        return [words for name in fields if (words := self.form.data.get(name, "").strip())]

    def again(self, version: int) -> ActForm:
        """Return the form with what was typed, for an act on how the incident stands now."""
        typed = {name: self.form.data.get(name, "") for name in self.form.fields}
        again = form_of(self.name, {**typed, "version": str(version)})
        again.full_clean()
        for error in self.form.non_field_errors():
            again.add_error(None, error)
        return again
