"""What becomes of replicas in one tick: rollouts, scaling, leaks of memory, and what is killed for them. Pure."""

from dataclasses import replace

from sre_agent.estate.values import WHOLE_PM, Estate, Replica, Service

START_TICKS = 2
"""So long a replica takes from its start until it serves."""
AT_ONCE_PM = 250
"""The share of the wanted replicas that a rollout takes out of service at a time; one at least."""


def roll(service: Service, estate: Estate) -> Service:
    """Return the service one tick of its rollout further: what is too much ends, what is missing or stale begins.

    Stale replicas are replaced a few at a time, and only while the others are ready; those that are not ready anyway
    are replaced first. Nothing is placed on a cordoned node, unless every node is cordoned.
    """
    if not service.is_rolling:
        return service
    tick = estate.tick
    kept = list(service.replicas)
    if len(kept) > service.desired:
        # The youngest go first, and of those what does not serve yet.
        kept = sorted(kept, key=lambda r: (r.started_at, r.name))[: service.desired]
    stale = {replica.name for replica in service.stale()}
    at_once = max(1, service.desired * AT_ONCE_PM // WHOLE_PM)
    waiting = sum(replica.ready_at > tick for replica in kept)
    room = max(0, at_once - waiting)
    order = sorted((r for r in kept if r.name in stale), key=lambda r: (r.ready_at <= tick, r.started_at, r.name))
    for old in order[:room]:
        kept.remove(old)
    while len(kept) < service.desired:
        kept.append(_started(service, estate, tuple(kept), len(kept)))
    return replace(service, replicas=tuple(sorted(kept, key=lambda r: r.name)))


def _started(service: Service, estate: Estate, others: tuple[Replica, ...], number: int) -> Replica:
    tick, taken = estate.tick, {replica.name for replica in (*service.replicas, *others)}
    number = next(n for n in range(len(taken) + 1) if f"{service.ref}-{tick:x}-{n}" not in taken)
    return Replica(
        name=f"{service.ref}-{tick:x}-{number}",
        node=_emptiest(estate, service, others),
        version=service.wanted.version,
        started_at=tick,
        ready_at=tick + START_TICKS,
        memory_mib=service.memory_mib,
    )


def _emptiest(estate: Estate, service: Service, others: tuple[Replica, ...]) -> str:
    """Return the node on which the fewest replicas run, by name where there is a choice."""
    open_nodes = [node for node in estate.nodes.values() if not node.cordoned] or list(estate.nodes.values())
    counts = {node.ref: 0 for node in open_nodes}
    elsewhere = (r for s in estate.services.values() if s.ref != service.ref for r in s.replicas)
    for replica in (*elsewhere, *others):
        if replica.node in counts:
            counts[replica.node] += 1
    return min(counts, key=lambda ref: (counts[ref], ref))


def leave(service: Service, estate: Estate) -> Service:
    """Return the service with its replicas on drained nodes marked to move, when there is a node to move to."""
    if all(node.cordoned for node in estate.nodes.values()):
        return service
    drained = {node.ref for node in estate.nodes.values() if node.drained}
    if all(replica.leaving == (replica.node in drained) for replica in service.replicas):
        return service
    return replace(service, replicas=tuple(replace(r, leaving=r.node in drained) for r in service.replicas))


def fill(service: Service, tick: int) -> tuple[Service, tuple[Replica, ...]]:
    """Return the service with the memory that its replicas lost in this tick, and the replicas that were killed for it.

    A killed replica starts again in its place, with the memory of a new one.
    """
    replicas, killed = [], []
    for replica in service.replicas:
        release = service.release(replica.version)
        leaks = release.flaw.leak_mib if release is not None and replica.ready_at <= tick else 0
        used = replica.memory_mib + leaks
        if not leaks:
            replicas.append(replica)
        elif used > service.memory_limit_mib:
            killed.append(replica)
            replicas.append(
                replace(replica, started_at=tick, ready_at=tick + START_TICKS, memory_mib=service.memory_mib)
            )
        else:
            replicas.append(replace(replica, memory_mib=used))
    if tuple(replicas) == service.replicas:
        return service, ()
    changed = replace(service, replicas=tuple(replicas), crashes=service.crashes + len(killed))
    return changed, tuple(killed)
