"""What people send: a decision, and how long a queue gives them for one."""

import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict

from approvals.models import Verdict

REASONS = (
    ("wrong_target", "Wrong target or recipient"),
    ("wrong_amount", "Wrong amount"),
    ("injected", "Instruction came from untrusted text"),
    ("policy", "Against policy"),
    ("other", "Other"),
)
_OTHER = "other"
MOST_WORDS = 900
"""With the preset reason before it, it still fits the column."""


class DigestForm(forms.Form):
    """Whatever is sent from a request's page: it says what was shown there."""

    digest = forms.RegexField(
        r"\A[0-9a-f]{64}\Z",
        error_messages={
            "required": "The form does not say what was shown. Load the page again.",
            "invalid": "The form does not say what was shown. Load the page again.",
        },
    )

    def messages(self) -> Mapping[str, str]:
        """Return the first error of each field, as the panel shows them."""
        found = {name: str(errors[0]) for name, errors in self.errors.items()}
        whole = found.pop("__all__", "")
        if whole:
            found["opened"] = whole
        if "digest" in found:
            found["form"] = found.pop("digest")
        return found


class DecisionForm(DigestForm):
    """A decision as the request page sends it. ``must_open`` are the arguments that approving needs opened.

    ``asks_check``: approving takes a line that says what was checked. ``asks_fact``: it takes a typed fact.
    """

    verb = forms.ChoiceField(
        choices=Verdict.choices,
        error_messages={"required": "Choose what to do.", "invalid_choice": "Choose what to do."},
    )
    reason = forms.ChoiceField(choices=REASONS, required=False)
    why = forms.CharField(max_length=MOST_WORDS, required=False)
    checked = forms.CharField(max_length=500, required=False)
    acknowledged = forms.CharField(max_length=200, required=False)
    on_behalf_of = forms.IntegerField(
        required=False, min_value=1, error_messages={"invalid": "Choose for whom you decide."}
    )

    def __init__(
        self, data: QueryDict, *, must_open: Collection[str], asks_check: bool = False, asks_fact: bool = False
    ) -> None:
        super().__init__(data)
        self.must_open, self.asks_check, self.asks_fact = must_open, asks_check, asks_fact
        self.opened = frozenset(data.getlist("opened")) & frozenset(must_open)

    def clean(self) -> dict[str, Any]:
        """Ask for what the chosen verb needs."""
        given: dict[str, Any] = super().clean() or {}
        if given.get("verb") == Verdict.REJECT:
            self._clean_rejection(given)
        if given.get("verb") == Verdict.APPROVE:
            self._clean_approval(given)
        return given

    def _clean_rejection(self, given: Mapping[str, Any]) -> None:
        reason, why = given.get("reason"), given.get("why")
        if why or self.has_error("why"):
            return
        if reason == _OTHER:
            self.add_error("why", "Say in words why.")
        elif not reason:
            self.add_error("reason", "Choose a reason, or say in words why.")

    def _clean_approval(self, given: Mapping[str, Any]) -> None:
        if not self.opened.issuperset(self.must_open):
            self.add_error(None, "Read every long value and tick it before you approve.")
        if self.asks_check and not given.get("checked") and not self.has_error("checked"):
            self.add_error("checked", "Say in a line what you checked.")
        if self.asks_fact and not given.get("acknowledged") and not self.has_error("acknowledged"):
            self.add_error("acknowledged", "Type what is asked for. It stands on this page.")

    @property
    def verdict(self) -> Verdict:
        """What was decided. Only of a valid form."""
        return Verdict(self.cleaned_data["verb"])

    @property
    def words(self) -> str:
        """The reason as it goes on record: the preset one, what was typed, or both."""
        label = dict(REASONS).get(self.cleaned_data["reason"], "")
        why: str = self.cleaned_data["why"]
        if not label or self.cleaned_data["reason"] == _OTHER:
            return why
        return f"{label}: {why}" if why else label


class AskForm(DigestForm):
    """A question to the agent."""

    question = forms.CharField(max_length=1_000, error_messages={"required": "Write the question."})


class EscalateForm(DigestForm):
    """A request goes up the ladder."""

    note = forms.CharField(max_length=500, error_messages={"required": "Say in a word why, for whoever takes it."})


class TakeOverForm(DigestForm):
    """A person goes on with the work instead of the agent."""

    because = forms.CharField(max_length=500, error_messages={"required": "Say in a word why, for the record."})


class AssignForm(forms.Form):
    """A request is given to a person or another queue: ``to`` is ``person:3``, ``queue:7``, or ``free``."""

    to = forms.RegexField(
        r"\A((person|queue):[0-9]{1,10}|free)\Z",
        error_messages={"required": "Choose to whom.", "invalid": "Choose to whom."},
    )
    words = forms.CharField(max_length=500, required=False)


_PART = re.compile(r"(\d{1,4})\s*(d|days?|h|hours?|m|min|minutes?)\b[\s,]*", re.ASCII | re.IGNORECASE)
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


class SpanField(forms.CharField):
    """A span of time as people write it: "4 h", "1 d 12 h", "30 minutes". Gives a timedelta."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "unreadable": "Write it like 4 h, 30 min or 1 d 12 h.",
        "too_short": "At least one minute: people need time to read.",
        "too_long": "At most 30 days.",
    }

    def prepare_value(self, value: Any) -> Any:
        """Write a timedelta in words."""
        return span_words(value) if isinstance(value, timedelta) else value

    def clean(self, value: Any) -> timedelta:
        """Return the span. Raises ValidationError."""
        text = str(super().clean(value))
        parts = list(_PART.finditer(text))
        if not parts or "".join(part.group() for part in parts) != text:
            raise forms.ValidationError(self.error_messages["unreadable"], code="unreadable")
        span = sum((int(part[1]) * _UNITS[part[2][0].lower()] for part in parts), timedelta())
        if span < timedelta(minutes=1):
            raise forms.ValidationError(self.error_messages["too_short"], code="too_short")
        if span > timedelta(days=30):
            raise forms.ValidationError(self.error_messages["too_long"], code="too_long")
        return span

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare words with words."""
        return super().has_changed(self.prepare_value(initial), data)


def span_words(span: timedelta) -> str:
    """Return a span in days, hours and minutes: "1 d 12 h"."""
    minutes = int(span.total_seconds()) // 60
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 min"
