"""An estate as JSON and back, whole numbers and texts only. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sre_agent.estate.values import Estate, Flaw, Happening, Node, Release, Replica, Service, Trouble
from sre_agent.tiers import Tier


def as_json(estate: Estate) -> dict[str, Any]:
    """Return the estate as plain values; the names are those of the fields."""
    return asdict(estate)


def from_json(data: Mapping[str, Any]) -> Estate:
    """Return the estate that ``as_json`` made the values of. Raises KeyError, TypeError or ValueError for others."""
    return Estate(
        seed=data["seed"],
        tick=data["tick"],
        services={ref: _service(each) for ref, each in data["services"].items()},
        nodes={ref: Node(**each) for ref, each in data["nodes"].items()},
        happenings=tuple(_happening(each) for each in data["happenings"]),
        harm=data["harm"],
        failed=dict(data["failed"]),
    )


def _service(data: Mapping[str, Any]) -> Service:
    return Service(
        **{
            **data,
            "tier": Tier(data["tier"]),
            "depends_on": tuple(data["depends_on"]),
            "releases": tuple(_release(each) for each in data["releases"]),
            "replicas": tuple(Replica(**each) for each in data["replicas"]),
        }
    )


def _release(data: Mapping[str, Any]) -> Release:
    return Release(**{**data, "flaw": Flaw(**data["flaw"])})


def _happening(data: Mapping[str, Any]) -> Happening:
    release = None if data["release"] is None else _release(data["release"])
    return Happening(**{**data, "trouble": Trouble(data["trouble"]), "release": release})
