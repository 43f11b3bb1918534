"""Calling a person and drafting words for customers, for what is urgent (pure). Each is proposed once.

The words are the playbook's own: names of known services and figures, nothing that stands in an alert or a log.
"""

from agentops.registry.planner import Observation, ObservationStatus, ToolCall
from sre_agent.playbook.desk import Desk
from sre_agent.playbook.facts import Incident, Service, share

FIRST_LEVEL = 1


def called(desk: Desk, incident: Incident, about: str) -> ToolCall | None:
    """Return the call that pages somebody, None when somebody was, or nobody can be. Raises NotYetKnown, CannotKnow."""
    if not incident.is_urgent or incident.is_paged or "page_person" not in desk.granted:
        return None
    tried = [seen for seen in desk.history if seen.tool == "page_person"]
    if not tried:
        return _page(incident, FIRST_LEVEL, about)
    if len(tried) > 1 or not _found_nobody(tried[-1]):
        return None
    others = [level for level in desk.levels() if level != FIRST_LEVEL]
    return _page(incident, others[0], about) if others else None


def _page(incident: Incident, level: int, about: str) -> ToolCall:
    words = f"{incident.id}, P{incident.priority}: {about}"
    return ToolCall(
        "page_person", {"level": level, "words": words[:300]}, f"It is urgent: level {level} should know of it."
    )


def _found_nobody(seen: Observation) -> bool:
    """Whether nobody is on call at that level; anything else is not tried again."""
    code = seen.result.get("code") if isinstance(seen.result, dict) else None
    return seen.status in (ObservationStatus.FAILED, ObservationStatus.REFUSED) and code == "NOT_FOUND"


def drafted(desk: Desk, incident: Incident, root: Service) -> ToolCall | None:
    """Return the call that drafts a status update, None when there is one or none is needed."""
    is_tried = any(seen.tool == "draft_status_update" for seen in desk.history)
    if not incident.is_urgent or incident.has_draft or is_tried or "draft_status_update" not in desk.granted:
        return None
    text = (
        f"Since {incident.opened_at[11:16]} UTC some requests that need {root.ref} have been slow or have failed."
        " We are looking into it. The next update is posted here."
    )
    return ToolCall("draft_status_update", {"text": text}, "People may want to tell customers; they publish it.")


def failing(root: Service) -> str:
    """Return what is the matter with a service, for whoever is called."""
    return f"{root.ref} (P{root.tier}): {share(root.errors_pm)} of requests fail, {root.latency_ms} ms."
