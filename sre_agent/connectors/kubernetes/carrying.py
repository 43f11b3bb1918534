"""Carries a write out once for its key, and finds out what became of one whose answer was lost.

What is sent is kept first. Each patch names the version of the object that was read, so that a request which arrives
late, after somebody has looked, is refused by the server.
"""

from datetime import timedelta

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.registry.once import Once, call_of
from agentops.registry.tool import CallContext, OutcomeUnknown, Result, ToolFailure
from sre_agent.connectors import claiming, operations
from sre_agent.connectors.effect import Gate
from sre_agent.connectors.kubernetes import evicting, objects, requests
from sre_agent.connectors.kubernetes.door import Cluster
from sre_agent.connectors.kubernetes.history import digest_of, history_of
from sre_agent.connectors.kubernetes.mapping import is_cordoned
from sre_agent.connectors.kubernetes.objects import Obj, is_going, text, uid_of, whole
from sre_agent.connectors.kubernetes.planning import plan
from sre_agent.connectors.kubernetes.reading import Sight
from sre_agent.connectors.port import Drain, PlatformWrite
from sre_agent.models import ClusterWrite, Operation

ONCE = Once(Operation, "incident_ref", "database")
HOLD = timedelta(seconds=90)
"""Longer than any request is under way."""
TRIES = 4


def begin(context: CallContext, fingerprint: bytes, action: str) -> tuple[ClusterWrite, bool]:
    """Return the row of the context's key, and whether it is new. Raises ToolFailure CONFLICT for other arguments."""
    row, is_new = ClusterWrite.objects.get_or_create(
        tenant_id=context.tenant_id,
        key=context.idempotency_key,
        defaults={"action": action, "arguments_digest": fingerprint, "begun_at": utcnow()},
    )
    if bytes(row.arguments_digest) != fingerprint:
        raise ToolFailure(FailureKind.CONFLICT, "This idempotency key was used for another call.")
    return row, is_new


def carry(sight: Sight, write: PlatformWrite, row: ClusterWrite) -> Result:
    """Carry ``write`` out and record it. Raises ToolFailure when it had no effect, else OutcomeUnknown."""
    context, cluster = sight.context, sight.cluster
    try:
        for _ in range(TRIES):
            if _sent(sight, write, row):
                return finish(context, cluster, row)
            if _is_made_by_another(cluster, row):
                return finish(context, cluster, row)
            sight = Sight(cluster, context, sight.observatory)
    except ToolFailure:
        row.delete()
        raise
    row.delete()
    raise ToolFailure(FailureKind.CONFLICT, "It is being changed all the time by somebody else.")


def _sent(sight: Sight, write: PlatformWrite, row: ClusterWrite) -> bool:
    """Send the request of ``write``; False when the object was changed meanwhile, so that it had no effect."""
    context, cluster = sight.context, sight.cluster
    planned = plan(sight, write)
    if isinstance(write, Drain):
        evicting.require_allowed(cluster, sight.on_node(write.node_ref))
    if context.subject_id:
        claiming.take(context.tenant_id, planned.effect.preview.target, context.subject_id, context.now)
    request = planned.request(row.key, utcnow())
    row.told, row.begun_at = planned.told(request), utcnow()
    cluster.require_same()
    if not ClusterWrite.objects.filter(pk=row.pk).update(told=row.told, begun_at=row.begun_at):
        raise ToolFailure(FailureKind.CONFLICT, "Somebody has asked what became of this key, and was told: nothing.")
    try:
        cluster.send(request)
    except ToolFailure as failure:
        if failure.kind is not FailureKind.CONFLICT:
            raise
        return False
    return True


def settled(context: CallContext, cluster: Cluster, row: ClusterWrite) -> Result | None:
    """Return what a write came to whose answer is not known, None when it had no effect, and will not have one.

    Raises OutcomeUnknown when the cluster does not tell.
    """
    if not row.told:
        return None
    try:
        cluster.require_same()
        found = _found(cluster, row)
    except ToolFailure as failure:
        raise OutcomeUnknown(f"It was begun, and nobody knows what became of it: {failure.message}") from failure
    return finish(context, cluster, row) if found else None


def finish(context: CallContext, cluster: Cluster, row: ClusterWrite) -> Result:
    """Do what is left of a write that has had its effect, and record it. Raises OutcomeUnknown while something is."""
    if row.action == Drain.__name__:
        _emptied(context, cluster, row)
    told = row.told
    result: Result = told["result"]

    def act() -> Result:
        gate = Gate.from_json(told["gate"])
        operations.record(
            call_of(context), row.action, result, target=told["target"], disruptive=told["disruptive"], gate=gate
        )
        row.delete()
        return result

    try:
        return ONCE.write(context, bytes(row.arguments_digest), row.action, act)
    except ToolFailure as failure:
        raise OutcomeUnknown(f"It was done, and could not be recorded: {failure.message}") from failure


def _emptied(context: CallContext, cluster: Cluster, row: ClusterWrite) -> None:
    """Move what is left on a cordoned node. Raises OutcomeUnknown while something is; nothing is left to do in use."""
    try:
        node = cluster.one(row.told["path"], "nodes")
        if node is None or uid_of(node) != row.told["uid"] or not is_cordoned(node):
            return
        services = list(Sight(cluster, context, None).deployments.values())
        left = evicting.go_on(cluster, objects.name_of(node), services)
    except ToolFailure as failure:
        raise OutcomeUnknown(f"The node is cordoned, and not empty: {failure.message}") from failure
    if left:
        names = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        raise OutcomeUnknown(f"The node is cordoned; what has to stay for now is still there: {names}.")


def _found(cluster: Cluster, row: ClusterWrite) -> bool:
    """Return whether a write had its effect; if not, it cannot have one any more. Raises ToolFailure."""
    match row.told["kind"]:
        case "note":
            return _is_noted(cluster, row)
        case "gone":
            pod = cluster.one(row.told["path"], "pods")
            if pod is None or uid_of(pod) != row.told["uid"] or is_going(pod):
                return True
        case "job":
            job = cluster.one(row.told["path"], "jobs")
            if job is not None:
                return _is_ours(job, row)
    if utcnow() - row.begun_at < HOLD:
        raise ToolFailure(FailureKind.UNAVAILABLE, "the request may still be on its way.")
    return False


def _is_made_by_another(cluster: Cluster, row: ClusterWrite) -> bool:
    """Return whether another call with the same key was quicker, after this one was refused. Raises ToolFailure."""
    told = row.told
    if told["kind"] == "gone":
        return False
    obj = cluster.one(told["path"], told["resource"])
    if obj is None or told["kind"] == "job":
        return obj is not None and _is_ours(obj, row)
    entry = history_of(obj).of(row.key)
    return entry is not None and entry.digest == digest_of(told["result"])


def _is_noted(cluster: Cluster, row: ClusterWrite) -> bool:
    """Return whether an object carries the key, and make sure that it will not any more if it does not."""
    told = row.told
    for _ in range(TRIES):
        obj = cluster.one(told["path"], told["resource"])
        if obj is None or uid_of(obj) != told["uid"]:
            raise ToolFailure(FailureKind.NOT_FOUND, "what was to be changed is gone.")
        history = history_of(obj)
        entry = history.of(row.key)
        if entry is not None:
            if entry.digest != digest_of(told["result"]):
                raise ToolFailure(FailureKind.CONFLICT, "what is noted there is not what was sent.")
            return True
        if not _is_untouched(obj, row) and not history.covers(row.begun_at):
            raise ToolFailure(FailureKind.CONFLICT, "it was changed since, and does not say by whom.")
        if _is_fenced(cluster, obj, row):
            return False
    raise ToolFailure(FailureKind.CONFLICT, "it is being changed all the time.")


def _is_untouched(obj: Obj, row: ClusterWrite) -> bool:
    """Return whether an object is still what it was before the write, as far as the write would have changed it."""
    if row.told["resource"] == "nodes":
        return is_cordoned(obj) is bool(row.told["cordoned"])
    return whole(obj, "metadata", "generation") == int(row.told["generation"])


def _is_fenced(cluster: Cluster, obj: Obj, row: ClusterWrite) -> bool:
    """Move an object's version, so that a late request is refused. Returns False when somebody else just did."""
    version = text(obj, "metadata", "resourceVersion")
    try:
        cluster.send(requests.note(row.told["path"], row.told["resource"], version, utcnow()))
    except OutcomeUnknown:
        return False
    except ToolFailure as failure:
        if failure.kind is not FailureKind.CONFLICT:
            raise
        return False
    return True


def _is_ours(job: Obj, row: ClusterWrite) -> bool:
    if text(job, "metadata", "annotations", objects.KEY, most=400) != row.key:
        raise ToolFailure(FailureKind.CONFLICT, "there is a job of that name, and it is another call's.")
    return True


def forget(row: ClusterWrite) -> None:
    """Forget a write that had no effect, so that nothing is sent for it any more. Raises OutcomeUnknown when it was."""
    if not ClusterWrite.objects.filter(pk=row.pk, begun_at=row.begun_at).delete()[0]:
        raise OutcomeUnknown("Another call with this key is under way, or just ended.")
