"""What people send about several requests at once."""

from typing import Any, cast

from django import forms
from django.contrib.auth.models import User

from approvals.forms import MOST_WORDS, REASONS

_OTHER = "other"


class RejectForm(forms.Form):
    """One reason for all of them."""

    reason = forms.ChoiceField(
        choices=REASONS,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a reason."},
    )
    why = forms.CharField(
        max_length=MOST_WORDS,
        required=False,
        label="In words",
        help_text="The agents are told this. Needed for “Other”.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def clean(self) -> dict[str, Any]:
        """Ask for words where the reason says nothing."""
        given: dict[str, Any] = super().clean() or {}
        if given.get("reason") == _OTHER and not given.get("why"):
            self.add_error("why", "Say in words why.")
        return given

    @property
    def words(self) -> str:
        """The reason as it goes on record. Only of a valid form."""
        label, why = dict(REASONS)[self.cleaned_data["reason"]], str(self.cleaned_data["why"])
        if self.cleaned_data["reason"] == _OTHER:
            return why
        return f"{label}: {why}" if why else label


class PersonField(forms.ModelChoiceField):  # type: ignore[type-arg]  # it takes none when it runs
    """A person, by name."""

    def label_from_instance(self, obj: User) -> str:
        """Return how the person is named."""
        return obj.get_full_name() or obj.get_username()


class AssignForm(forms.Form):
    """One person for all of them, of those who may decide them."""

    to = PersonField(
        queryset=User.objects.none(),
        label="Assign to",
        error_messages={"required": "Choose a person.", "invalid_choice": "Choose one of these people."},
    )
    words = forms.CharField(max_length=500, required=False, label="A word to them")

    def __init__(self, data: Any, *, people: list[User]) -> None:
        super().__init__(data)
        field = cast("PersonField", self.fields["to"])
        field.queryset = User.objects.filter(pk__in=[person.pk for person in people]).order_by("username")
