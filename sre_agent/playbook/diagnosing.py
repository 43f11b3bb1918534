"""What is the matter with a service: one of the known troubles, or nothing that is known (pure).

Each is told by figures and by the platform's own records. Log lines are matched against fixed patterns and can only
confirm; whoever writes into a log can at most take a confirmation away.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median

from sre_agent.playbook.facts import SOUND_ERRORS_PM, SOUND_USE_PM, Deploy, Details, Line, Node, Point, Service, share


class Trouble(StrEnum):
    """What the playbook knows how to end."""

    BAD_DEPLOY = "a bad release"
    MEMORY_LEAK = "a release that loses memory"
    TRAFFIC_SPIKE = "more requests than the replicas can serve"
    FULL_DISK = "a full disk"
    EXPIRED_CERTIFICATE = "an expired certificate"
    NOISY_NEIGHBOUR = "a node whose processors are used by somebody else"


@dataclass(frozen=True)
class Evidence:
    """Everything that was read of one service, at one time. There is one point at least."""

    service: Service
    details: Details
    points: tuple[Point, ...]
    lines: tuple[Line, ...]
    deploys: tuple[Deploy, ...]
    releases: tuple[Deploy, ...]
    nodes: tuple[Node, ...]

    @property
    def now(self) -> datetime:
        """The moment of the latest answer, by the clock of those who answered."""
        return max([point.at for point in self.points] + [line.at for line in self.lines])


@dataclass(frozen=True)
class Diagnosis:
    """What was found, and the figures that say so. ``release`` is the one to go back to, ``node`` the one to drain."""

    trouble: Trouble
    because: tuple[str, ...]
    release: str = ""
    node: str = ""
    replicas: int = 0


SOON = timedelta(minutes=20)
"""A release that failed later than this after its deployment did not fail because of the deployment alone."""
SLACK = timedelta(minutes=6)
"""Points of metrics are medians over some minutes, so a trouble can seem to begin before its cause."""
MOSTLY_PM, STOLEN_PM, RISEN_PM, FILLED_PM, FULL_PM = 900, 300, 150, 700, 990
MORE_LOAD_PCT, AIM_PM, MOST_TIMES, MOST_REPLICAS = 140, 600, 4, 50

_EXPIRED = re.compile(r"certificate has expired", re.IGNORECASE)
_NO_SPACE = re.compile(r"no space left on device", re.IGNORECASE)
_KILLED = re.compile(r"\bOOMKilled\b|out of memory", re.IGNORECASE)


def diagnosed(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Return what is to be ended now: one trouble, none that is known, or several that contradict each other.

    What can be ended without taking capacity away comes first, whatever else there is.
    """
    for harmless in (_certificate(evidence), _disk(evidence), _spike(evidence)):
        if harmless is not None:
            return (harmless,)
    deploy, leak, noisy = _deploy(evidence), _leak(evidence), _neighbour(evidence)
    return tuple(each for each in (deploy or leak, noisy) if each is not None)


def _certificate(evidence: Evidence) -> Diagnosis | None:
    ends, service = evidence.details.certificate_ends, evidence.service
    if ends is None or ends > evidence.now + SLACK or service.errors_pm < MOSTLY_PM:
        return None
    because = (f"the certificate ended at {ends:%Y-%m-%d %H:%M} UTC", f"{share(service.errors_pm)} of requests fail")
    return Diagnosis(Trouble.EXPIRED_CERTIFICATE, (*because, *_lines(evidence, _EXPIRED)))


def _disk(evidence: Evidence) -> Diagnosis | None:
    """A disk that is merely filling explains no errors."""
    service = evidence.service
    fails = service.errors_pm > SOUND_ERRORS_PM
    if service.disk_pm <= SOUND_USE_PM or (fails and service.disk_pm < FULL_PM):
        return None
    because = (f"the disk is {share(service.disk_pm)} full", *_lines(evidence, _NO_SPACE))
    return Diagnosis(Trouble.FULL_DISK, because)


def _spike(evidence: Evidence) -> Diagnosis | None:
    service, before = evidence.service, _quiet(evidence.points)
    if before is None or service.processor_pm < MOSTLY_PM:
        return None
    usual = before.requests
    if service.requests * 100 < usual * MORE_LOAD_PCT:
        return None
    wanted = _replicas(service, before)
    if wanted <= service.desired:
        return None
    because = (
        f"{service.requests} requests a second, {usual} before",
        f"the processors are {share(service.processor_pm)} in use",
    )
    return Diagnosis(Trouble.TRAFFIC_SPIKE, because, replicas=wanted)


def _quiet(points: Sequence[Point]) -> Point | None:
    """Return how the service did before anything began: the medians of its sound points."""
    sound = [p for p in points if p.errors_pm <= SOUND_ERRORS_PM and 0 < p.processor_pm < MOSTLY_PM and p.ready > 0]
    if not sound:
        return None
    usual = median(point.requests for point in sound)
    return min(sound, key=lambda point: (abs(point.requests - usual), point.at))


def _replicas(service: Service, before: Point) -> int:
    """Return how many replicas carry the load of now with AIM_PM of their processors, within bounds."""
    served = before.requests * 1000
    if served <= 0:
        return service.desired
    needed = -(-service.requests * before.processor_pm * before.ready * 1000 // (served * AIM_PM))
    return min(needed, service.desired * MOST_TIMES, MOST_REPLICAS)


def _deploy(evidence: Evidence) -> Diagnosis | None:
    latest, earlier = _latest(evidence), _earlier(evidence)
    if latest is None or earlier is None or evidence.service.errors_pm <= SOUND_ERRORS_PM:
        return None
    onset = _onset(evidence)
    if not latest.at - SLACK <= onset <= latest.at + SOON:
        return None
    because = (
        f"release {latest.release} was deployed at {latest.at:%H:%M} UTC",
        f"requests have failed since {onset:%H:%M} UTC, now {share(evidence.service.errors_pm)}",
    )
    return Diagnosis(Trouble.BAD_DEPLOY, because, release=earlier.release)


def _onset(evidence: Evidence) -> datetime:
    """Return since when requests have failed without a break, as far as the points tell."""
    onset = evidence.now
    for point in reversed(evidence.points):
        if point.errors_pm <= SOUND_ERRORS_PM:
            break
        onset = point.at
    return onset


def _leak(evidence: Evidence) -> Diagnosis | None:
    """Memory that grows from a deployment on. That of a sound release goes up when it starts, and stays."""
    latest, earlier = _latest(evidence), _earlier(evidence)
    if latest is None or earlier is None:
        return None
    after = [point.memory_pm for point in evidence.points if point.at >= latest.at - SLACK]
    most = max([*after, evidence.service.memory_pm], default=0)
    least = min((point.memory_pm for point in evidence.points), default=0)
    if most < FILLED_PM or most - least < RISEN_PM:
        return None
    because = (
        f"release {latest.release} was deployed at {latest.at:%H:%M} UTC",
        f"memory rose from {share(least)} to {share(most)}",
        *_lines(evidence, _KILLED),
    )
    return Diagnosis(Trouble.MEMORY_LEAK, because, release=earlier.release)


def _latest(evidence: Evidence) -> Deploy | None:
    """Return the release that runs, when it was deployed lately and not as a way back already."""
    latest = evidence.deploys[0] if evidence.deploys else None
    if latest is None or latest.release != evidence.service.release or latest.by == "rollback":
        return None
    return latest


def _earlier(evidence: Evidence) -> Deploy | None:
    return next((each for each in evidence.releases if each.release != evidence.service.release), None)


def _neighbour(evidence: Evidence) -> Diagnosis | None:
    stolen = [node for node in evidence.nodes if node.stolen_pm >= STOLEN_PM and not node.cordoned]
    if len(stolen) != 1 or evidence.service.ref not in stolen[0].runs:
        return None
    node = stolen[0]
    because = (
        f"{share(node.stolen_pm)} of {node.ref}'s processors are used by somebody else",
        f"{len(node.runs)} services have replicas there",
    )
    return Diagnosis(Trouble.NOISY_NEIGHBOUR, because, node=node.ref)


def _lines(evidence: Evidence, pattern: re.Pattern[str]) -> tuple[str, ...]:
    count = sum(pattern.search(line.text) is not None for line in evidence.lines)
    return (f"{count} log lines say the same",) if count else ()
