"""One request of a write, as it is frozen before the first one is made. Pure.

``{name}`` in a path stands for the id of what the step of that name made. ``find`` tells how to see
later, without the answer, that the step was made.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from billing_agent.connectors.stripe.objects import KEY, STEP, Obj, metadata_of, ref_of

Made = Mapping[str, Mapping[str, Any]]
CREATED_SKEW = 600
"""Seconds by which Stripe's clock may be behind ours."""


@dataclass(frozen=True)
class Find:
    """Where a step shows once it was made.

    ``listed``: ``path`` is a list, and one of its objects has the call's key and the step's name in its metadata.
    Otherwise ``path`` is one object. It has one of the ``values`` in the field ``told_in``, any when none are named;
    or, without such a field, the call's key in its metadata under ``stamp``, where ``former`` stood before. The field
    ``take`` has the id of what was made.
    """

    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    listed: bool = False
    told_in: str = ""
    values: tuple[str, ...] = ()
    stamp: str = KEY
    former: str = ""
    take: str = "id"

    def shown_by(self, obj: Obj, key: str, step: str) -> bool:
        """Return whether an object shows that the step of that name was made under the key."""
        if self.told_in:
            told = ref_of(obj.get(self.told_in))
            return bool(told) if not self.values else told in self.values
        metadata = metadata_of(obj)
        return metadata.get(self.stamp) == key and (not self.listed or metadata.get(STEP) == step)

    def is_covered_by(self, obj: Obj) -> bool:
        """Return whether another call has written the object since, so that it shows nothing any more."""
        stamps = not self.listed and not self.told_in and self.stamp == KEY
        return stamps and metadata_of(obj).get(KEY, "") != self.former


@dataclass(frozen=True)
class Step:
    """A POST or DELETE. ``decides``: with it the write has its effect, and is carried to its end."""

    name: str
    path: str
    params: Mapping[str, Any]
    find: Find
    method: str = "post"
    decides: bool = True
    may_decline: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the step as it is kept."""
        return asdict(self)


def step_from(kept: Mapping[str, Any]) -> Step:
    """Return a step that was kept."""
    found = kept["find"]
    return Step(**{**kept, "find": Find(**{**found, "values": tuple(found["values"])})})


def sub_key(tenant: str, key: str, step: str, attempt: int) -> str:
    """Return the idempotency key of one step: the same for the same call, far below Stripe's 255 characters."""
    return "agentops-" + sha256(f"{tenant}/{key}/{step}/{attempt}".encode()).hexdigest()


def stamped(key: str, step: str, **more: str) -> dict[str, str]:
    """Return the metadata of what a step makes."""
    return {KEY: key, STEP: step, **more}


def filled(path: str, made: Made) -> str:
    """Return a path with the ids of what was made."""
    for name, one in made.items():
        path = path.replace("{" + name + "}", str(one["id"]))
    return path
