"""What people send about their absence."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict

LONGEST = timedelta(days=366)
_WIDGET = {"type": "datetime-local"}


def _moment(label: str, help_text: str) -> forms.DateTimeField:
    return forms.DateTimeField(
        label=label,
        help_text=help_text,
        widget=forms.DateTimeInput(attrs=_WIDGET, format="%Y-%m-%dT%H:%M"),
        error_messages={"required": "Say when.", "invalid": "Write it like 2026-12-24 09:00."},
    )


class AbsenceForm(forms.Form):
    """From when to when, in local times, and who stands in."""

    begins = _moment("Away from", "")
    ends = _moment("Back on", "")
    stand_in = forms.TypedChoiceField(
        label="Stand-in",
        required=False,
        coerce=int,
        empty_value=None,
        help_text="Gets your reminders too. To let somebody decide in your name, delegate.",
        error_messages={"invalid_choice": "Choose somebody of the list."},
    )

    def __init__(self, data: QueryDict | None, *, colleagues: Sequence[User], now: datetime) -> None:
        super().__init__(data)
        self.now, self.colleagues = now, {person.pk: person for person in colleagues}
        names = [(pk, person.get_full_name() or person.get_username()) for pk, person in self.colleagues.items()]
        self.fields["stand_in"].choices = [("", "Nobody"), *names]  # type: ignore[attr-defined]  # a field with choices

    def clean(self) -> dict[str, Any]:
        """Require times in order, not over, and not for ever."""
        given: dict[str, Any] = super().clean() or {}
        begins, ends = given.get("begins"), given.get("ends")
        if begins is None or ends is None:
            return given
        if begins < self.now - LONGEST:
            self.add_error("begins", "That is more than a year ago.")
        elif ends <= begins:
            self.add_error("ends", "That is not after the beginning.")
        elif ends <= self.now:
            self.add_error("ends", "That is over already.")
        elif ends > self.now + LONGEST:
            self.add_error("ends", "At most a year ahead.")
        return given

    @property
    def chosen_stand_in(self) -> User | None:
        """Who stands in. Only of a valid form."""
        chosen = self.cleaned_data["stand_in"]
        return self.colleagues[chosen] if chosen is not None else None
