"""What is said of the capacity that a write takes away, with figures and without."""

from typing import Any

import pytest

from agentops.registry.preview_parts import Fields
from agentops.registry.tool import Preview
from sre_agent.connectors.deciding import effect_of
from sre_agent.connectors.effect import Snapshot
from sre_agent.connectors.port import Drain, PlatformWrite, Restart, RunBook, Scale, Stop, Uncordon
from sre_agent.connectors.records import Figures, Node, Service
from tests.factories.observatory import WELL
from tests.factories.sre import NOW, make_service

LOAD = "Load of what is left"
KNOWN = Figures(**WELL)
UNKNOWN = (None, Figures(**{**WELL, "processor_pm": -1}))


def told(write: PlatformWrite, *, cordoned: bool = False, **fields: Any) -> Preview:
    service = make_service("web", **{"desired": 4, "ready": 4, **fields})
    node = Node("node-a", "east", cordoned, (("web", 2),), -1, 1)
    snapshot = Snapshot(NOW, service=service, node=node, on_node=(service,), nodes=3)
    return effect_of(snapshot, write).preview


def load(preview: Preview) -> list[str]:
    [radius] = [part for part in preview.parts if isinstance(part, Fields)]
    return [after for name, _, after in radius.lines if name == LOAD]


@pytest.mark.parametrize("figures", UNKNOWN)
@pytest.mark.parametrize("write", [Restart("web"), Scale("web", 3), Stop("web"), Drain("node-a")])
def test_without_figures_there_is_no_share_and_that_is_said(write: PlatformWrite, figures: Figures | None) -> None:
    preview = told(write, figures=figures)
    assert "capacity_share_pct" not in preview.measures
    assert "incident_priority" in preview.measures
    assert load(preview) == ["not known: there are no figures"]


@pytest.mark.parametrize(
    ("write", "share"), [(Restart("web"), 25), (Scale("web", 3), 25), (Stop("web"), 100), (Drain("node-a"), 25)]
)
def test_with_figures_there_is_a_share(write: PlatformWrite, share: int) -> None:
    preview = told(write, figures=KNOWN)
    assert preview.measures["capacity_share_pct"] == share
    assert load(preview) == []


@pytest.mark.parametrize("figures", UNKNOWN)
def test_what_takes_nothing_away_takes_nothing_away_without_figures_too(figures: Figures | None) -> None:
    # Else a change could not be taken back within half an hour, just when nobody sees how services do.
    assert told(Scale("web", 6), figures=figures).measures["capacity_share_pct"] == 0
    assert told(Uncordon("node-a"), cordoned=True, figures=figures).measures["capacity_share_pct"] == 0


def test_one_service_of_a_node_without_figures_is_enough() -> None:
    services: list[Service] = [make_service("web", figures=KNOWN, desired=4, ready=4), make_service("mailer")]
    node = Node("node-a", "east", False, (("mailer", 1), ("web", 1)), -1, 1)
    snapshot = Snapshot(NOW, node=node, on_node=tuple(services), nodes=3)
    preview = effect_of(snapshot, Drain("node-a")).preview
    assert "capacity_share_pct" not in preview.measures
    assert load(preview) == ["not known: there are no figures"]


@pytest.mark.parametrize(
    ("figures", "words", "share"),
    [
        (None, "nobody knows whether there is room for them", None),
        (Figures(**{**WELL, "disk_pm": -1}), "nobody knows whether there is room for them", 100),
        (Figures(**{**WELL, "disk_pm": 990}), "it stops serving", 100),
        (KNOWN, "turns their rotation off", 0),
    ],
)
def test_logs_are_restored_onto_a_disk_that_is_known_to_have_room(
    figures: Figures | None, words: str, share: int | None
) -> None:
    preview = told(RunBook("web", "restore_logs"), figures=figures, archived_pm=100)
    assert preview.effect.endswith(words)
    assert preview.measures.get("capacity_share_pct") == share
