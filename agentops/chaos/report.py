"""What a drill found, as figures and as words."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentops.kernel.crashpoints import CrashPoint

LEAST_SHARE = 0.9
MOST_WORDS = 20


@dataclass
class Report:
    """What a drill found. ``by_point`` has kills and reached ones.

    ``stopped`` of them stood still past their lease first. ``deaths`` are workers that ended by themselves.
    ``unknown`` are the calls left for people to find out about. ``actions`` counts the effects by what they did.
    """

    role: str
    seed: int
    by_point: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    deaths: int = 0
    stopped: int = 0
    lost: list[str] = field(default_factory=list)
    duplicated: list[str] = field(default_factory=list)
    mismatches: list[str] = field(default_factory=list)
    sessions: int = 0
    effects: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    seconds: float = 0.0

    @property
    def kills(self) -> int:
        """Workers that were to die."""
        return sum(kills for kills, _ in self.by_point.values())

    @property
    def reached(self) -> int:
        """Workers that died where they were to die."""
        return sum(reached for _, reached in self.by_point.values())

    @property
    def share(self) -> float:
        """The part that reached its point, from 0 to 1."""
        return self.reached / self.kills if self.kills else 1.0

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, made twice or told wrongly, and the faults were really there."""
        return not (self.lost or self.duplicated or self.mismatches or self.deaths) and self.share >= LEAST_SHARE

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "role": self.role,
            "kills": self.kills,
            "reached": self.reached,
            "reached_share": round(self.share, 4),
            "by_point": {point.value: self.by_point[point.value] for point in CrashPoint},
            "lost": len(self.lost),
            "duplicated": len(self.duplicated),
            "mismatches": len(self.mismatches),
            "stopped": self.stopped,
            "deaths": self.deaths,
            "sessions": self.sessions,
            "effects": self.effects,
            "actions": dict(sorted(self.actions.items())),
            "unknown": self.unknown,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
        }

    def as_text(self) -> str:
        """Return the figures for a person, one a line."""
        figures = self.as_json()
        points, actions = figures.pop("by_point"), figures.pop("actions")
        lines = [f"{name}: {value}" for name, value in figures.items()]
        lines += [f"  {point}: {reached} of {kills}" for point, (kills, reached) in points.items()]
        lines += [f"  {action}: {count}" for action, count in actions.items()]
        return "".join(f"{line}\n" for line in lines)

    def words(self) -> Iterator[str]:
        """Yield the first of what is wrong, in words."""
        for name in ("lost", "duplicated", "mismatches"):
            found: list[str] = getattr(self, name)
            yield from (f"{name}: {line}" for line in found[:MOST_WORDS])
            if len(found) > MOST_WORDS:
                yield f"{name}: and {len(found) - MOST_WORDS} more"
