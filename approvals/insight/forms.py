"""What people send: an answer to a drill, and words about a decision of the past."""

from django import forms

from approvals.insight.drills import LEAST_CONFIDENCE, MOST_CONFIDENCE
from approvals.models import Verdict

_BETWEEN = f"Say how sure you are, {LEAST_CONFIDENCE} to {MOST_CONFIDENCE} per cent."


class DrillForm(forms.Form):
    """A verdict and how sure the person is."""

    verb = forms.ChoiceField(
        choices=Verdict.choices,
        error_messages={"required": "Choose approve or reject.", "invalid_choice": "Choose approve or reject."},
    )
    confidence = forms.IntegerField(
        min_value=LEAST_CONFIDENCE,
        max_value=MOST_CONFIDENCE,
        error_messages={
            "required": _BETWEEN,
            "invalid": _BETWEEN,
            "min_value": _BETWEEN,
            "max_value": _BETWEEN,
        },
    )
    shown = forms.CharField(max_length=300, required=False)

    def messages(self) -> dict[str, str]:
        """The first message of each field."""
        return {name: str(errors[0]) for name, errors in self.errors.items()}


class WordsForm(forms.Form):
    """A sentence that others will read."""

    words = forms.CharField(
        max_length=500,
        error_messages={"required": "Say in a sentence why.", "max_length": "At most 500 characters."},
    )


class ReviewForm(WordsForm):
    """Whether a proposed example is accepted, and why."""

    accept = forms.ChoiceField(
        choices=[("yes", "Accept"), ("no", "Decline")],
        error_messages={"required": "Choose accept or decline.", "invalid_choice": "Choose accept or decline."},
    )
