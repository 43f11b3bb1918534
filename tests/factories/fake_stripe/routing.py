"""Which endpoint a path is, and which permission a restricted key needs for it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.factories.fake_stripe.errors import ApiError
from tests.factories.fake_stripe.world import Obj, World

Handler = Callable[..., Obj]


@dataclass(frozen=True)
class Route:
    """``handler(world, form, *ids)`` answers ``method`` on ``path``, in which ``{}`` is an id."""

    method: str
    path: str
    handler: Handler
    resource: str
    access: str = ""
    pattern: re.Pattern[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        written = re.escape(self.path).replace(r"\{\}", "([^/]+)")
        object.__setattr__(self, "pattern", re.compile(written))

    @property
    def needed(self) -> str:
        """The access that a restricted key needs."""
        return self.access or ("read" if self.method == "GET" else "write")


def found(routes: Sequence[Route], method: str, path: str) -> tuple[Route, tuple[str, ...]]:
    """Return the endpoint and the ids in its path. Raises ApiError 404."""
    for route in routes:
        match = route.pattern.fullmatch(path)
        if match and route.method == method:
            return route, match.groups()
    raise ApiError(404, f"Unrecognized request URL ({method}: {path}).")


def retrieving(kind: str) -> Handler:
    """Return the endpoint that answers one object of a kind."""

    def retrieve(world: World, form: Mapping[str, Any], ref: str) -> Obj:
        from_params({}, form)
        return world.find(kind, ref)

    return retrieve


def from_params(shape: Mapping[str, Any], form: Mapping[str, Any]) -> None:
    """Raise ApiError for parameters of an endpoint that has none."""
    for name in form:
        if name not in shape:
            raise ApiError(400, f"Received unknown parameter: {name}", param=name, code="parameter_unknown")
