"""What the tools of the desk and the pager answer has the form that they declare, and their undo takes it back."""

from typing import Any

import pytest

from agentops.registry.schemas import violations
from agentops.registry.tool import ToolSpec
from sre_agent.models import Alert, Incident, Page, StatusUpdate
from sre_agent.tools import TOOLS
from tests.factories.sre import context_of, make_alert, make_incident, make_shift, make_tenant

BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.fixture
def incident(db: None) -> Incident:
    incident = make_incident(make_tenant())
    make_shift(incident.tenant)
    return incident


def run(incident: Incident, name: str, key: str, **arguments: Any) -> tuple[ToolSpec, dict[str, Any]]:
    tool = BY_NAME[name]
    assert violations(tool.checks_input, arguments) == []
    assert tool.preview is not None
    preview = tool.preview(context_of(incident), arguments)
    result = tool.run(context_of(incident, key, expected_versions=preview.versions), arguments)
    assert violations(tool.checks_output, result) == []
    return tool, result


def state(incident: Incident) -> list[Any]:
    fields = ("ref", "status", "summary", "priority", "mitigated_at", "resolved_at", "cause")
    return [
        list(Incident.objects.filter(pk=incident.pk).values_list(*fields)),
        list(Alert.objects.values_list("silenced_until", flat=True)),
        list(Page.objects.filter(withdrawn_at=None).values_list("ref", flat=True)),
        list(StatusUpdate.objects.filter(state="draft").values_list("ref", flat=True)),
        list(Incident.objects.exclude(pk=incident.pk).exclude(status="resolved").values_list("ref", flat=True)),
    ]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("silence_alert", {"alert_id": "AL-1", "minutes": 30, "reason": "It is worked on."}),
        ("open_incident", {"service": "mailer", "title": "Full", "summary": "The disk is full.", "priority": 3}),
        ("update_incident", {"summary": "It fails.", "priority": 0, "mitigated": True}),
        ("update_incident", {"priority": 3}),
        ("resolve_incident", {"cause": "A release", "remedy": "A rollback"}),
        ("escalate_incident", {"reason": "It did not help.", "summary": "It fails."}),
        ("page_person", {"level": 1, "words": "It fails"}),
        ("draft_status_update", {"text": "We look into it."}),
    ],
)
def test_a_write_is_taken_back_by_the_call_that_it_names(
    incident: Incident, name: str, arguments: dict[str, Any]
) -> None:
    make_alert(incident.tenant, None if name == "resolve_incident" else incident, ref="AL-1")
    before = state(incident)
    tool, result = run(incident, name, "do", **arguments)
    assert state(incident) != before
    assert tool.undo_call is not None
    undo = tool.undo_call(arguments, result)
    assert undo is not None
    run(incident, undo[0], "undo", **undo[1])
    assert state(incident) == before
