"""The small forms with which people step in: what they fill in, and what has to be there."""

from typing import Any

from django import forms

from agentops.runtime.control import MOST_REASON
from agentops.runtime.elevating import LONGEST
from agentops.runtime.models import Priority
from agentops.runtime.questions import MOST_ANSWER

_LINES = {"rows": 2}
MOST_HOURS = int(LONGEST.total_seconds() // 3600)


def _reason(**options: Any) -> forms.CharField:
    shown = {"label": "Why", "max_length": MOST_REASON, "widget": forms.TextInput(attrs={"autocomplete": "off"})}
    return forms.CharField(**{**shown, **options})


class NothingForm(forms.Form):
    """Nothing to fill in: a button."""


class ReasonForm(forms.Form):
    """Why somebody steps in. It goes on record with their name."""

    reason = _reason()


class CancelForm(forms.Form):
    """Why, and that it is meant: a cancelled session does not go on."""

    reason = _reason()
    sure = forms.BooleanField(
        label="Yes, end this session",
        error_messages={"required": "Tick this to say that you mean it. Nothing was cancelled."},
    )


class NoteForm(forms.Form):
    """What the agent has to know before it goes on."""

    note = forms.CharField(
        label="Note to the agent",
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs=_LINES),
        help_text="It reads this before its next step.",
    )


class PriorityForm(forms.Form):
    """How urgent the session is."""

    priority = forms.TypedChoiceField(
        label="Priority", choices=[(str(p.value), p.label) for p in Priority], coerce=int, empty_value=None
    )


class FinishForm(forms.Form):
    """The last words of a session that a person ends."""

    message = forms.CharField(
        label="Answer",
        max_length=8_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What was done and what is left. It ends the session; nothing is sent to the customer.",
    )


class AnswerForm(forms.Form):
    """An answer to the agent's question: one that it suggested, or one's own words."""

    choice = forms.ChoiceField(label="Suggested answers", required=False, widget=forms.RadioSelect)
    words = forms.CharField(
        label="In your own words", required=False, max_length=MOST_ANSWER, widget=forms.Textarea(attrs=_LINES)
    )

    def __init__(self, *args: Any, options: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["choice"]
        assert isinstance(choice, forms.ChoiceField)  # noqa: S101 - declared above
        choice.choices = [(str(place), option) for place, option in enumerate(options)]
        self._options = options
        if not options:
            del self.fields["choice"]
            self.fields["words"].label = "Answer"

    def clean(self) -> dict[str, Any]:
        """Require an answer; words beside a choice are added to it."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and not values.get("choice") and not values.get("words"):
            self.add_error("words", "Choose an answer or write one.")
        return values

    @property
    def answer(self) -> str:
        """The answer as the agent is told it, after ``is_valid``."""
        choice, words = self.cleaned_data.get("choice", ""), self.cleaned_data["words"]
        chosen = self._options[int(choice)] if choice else ""
        return f"{chosen}. {words}" if chosen and words else chosen or words


class ElevateForm(forms.Form):
    """Leave for an elevated scope: which one, why, and for how many hours."""

    scope = forms.ChoiceField(label="Scope")
    hours = forms.IntegerField(label="Hours", min_value=1, max_value=MOST_HOURS, initial=1)
    reason = _reason()

    def __init__(self, *args: Any, scopes: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scope = self.fields["scope"]
        assert isinstance(scope, forms.ChoiceField)  # noqa: S101 - declared above
        scope.choices = [(name, name) for name in scopes]
