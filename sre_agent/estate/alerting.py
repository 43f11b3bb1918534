"""Which alerts fire, from the latest samples. Pure, and without memory: the same samples give the same alerts."""

from collections.abc import Sequence
from dataclasses import dataclass

from sre_agent.estate.values import Sample
from sre_agent.tiers import Tier


@dataclass(frozen=True)
class Rule:
    """Fires when ``metric`` was above ``above`` (or under ``under``) in each of the last ``ticks`` samples."""

    name: str
    metric: str
    ticks: int
    above: int | None = None
    under: int | None = None
    words: str = ""

    def holds(self, sample: Sample) -> bool:
        """Return whether one sample is bad enough."""
        value = int(getattr(sample, self.metric))
        return (self.above is not None and value > self.above) or (self.under is not None and value < self.under)


RULES = (
    Rule("ErrorsHigh", "errors_pm", 3, above=50, words="More than 5 % of requests fail."),
    Rule("LatencyHigh", "latency_ms", 6, above=1_500, words="Requests take more than 1.5 seconds."),
    Rule("ProcessorHigh", "processor_pm", 6, above=900, words="More than 90 % of the processors are in use."),
    Rule("MemoryHigh", "memory_pm", 3, above=900, words="A replica uses more than 90 % of its memory."),
    Rule("DiskHigh", "disk_pm", 3, above=900, words="The disk is more than 90 % full."),
    Rule("NothingReady", "ready", 3, under=1, words="No replica takes requests."),
)
LONGEST = max(rule.ticks for rule in RULES)


@dataclass(frozen=True)
class Firing:
    """One alert: which rule, of which service, and the tick since when every sample was bad enough, as far as told."""

    rule: Rule
    service: str
    since: int

    @property
    def fingerprint(self) -> str:
        """The same for the same alert, so that it is told once."""
        return f"{self.rule.name}/{self.service}"


def firing(samples: Sequence[Sample]) -> tuple[Firing, ...]:
    """Return what fires after these samples of one service, the oldest first, by rule."""
    found = []
    for rule in RULES:
        bad = 0
        while bad < len(samples) and rule.holds(samples[-1 - bad]):
            bad += 1
        if bad >= rule.ticks:
            found.append(Firing(rule, samples[-1].service, samples[-bad].tick))
    return tuple(found)


def priority_of(tier: Tier, rule: Rule) -> int:
    """Return the priority of an alert, 0 is the most urgent: the tier of its service, one less urgent for a warning."""
    warns = rule.name in ("ProcessorHigh", "MemoryHigh", "DiskHigh")
    return tier + warns
