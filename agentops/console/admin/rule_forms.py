"""What an admin sends about rule sets: a new version, and a window of history to try one on."""

import json
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from agentops.policy.models import RuleSet
from agentops.policy.rule_check import MOST_BYTES, BadRules, read
from agentops.runtime.house import house_of
from agentops.runtime.trying import MOST_DAYS, Base
from agentops.tenancy.models import Tenant

EXAMPLE = {
    "rules": [
        {
            "id": "large-amounts",
            "tools": ["tier:write-hard"],
            "when": [{"fact": "money.customer_day_minor", "op": ">", "value": "50.00", "unit": "USD"}],
            "effect": "ask",
            "people": 2,
            "words": "More than $50.00 for one customer in one day needs two people.",
        },
        {
            "id": "from-others",
            "tools": ["all"],
            "when": [{"fact": "flow.untrusted", "op": "=", "value": True}],
            "effect": "forbid",
            "words": "Nothing is done with values that come from text by others.",
        },
    ],
    "packs": [
        {
            "name": "promises",
            "version": 1,
            "banned": [
                {"id": "guarantee", "phrases": ["we guarantee", "guaranteed"], "words": "Nothing is guaranteed."}
            ],
            "reviews": [
                {"id": "advice", "phrases": ["we recommend"], "words": "Advice is read by a person before it goes out."}
            ],
        }
    ],
}
"""What a tenant without rules begins from."""


def written(document: object) -> str:
    """Return a document as an admin reads and edits it."""
    return json.dumps(document, indent=2, ensure_ascii=False)


class RuleSetForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A new version. Everything that is wrong with the document is told at once, rule by rule."""

    text = forms.CharField(
        label="Rules",
        max_length=MOST_BYTES,
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 26, "spellcheck": "false", "class": "font-mono text-xs"}),
        help_text="What a rule may compare, and how rules and packs are written, stands below.",
    )

    class Meta:
        model = RuleSet
        fields = ("tenant", "text", "note")

    def clean(self) -> dict[str, Any]:
        """Check the document against the tenant's tools and queues."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        tenant, text = values.get("tenant"), values.get("text")
        if isinstance(tenant, Tenant) and text:
            try:
                values["document"] = read(text, house_of(tenant.pk))
            except BadRules as error:
                for problem in error.problems:
                    self.add_error("text", problem)
        return values


class WindowForm(forms.Form):
    """How far back, and what else decides."""

    days = forms.IntegerField(min_value=1, max_value=MOST_DAYS, initial=30, widget=UnfoldAdminIntegerFieldWidget)
    base = forms.ChoiceField(
        label="Besides these rules",
        choices=[
            (Base.THEN.value, "everything as it was decided then"),
            (Base.NOW.value, "grants and limits of today"),
        ],
        initial=Base.THEN.value,
        widget=UnfoldAdminSelectWidget,
    )
