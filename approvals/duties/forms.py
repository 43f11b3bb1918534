"""The form by which somebody delegates."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from agentops.tenancy.access import Reader
from approvals.duties.delegating import LONGEST, delegable_queues, possible_takers
from approvals.models import ApprovalQueue


class _People(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    def label_from_instance(self, obj: User) -> str:
        return obj.get_full_name() or obj.get_username()


def _moment(label: str, words: str) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "class": "in"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, widget=widget, help_text=words)


class DelegationForm(forms.Form):
    """To whom, of which queue, from when until when. Times are in the reader's zone."""

    taker = _People(queryset=User.objects.none(), label="Who decides for you", empty_label="Choose a person")
    queue = forms.ModelChoiceField(
        queryset=ApprovalQueue.objects.none(), required=False, label="Queue", empty_label="All that you decide"
    )
    begins = _moment("From", "")
    ends = _moment("Until", f"At most {LONGEST.days} days.")

    def __init__(self, *args: Any, reader: Reader, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["taker"].queryset = possible_takers(reader.person, reader.tenant.pk)  # type: ignore[attr-defined]
        self.fields["queue"].queryset = delegable_queues(reader.person, reader.tenant.pk)  # type: ignore[attr-defined]
        for name in ("taker", "queue"):
            self.fields[name].widget.attrs["class"] = "in"
