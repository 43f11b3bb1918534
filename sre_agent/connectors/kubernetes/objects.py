"""What the objects of a cluster say, read with care: whoever may write them may have written anything. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Obj = dict[str, Any]

SERVICE = "agentops.dev/service"
TIER = "agentops.dev/tier"
NEEDS = "agentops.dev/depends-on"
BY = "agentops.dev/deployed-by"
CERTIFICATE = "agentops.dev/certificate-ends"
CERTIFICATE_BEFORE = "agentops.dev/certificate-before"
ARCHIVED = "agentops.dev/archived-disk-pm"
RUNBOOK = "agentops.dev/runbook"
OPERATIONS = "agentops.dev/operations"
ASKED = "agentops.dev/asked"
KEY = "agentops.dev/key"
REVISION = "deployment.kubernetes.io/revision"
REVISIONS_BEFORE = "deployment.kubernetes.io/revision-history"
CAUSE = "kubernetes.io/change-cause"
RESTARTED = "kubectl.kubernetes.io/restartedAt"
MIRROR = "kubernetes.io/config.mirror"
TEMPLATE_HASH = "pod-template-hash"


def part(obj: Any, *path: str) -> Any:
    """Return what lies at a path of names, None where a part of it is missing or has another form."""
    for name in path:
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(name)
    return obj


def table(obj: Any, *path: str) -> Mapping[str, Any]:
    """Return the object that lies at a path, an empty one where there is none."""
    found = part(obj, *path)
    return found if isinstance(found, Mapping) else {}


def items(obj: Any, *path: str) -> list[Obj]:
    """Return the objects of the list that lies at a path."""
    found = part(obj, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def text(obj: Any, *path: str, most: int = 253) -> str:
    """Return the text that lies at a path, on one line and cut; empty where there is none."""
    found = part(obj, *path)
    return " ".join(found.split())[:most] if isinstance(found, str) else ""


def whole(obj: Any, *path: str, default: int = 0) -> int:
    """Return the integer from 0 on that lies at a path, as a number or as digits."""
    found = part(obj, *path)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) <= 9:
        return int(found)
    is_whole = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return int(found) if is_whole else default


def moment(obj: Any, *path: str) -> datetime | None:
    """Return the moment that lies at a path, in UTC; None for anything else."""
    try:
        found = datetime.fromisoformat(text(obj, *path))
        return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def name_of(obj: Obj) -> str:
    """Return an object's name."""
    return text(obj, "metadata", "name")


def uid_of(obj: Obj) -> str:
    """Return what an object is known by: another one of its name has another."""
    return text(obj, "metadata", "uid")


def is_owned(obj: Obj, uid: str) -> bool:
    """Return whether an object belongs to the one with that uid."""
    return any(text(owner, "uid") == uid for owner in items(obj, "metadata", "ownerReferences"))


def is_going(obj: Obj) -> bool:
    """Return whether an object is being deleted."""
    return bool(text(obj, "metadata", "deletionTimestamp"))


def is_ready(pod: Obj) -> bool:
    """Return whether a pod takes requests."""
    if is_going(pod):
        return False
    return any(
        text(each, "type") == "Ready" and text(each, "status") == "True" for each in items(pod, "status", "conditions")
    )


def selected(pods: Iterable[Obj], deployment: Obj) -> list[Obj]:
    """Return the pods of a deployment's namespace that it selects, by name; none when it does not say which.

    Selectors by expression are not read: such a deployment has no pods that anybody here may touch.
    """
    wanted, place = table(deployment, "spec", "selector", "matchLabels"), text(deployment, "metadata", "namespace")
    if not wanted or items(deployment, "spec", "selector", "matchExpressions"):
        return []
    found = [
        pod
        for pod in pods
        if text(pod, "metadata", "namespace") == place and wanted.items() <= table(pod, "metadata", "labels").items()
    ]
    return sorted(found, key=name_of)
