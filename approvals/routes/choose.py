"""Which queue a request goes to.

In this order: what a detector finds in it, the queue that a rule named, the routes of the tool's tags, the tool's own
queue. Detectors come first, because they are about what nobody expected when the rules were written. The tags of a
tool stand in the order of their weight; the first with a route decides.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import F

from agentops.kernel.errors import AgentOpsError
from agentops.runtime.ports import ApprovalCase
from approvals.models import ApprovalQueue, ApprovalRequest, Detector, ToolRoute
from approvals.routes.detect import Hit, Look, Part, first_hit, leaves_of

MOST_DETECTORS = 200
MOST_ROUTED_BY = 200
_RULE = "A rule that fired asks the people of this queue."


class NoQueue(AgentOpsError):
    """A tool or a rule names a queue that the tenant does not have."""

    code = "NO_QUEUE"
    next_step = "Make the queue in the admin."


def queue_for(case: ApprovalCase) -> tuple[ApprovalQueue, str]:
    """Return the queue of a request, and why it is not simply the tool's own, in words or "". Raises NoQueue."""
    detector, hit = _detected(case)
    if detector is not None and hit is not None:
        return detector.queue, f"{detector.name}: {hit.words}."[:MOST_ROUTED_BY]
    if not case.queue_named:
        route = _route_of(case)
        if route is not None:
            return route.queue, f"Calls with the tag {route.tag} go to this queue." if _moved(route.queue, case) else ""
    queue = ApprovalQueue.objects.select_related("hours").filter(tenant_id=case.tenant_id, slug=case.queue).first()
    if queue is None:
        raise NoQueue(f"tenant {case.tenant_id} has no queue {case.queue!r}")
    return queue, _RULE if case.queue_named else ""


def _moved(queue: ApprovalQueue, case: ApprovalCase) -> bool:
    return queue.slug != case.queue


def _route_of(case: ApprovalCase) -> ToolRoute | None:
    if not case.tags:
        return None
    found = ToolRoute.objects.filter(tenant_id=case.tenant_id, tag__in=case.tags, queue__tenant_id=F("tenant_id"))
    return min(found.select_related("queue__hours"), key=lambda route: case.tags.index(route.tag), default=None)


def _detected(case: ApprovalCase) -> tuple[Detector | None, Hit | None]:
    active = Detector.objects.filter(tenant_id=case.tenant_id, is_active=True, queue__tenant_id=F("tenant_id"))
    detectors = list(active.select_related("queue__hours").order_by("rank", "name")[:MOST_DETECTORS])
    hit = first_hit([look_of(detector) for detector in detectors], parts_of(case))
    return (detectors[hit.index], hit) if hit is not None else (None, None)


def look_of(detector: Detector) -> Look:
    """Return what a detector looks for."""
    if detector.kind == Detector.Kind.PERSONAL:
        return Look(detector.name, personal=True)
    return Look(detector.name, tuple(phrase for phrase in detector.phrases if isinstance(phrase, str)))


def parts_of(case: ApprovalCase) -> Iterator[Part]:
    """Yield the texts of a call that detectors read, what people wrote first."""
    return _parts(case.subject_text, case.subject_title, case.sender, case.arguments, case.preview)


def parts_of_request(request: ApprovalRequest) -> Iterator[Part]:
    """Yield the same of a request as it is stored."""
    return _parts(request.subject_text, request.subject_title, request.sender, request.arguments, request.preview)


def _parts(
    text: str, title: str, sender: str, arguments: Mapping[str, Any], preview: Mapping[str, Any]
) -> Iterator[Part]:
    yield Part("the message", text)
    yield Part("its title", title)
    yield Part("the sender", sender)
    for name, value in arguments.items():
        yield from leaves_of(value, f"the argument {name[:40]}", name)
    yield from leaves_of(preview, "the preview")
