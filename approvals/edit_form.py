"""The arguments of a call as a form made from the tool's JSON Schema, and what was typed into it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentops.console.marks import Text
from agentops.console.reveal import reveal
from agentops.console.session_queries import role_of
from agentops.console.step_form import PREFIX, JSONText, LinesField, StepForm, YesNoField
from agentops.registry.tool import ToolSpec
from agentops.runtime.models import Session
from approvals import drafts
from approvals.models import ApprovalRequest
from approvals.page_parts.words import flat

_WHY = "Why you change it"


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed into one field."""

    label: str
    value: Text


def tool_of(approval: ApprovalRequest) -> ToolSpec | None:
    """Return the tool of the call, None when it is not installed any more."""
    role = role_of(Session.objects.get(pk=approval.session_id))
    return next((tool for tool in role.tools if tool.name == approval.tool), None) if role else None


def edit_form(tool: ToolSpec, data: Any = None, initial: Mapping[str, Any] | None = None) -> StepForm:
    """Return the form, filled with what was sent or with ``initial``."""
    form = StepForm(data, tool=tool, initial=initial, auto_id="edit-%s")
    form.fields[drafts.REASON].label = _WHY
    return form


def as_fields(tool: ToolSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the fields of the form write them."""
    fields = StepForm(tool=tool).fields
    return {
        f"{PREFIX}{name}": _as_typed(fields[f"{PREFIX}{name}"], value)
        for name, value in arguments.items()
        if f"{PREFIX}{name}" in fields
    }


def _as_typed(field: object, value: Any) -> Any:
    if isinstance(field, LinesField):
        return "\n".join(value)
    if isinstance(field, YesNoField):
        return "true" if value else "false"
    if isinstance(field, JSONText):
        return json.dumps(value, ensure_ascii=False, indent=2)
    return value


def typed_over(fields: Mapping[str, str], before: Mapping[str, Any]) -> list[Typed]:
    """Return what stands in ``fields`` and not in ``before``, both by the names of the form's fields."""
    texts = {name: text.replace("\r\n", "\n") for name, text in fields.items()}
    changed = {name: text for name, text in texts.items() if text != str(before.get(name, ""))}
    return [Typed(label_of(name), reveal(text)) for name, text in changed.items()]


def concealed_in(form: StepForm) -> list[Typed]:
    """Return the texts of the form in which something is not to be seen; a field of a page shows it as it is."""
    texts = {name: reveal(str(form[name].value() or "")) for name in form.fields}
    return [Typed(label_of(name), text) for name, text in texts.items() if any(segment.concealed for segment in text)]


def label_of(name: str) -> str:
    """Return the label of a field, also of one that the form does not have any more."""
    return _WHY if name == drafts.REASON else flat(name.removeprefix(PREFIX).replace("_", " ").capitalize())


def field_at(form: StepForm, path: str) -> str:
    """Return the name of the field for the path of an argument, "" when there is none."""
    name = f"{PREFIX}{path.partition('.')[0]}"
    return name if path and name in form.fields else ""
