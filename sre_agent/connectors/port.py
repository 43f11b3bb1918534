"""The writes of the SRE role on services and nodes, as values: a dry run and the write itself take the same one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Restart:
    """Start every replica of a service anew, a few at a time."""

    service_ref: str


@dataclass(frozen=True)
class HaltRestart:
    """Leave the replicas that a restart has not reached yet as they are."""

    service_ref: str


@dataclass(frozen=True)
class Scale:
    """Run another number of replicas."""

    service_ref: str
    replicas: int


@dataclass(frozen=True)
class RollBack:
    """Deploy a release once more that was deployed before."""

    service_ref: str
    version: str


@dataclass(frozen=True)
class Drain:
    """Place nothing more on a node, and move what runs there to others."""

    node_ref: str


@dataclass(frozen=True)
class Uncordon:
    """Use a node again."""

    node_ref: str


@dataclass(frozen=True)
class RunBook:
    """Run an allow-listed procedure on a service."""

    service_ref: str
    book: str


PlatformWrite = Restart | HaltRestart | Scale | RollBack | Drain | Uncordon | RunBook
