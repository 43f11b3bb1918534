"""How much hangs on a service. Pure."""

from enum import IntEnum


class Tier(IntEnum):
    """P0 is the most."""

    P0 = 0
    P1 = 1
    P2 = 2
    P3 = 3
