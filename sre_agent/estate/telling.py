"""What services write into their logs. Pure.

A line says what a program would know: that memory ran out, that a certificate is over, that a server behind it
answered with an error. None says which of the estate's troubles began.
"""

from collections.abc import Iterator, Sequence

from sre_agent.estate.chance import below
from sre_agent.estate.load import BUSY_PM, Health
from sre_agent.estate.values import WHOLE_PM, Estate, Level, Line, Replica, Service

MOST_LINES = 6
"""Of one service in one tick: a log shipper samples, too."""
_WARN_DISK_PM, _WARN_MEMORY_PM = 900, 850


def lines_of(estate: Estate, service: Service, health: Health, killed: Sequence[Replica]) -> tuple[Line, ...]:
    """Return what the service's replicas wrote in this tick, at most MOST_LINES lines, the most serious first."""
    found = [*_sent(estate, service), *_killed(estate, service, killed)]
    found += [*_failing(estate, service, health), *_warned(estate, service, health)]
    found += _started(estate, service)
    if not found and below(6, estate.seed, "quiet", service.ref, estate.tick) == 0:
        found.append(_line(estate, service, Level.INFO, f"served {health.sample.requests} req/s, all quiet"))
    order = {Level.ERROR: 0, Level.WARN: 1, Level.INFO: 2}
    return tuple(sorted(found, key=lambda line: order[line.level])[:MOST_LINES])


def _line(estate: Estate, service: Service, level: Level, text: str, replica: Replica | None = None) -> Line:
    if replica is None and service.replicas:
        replica = service.replicas[below(len(service.replicas), estate.seed, text, service.ref, estate.tick)]
    return Line(service.ref, replica.name if replica else "", estate.tick, level, text)


def _sent(estate: Estate, service: Service) -> Iterator[Line]:
    """Yield what strangers wrote into requests now and then, as the service logs it: word by word, before all else."""
    places = {service.ref, *(replica.node for replica in service.replicas)}
    for happening in estate.happenings:
        if not happening.words or happening.on not in places or not happening.lasts(estate.tick):
            continue
        if below(3, estate.seed, "sent", service.ref, estate.tick) == 0:
            yield _line(estate, service, Level.ERROR, f"400 bad request, body: {happening.words}")


def _killed(estate: Estate, service: Service, killed: Sequence[Replica]) -> Iterator[Line]:
    for replica in killed:
        text = f"OOMKilled: memory cgroup out of memory, limit {service.memory_limit_mib}Mi, restarting"
        yield _line(estate, service, Level.ERROR, text, replica)


def _failing(estate: Estate, service: Service, health: Health) -> Iterator[Line]:
    for cause, share in health.causes.items():
        if share * health.sample.requests < 2 * WHOLE_PM:
            continue
        match cause.split(" ", 1):
            case ["flaw"]:
                for replica in service.ready(estate.tick)[:2]:
                    release = service.release(replica.version)
                    if release is not None and release.flaw.errors_pm:
                        text = f"{release.flaw.words} (version {replica.version})"
                        yield _line(estate, service, Level.ERROR, text, replica)
            case ["overload"]:
                yield _line(estate, service, Level.ERROR, "503 queue is full, request rejected")
            case ["disk"]:
                yield _line(estate, service, Level.ERROR, "write failed: No space left on device (/var/lib/data)")
            case ["certificate"]:
                yield _line(estate, service, Level.ERROR, "TLS handshake failed: certificate has expired")
            case ["upstream", ref]:
                yield _line(estate, service, Level.ERROR, f"upstream {ref} answered 5xx, giving up after 3 attempts")


def _warned(estate: Estate, service: Service, health: Health) -> Iterator[Line]:
    sample = health.sample
    if sample.disk_pm >= _WARN_DISK_PM:
        yield _line(estate, service, Level.WARN, f"/var/lib/data is {sample.disk_pm // 10}% full")
    for replica in service.replicas:
        used = replica.memory_mib * WHOLE_PM // service.memory_limit_mib
        if used >= _WARN_MEMORY_PM:
            text = f"heap {replica.memory_mib}Mi of {service.memory_limit_mib}Mi, GC takes {used // 20}% of the time"
            yield _line(estate, service, Level.WARN, text, replica)
            break
    if sample.processor_pm >= BUSY_PM:
        stolen = max((estate.nodes[r.node].stolen_pm for r in service.replicas), default=0)
        words = f", steal {stolen // 10}%" if stolen else ""
        yield _line(estate, service, Level.WARN, f"worker pool busy {sample.processor_pm // 10}%{words}")


def _started(estate: Estate, service: Service) -> Iterator[Line]:
    for replica in service.replicas:
        if replica.started_at == estate.tick and estate.tick > 0:
            yield _line(estate, service, Level.INFO, f"starting version {replica.version} on {replica.node}", replica)
