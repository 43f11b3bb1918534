"""Forms of the admin's screens: hours, phrases and spans as people write them."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from agentops.policy.phrases import folded
from agentops.registry.roles import all_roles
from approvals.admins.common import TenantForm
from approvals.clock.hours import Hours
from approvals.clock.plan import deadline
from approvals.clock.week import DAYS, WeekUnreadable, parse_holidays, parse_week, week_text
from approvals.forms import SpanField
from approvals.models import ApprovalQueue, BusinessHours, Detector, OnCallShift, Rung, ToolRoute
from approvals.routes.choose import MOST_DETECTORS

MOST_PHRASES, LONGEST_PHRASE, SHORTEST_PHRASE = 100, 100, 3
EXAMPLE_SPAN = timedelta(hours=4)


class QueueForm(TenantForm):
    """A queue in the admin."""

    decide_within = SpanField(
        widget=UnfoldAdminTextInputWidget,
        help_text="A request that nobody decided in this time expires, and nothing runs. Written like 4 h or 1 d 12 h.",
    )

    class Meta:
        model = ApprovalQueue
        fields = ("tenant", "slug", "name", "description", "decide_within", "hours", "on_expiry", "bulk_approve")


class RungForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A step of a ladder names whom its kind needs, and nobody else."""

    class Meta:
        model = Rung
        fields = ("place", "kind", "group", "person", "after_percent")

    def clean(self) -> dict[str, Any]:
        """Require what the kind needs."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        kind = values.get("kind")
        for name in ("group", "person"):
            if kind == name and not values.get(name):
                self.add_error(name, f"Choose the {name}.")
            elif kind and kind != name and values.get(name):
                self.add_error(name, "Leave this empty for such a step.")
        percent = values.get("after_percent")
        if percent is not None and not 1 <= percent <= 99:
            self.add_error("after_percent", "From 1 to 99.")
        return values


class LadderFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]  # not generic at run time
    """The steps of one queue: each is later than the one below it, and its person belongs to the tenant."""

    def clean(self) -> None:
        """Refuse steps in another order than their times."""
        super().clean()
        steps = [
            (form.cleaned_data["place"], form.cleaned_data["after_percent"])
            for form in self.forms
            if form.is_valid() and form.cleaned_data.get("place") and not form.cleaned_data.get("DELETE")
        ]
        percents = [percent for _, percent in sorted(steps)]
        if percents != sorted(percents):
            raise forms.ValidationError("A later step must not come before an earlier one: put the percents in order.")
        for form in self.forms:
            person = form.cleaned_data.get("person") if form.is_valid() else None
            if person and not person.memberships.filter(tenant_id=self.instance.tenant_id).exists():
                raise forms.ValidationError(f"{person} does not belong to this company.")


class HoursForm(TenantForm):
    """Hours as text, such as "Mon-Fri 09:00-17:00, 18:00-20:00"."""

    timezone = forms.ChoiceField(
        choices=lambda: [(name, name) for name in sorted(available_timezones())],
        widget=UnfoldAdminSelectWidget,
        help_text="The zone whose clock the times are of. Changes of that clock are taken into account.",
    )
    week_as_text = forms.CharField(
        label="Week",
        max_length=600,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="Days, then times: Mon-Fri 09:00-17:00, 18:00-20:00; Sat 10:00-14:00. A span may end after midnight: "
        "Fri 22:00-06:00. The whole day is 00:00-24:00.",
    )
    holidays_as_text = forms.CharField(
        label="Holidays",
        required=False,
        max_length=6_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="One date on a line, such as 2026-12-25. No span begins then, and one that runs into it is cut.",
    )

    class Meta:
        model = BusinessHours
        fields = ("tenant", "name", "timezone")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["week_as_text"] = week_text(self.instance.week)
            self.initial["holidays_as_text"] = "\n".join(self.instance.holidays)

    def clean_week_as_text(self) -> Any:
        """Read the week."""
        try:
            return parse_week(self.cleaned_data["week_as_text"])
        except WeekUnreadable as error:
            raise forms.ValidationError(str(error)) from error

    def clean_holidays_as_text(self) -> Any:
        """Read the dates."""
        try:
            return parse_holidays(self.cleaned_data["holidays_as_text"])
        except WeekUnreadable as error:
            raise forms.ValidationError(str(error)) from error

    def save(self, commit: bool = True) -> Any:
        """Keep what was read."""
        self.instance.week = self.cleaned_data["week_as_text"]
        self.instance.holidays = self.cleaned_data["holidays_as_text"]
        return super().save(commit)


def week_in_words(stored: BusinessHours) -> str:
    """Return stored hours as sentences: each day's times, and how many holidays there are."""
    days = [
        f"{day} {' and '.join(f'{begin} to {end}' for begin, end in spans) if spans else 'closed'}"
        for day, spans in zip(DAYS, stored.week, strict=True)
    ]
    free = len(stored.holidays)
    holidays = f"{free} holiday{'s' if free != 1 else ''}" if free else "no holidays"
    return f"{'; '.join(days)}; {stored.timezone}; {holidays}."


def example_deadlines(hours: Hours, now: datetime) -> list[str]:
    """Return sentences that say when requests with four hours to decide would be due that come now and later."""
    said = []
    for later in (timedelta(), timedelta(hours=12), timedelta(hours=36)):
        comes = (now + later).replace(second=0, microsecond=0)
        due = deadline(comes, EXAMPLE_SPAN, hours)
        first, last = (timezone.localtime(each, hours.zone) for each in (comes, due))
        said.append(f"Comes {first:%a %d %b %Y %H:%M}, due {last:%a %d %b %Y %H:%M %Z}.")
    return said


def known_tags() -> list[str]:
    """Return the tags of all tools of the installation."""
    return sorted({tag for role in all_roles() for tool in role.tools for tag in tool.tags})


class RouteForm(TenantForm):
    """A tag that some tool has, or will have."""

    class Meta:
        model = ToolRoute
        fields = ("tenant", "tag", "queue")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tags = ", ".join(known_tags()) or "none yet"
        self.fields["tag"].help_text = f"A tag of tools. Tags of the tools here: {tags}."


class DetectorForm(TenantForm):
    """Phrases one on a line."""

    phrases_as_text = forms.CharField(
        label="Phrases",
        required=False,
        max_length=MOST_PHRASES * (LONGEST_PHRASE + 2),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 10}),
        help_text="One on a line. Case, spacing and look-alike letters do not matter; words are found as whole words.",
    )

    class Meta:
        model = Detector
        fields = ("tenant", "name", "kind", "queue", "rank", "is_active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["phrases_as_text"] = "\n".join(self.instance.phrases)

    def clean_phrases_as_text(self) -> Any:
        """Read the phrases, each once."""
        lines = self.cleaned_data["phrases_as_text"].replace("\x00", "").splitlines()
        phrases = list(dict.fromkeys(" ".join(line.split()) for line in lines if line.strip()))
        if len(phrases) > MOST_PHRASES:
            raise forms.ValidationError(f"At most {MOST_PHRASES} phrases.")
        for phrase in phrases:
            if len(phrase) > LONGEST_PHRASE:
                raise forms.ValidationError(f"“{phrase[:30]}…” is longer than {LONGEST_PHRASE} characters.")
            if len(folded(phrase)) < SHORTEST_PHRASE:
                raise forms.ValidationError(f"“{phrase}” is too short: it would be found nearly everywhere.")
        return phrases

    def clean(self) -> dict[str, Any]:
        """A detector of phrases has some, one of personal data has none."""
        values = super().clean()
        phrases, kind = values.get("phrases_as_text"), values.get("kind")
        if kind == Detector.Kind.PHRASES and phrases == []:
            self.add_error("phrases_as_text", "Write at least one phrase.")
        elif kind == Detector.Kind.PERSONAL and phrases:
            self.add_error("phrases_as_text", "Leave this empty: personal data is found by its form.")
        tenant = values.get("tenant") or getattr(self.instance, "tenant", None)
        if tenant and not self.instance.pk and Detector.objects.filter(tenant=tenant).count() >= MOST_DETECTORS:
            self.add_error(None, f"At most {MOST_DETECTORS} detectors: delete one, or add phrases to another.")
        return values

    def save(self, commit: bool = True) -> Any:
        """Keep the phrases."""
        self.instance.phrases = self.cleaned_data["phrases_as_text"]
        return super().save(commit)


class ShiftForm(TenantForm):
    """A shift of somebody of the tenant."""

    class Meta:
        model = OnCallShift
        fields = ("tenant", "person", "begins", "ends")

    def clean(self) -> dict[str, Any]:
        """A shift ends after it begins."""
        values = super().clean()
        begins, ends = values.get("begins"), values.get("ends")
        if begins and ends and ends <= begins:
            self.add_error("ends", "That is not after the beginning.")
        return values
