"""Chance that is the same for the same seed, whatever was asked before. Pure."""

import hashlib


def below(limit: int, *what: object) -> int:
    """Return a number from 0 to ``limit`` - 1 that depends on ``what`` alone: the seed first, then what it is for."""
    told = "\x1f".join(str(each) for each in what).encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "big") % limit


def around(value: int, spread_pm: int, *what: object) -> int:
    """Return ``value`` give or take at most ``spread_pm`` parts per thousand of it."""
    most = value * spread_pm // 1000
    return value if most == 0 else value - most + below(2 * most + 1, *what)
