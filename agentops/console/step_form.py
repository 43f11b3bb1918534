"""The form of a step that a person does: its fields come from the tool's JSON Schema.

Texts, whole numbers, yes or no, one of several, and lists of texts have fields of their own; anything else is typed as
JSON. What is typed is checked against the whole schema before it is proposed.
"""

import json
from collections.abc import Mapping
from typing import Any

from django import forms

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.registry.schemas import violations
from agentops.registry.tool import ToolSpec
from agentops.tenancy.whole_numbers import WholeNumberField

PREFIX = "arg-"
LINE = 120
"""A text that may be longer than this gets several lines."""

_YES_NO = [("true", "yes"), ("false", "no")]


class LinesField(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def clean(self, value: Any) -> Any:
        """Return the lines that hold anything."""
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class JSONText(forms.CharField):
    """A value typed as JSON, read as strictly as a planner's."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "mono"})

    def clean(self, value: Any) -> Any:
        """Return the value that the text writes."""
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse_json(text)
        except BadJSON as error:
            raise forms.ValidationError(f"This cannot be read: {error.message}.") from error


class YesNoField(forms.TypedChoiceField):
    """Yes or no; without a choice an optional one is left out."""

    def __init__(self, **kwargs: Any) -> None:
        choices = _YES_NO if kwargs["required"] else [("", "not given"), *_YES_NO]
        super().__init__(choices=choices, coerce=lambda value: value == "true", empty_value=None, **kwargs)


class StepForm(forms.Form):
    """One call of ``tool`` with its arguments and why. ``arguments`` is what is proposed, after ``is_valid``."""

    def __init__(self, *args: Any, tool: ToolSpec, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tool = tool
        self.arguments: dict[str, Any] = {}
        required = set(tool.input_schema.get("required", ()))
        for name, schema in tool.input_schema.get("properties", {}).items():
            self.fields[f"{PREFIX}{name}"] = field_of(name, schema, required=name in required)
        self.fields["rationale"] = forms.CharField(
            label="Why",
            max_length=2_000,
            help_text="Goes on record, and to whoever has to approve it.",
            widget=forms.Textarea(attrs={"rows": 2}),
        )

    def clean(self) -> dict[str, Any]:
        """Put the arguments together and check them as the gateway will."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return values
        given = {name.removeprefix(PREFIX): value for name, value in values.items() if name.startswith(PREFIX)}
        self.arguments = {name: value for name, value in given.items() if self._is_given(name, value)}
        for violation in violations(self._tool.checks_input, self.arguments):
            name = f"{PREFIX}{violation.path.partition('.')[0]}"
            self.add_error(name if name in self.fields else None, violation.message)
        return values

    def _is_given(self, name: str, value: Any) -> bool:
        return name in self._tool.input_schema.get("required", ()) or value not in (None, "", [])


def field_of(name: str, schema: Mapping[str, Any], *, required: bool) -> forms.Field:
    """Return the field for one property of an object's schema."""
    named: dict[str, Any] = {
        "label": name.replace("_", " ").capitalize(),
        "help_text": schema.get("description", ""),
        "required": required,
    }
    kind = schema.get("type")
    if "enum" in schema and all(isinstance(value, str) for value in schema["enum"]):
        choices = [(value, value) for value in schema["enum"]]
        return forms.ChoiceField(choices=[("", "choose"), *choices], **named)
    if kind == "string":
        return _text(schema, named)
    if kind == "integer":
        return WholeNumberField(min_value=schema.get("minimum"), max_value=schema.get("maximum"), **named)
    if kind == "boolean":
        return YesNoField(**named)
    if kind == "array" and schema.get("items", {}).get("type") == "string":
        return LinesField(**{**named, "help_text": f"{named['help_text']} One a line.".strip()})
    shape = json.dumps({key: value for key, value in schema.items() if key != "description"})
    return JSONText(**{**named, "help_text": f"{named['help_text']} As JSON: {shape}".strip()})


def _text(schema: Mapping[str, Any], named: dict[str, Any]) -> forms.Field:
    most = schema.get("maxLength")
    # A text that must be there may still be allowed to be empty.
    required = named["required"] and schema.get("minLength", 1) > 0
    long = most is None or most > LINE
    widget = forms.Textarea(attrs={"rows": 3 if most and most <= 500 else 6}) if long else forms.TextInput()
    return forms.CharField(max_length=most, widget=widget, **{**named, "required": required})
