"""How a person wants to be told."""

import re
from typing import Any
from zoneinfo import available_timezones

from django import forms

from approvals.models import NoticePreference

DIGESTS = (
    (0, "At once, each by itself"),
    (15, "Every 15 minutes"),
    (30, "Every 30 minutes"),
    (60, "Every hour"),
    (120, "Every two hours"),
    (240, "Every four hours"),
)
_MEMBER = re.compile(r"[UW][A-Z0-9]{2,20}\Z", re.ASCII)
_CHANNEL = re.compile(r"[CG][A-Z0-9]{2,20}\Z", re.ASCII)


def is_channel(text: str) -> bool:
    """Return whether text can be the id of a channel in Slack."""
    return bool(_CHANNEL.match(text))


class PreferenceForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The form of the page. Quiet hours are two times or none."""

    timezone = forms.CharField(
        label="Your time zone",
        max_length=64,
        help_text="An IANA name, such as Europe/Vienna. Messages give times in it, and quiet hours follow its clock.",
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    digest_minutes = forms.TypedChoiceField(
        label="What is not urgent",
        choices=DIGESTS,
        coerce=int,
        help_text="Several are one mail. Nothing waits longer than a quarter of the time that is left to decide.",
    )

    class Meta:
        model = NoticePreference
        fields = ("mail", "slack_user", "timezone", "quiet_from", "quiet_to", "digest_minutes")
        labels = {
            "mail": "Tell me by mail",
            "slack_user": "Member id in Slack",
            "quiet_from": "Quiet from",
            "quiet_to": "Quiet until",
        }
        help_texts = {
            "slack_user": "Such as U012AB3CD: in Slack, your profile, More, Copy member ID. Empty: not there."
        }
        widgets = {name: forms.TimeInput(attrs={"type": "time"}, format="%H:%M") for name in ("quiet_from", "quiet_to")}

    def clean_slack_user(self) -> str:
        """Refuse what Slack would not take as a member: a channel's id would tell everybody in it."""
        given = str(self.cleaned_data["slack_user"]).strip()
        if given and not _MEMBER.match(given):
            raise forms.ValidationError("A member id begins with U or W and has capitals and digits only.")
        return given

    def clean_timezone(self) -> str:
        """Refuse a zone that nobody knows."""
        given = str(self.cleaned_data["timezone"])
        if given not in available_timezones():
            raise forms.ValidationError("There is no such time zone. Choose one of the list.")
        return given

    def clean(self) -> dict[str, Any]:
        """Require both ends of the quiet hours, and that they differ."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        begins, ends = values.get("quiet_from"), values.get("quiet_to")
        if {"quiet_from", "quiet_to"} & set(self.errors):
            return values
        if (begins is None) != (ends is None):
            self.add_error("quiet_to" if ends is None else "quiet_from", "Give both times, or neither.")
        elif begins is not None and begins == ends:
            self.add_error("quiet_to", "Quiet hours end at another time than they begin.")
        return values
