"""Which labels say what (values only)."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Vocabulary:
    """The names of labels that say a service, or what belongs together, in order, and the services that are known."""

    services: tuple[str, ...]
    areas: tuple[str, ...]
    known: Collection[str] = frozenset()
