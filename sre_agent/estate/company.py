"""A small company's services, and the troubles that come to them by seed. Pure. Everything is invented."""

from dataclasses import replace

from sre_agent.estate.chance import below
from sre_agent.estate.values import Estate, Flaw, Happening, Node, Release, Replica, Service, Trouble
from sre_agent.tiers import Tier

NODES = ("node-a", "node-b", "node-c", "node-d")
# Name, tier, what it depends on, replicas, usual requests a second, what a replica can serve, usual latency, disk.
_SERVICES = (
    ("ledger-db", Tier.P0, (), 3, 300, 220, 8, 40_000),
    ("session-cache", Tier.P1, (), 2, 500, 600, 3, 2_000),
    ("payments", Tier.P0, ("ledger-db",), 4, 80, 40, 120, 4_000),
    ("catalogue", Tier.P1, ("session-cache",), 3, 240, 140, 45, 6_000),
    ("search", Tier.P2, ("catalogue",), 3, 120, 70, 90, 12_000),
    ("checkout", Tier.P0, ("payments", "catalogue"), 4, 90, 45, 160, 4_000),
    ("storefront", Tier.P1, ("catalogue", "session-cache"), 4, 260, 110, 70, 3_000),
    ("recommendations", Tier.P3, ("catalogue",), 2, 60, 72, 110, 5_000),
    ("mailer", Tier.P3, (), 2, 20, 40, 60, 8_000),
)
_MEMORY_MIB, _LIMIT_MIB = 420, 1_024
_BROKEN = (
    "NullPointerException in PriceFormatter.format",
    "KeyError: 'currency' in build_receipt",
    "TypeError: cannot read properties of undefined (reading 'items')",
    "panic: runtime error: index out of range [3] with length 3",
)


def company(seed: int, *happenings: Happening) -> Estate:
    """Return the company's services as they run on a quiet day, with what is to happen."""
    services = {}
    for number, (ref, tier, needs, replicas, rate, capacity, usual_ms, disk) in enumerate(_SERVICES):
        releases = (
            Release("1.8.0", -8_640 * (3 + number), "ci", "Dependencies updated"),
            Release("1.9.0", -8_640 * (1 + number), "ci", "Time-outs are configurable"),
        )
        running = tuple(
            Replica(f"{ref}-0-{n}", NODES[(number + n) % len(NODES)], "1.9.0", -100, -98, _MEMORY_MIB)
            for n in range(replicas)
        )
        services[ref] = Service(
            ref, tier, needs, releases, replicas, running, rate, capacity, usual_ms, _MEMORY_MIB, _LIMIT_MIB,
            disk_mib=disk * 55 // 100, disk_limit_mib=disk, certificate_ends=300_000, restart_at=-100,
        )  # fmt: skip
    return Estate(seed, 0, services, {ref: Node(ref) for ref in NODES}, happenings)


def trouble(kind: Trouble, on: str, at: int, seed: int, words: str = "") -> Happening:
    """Return one trouble, with details that follow from the seed. ``on`` is a service, or a node for a neighbour.

    ``words`` are what a stranger sends while it lasts, and what then stands in the logs.
    """
    return replace(_trouble(kind, on, at, seed), words=words)


def _trouble(kind: Trouble, on: str, at: int, seed: int) -> Happening:
    match kind:
        case Trouble.BAD_DEPLOY:
            flaw = Flaw(
                errors_pm=250 + below(400, seed, "errors"),
                slower_pm=200 + below(600, seed, "slower"),
                words=_BROKEN[below(len(_BROKEN), seed, "words")],
            )
            return Happening(kind, on, at, release=Release("1.10.0", at, "ci", "New price rounding", flaw))
        case Trouble.MEMORY_LEAK:
            flaw = Flaw(leak_mib=5 + below(6, seed, "leak"))
            return Happening(kind, on, at, release=Release("1.10.0", at, "ci", "Results are cached", flaw))
        case Trouble.TRAFFIC_SPIKE:
            return Happening(kind, on, at, amount=1_300 + below(900, seed, "more"), until=at + 360)
        case Trouble.FULL_DISK:
            return Happening(kind, on, at, amount=70 + below(60, seed, "fills"))
        case Trouble.EXPIRED_CERTIFICATE:
            return Happening(kind, on, at)
        case Trouble.NOISY_NEIGHBOUR:
            return Happening(kind, on, at, amount=700 + below(200, seed, "steals"), until=at + 720)
