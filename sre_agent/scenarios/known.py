"""The troubles that the role knows, on services of every tier, with people who approve what they are asked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentops.registry.scenario import Approves, Asked, Expected, Made, Scenario
from sre_agent.estate.company import trouble
from sre_agent.estate.values import Trouble
from sre_agent.scenarios.making import scenario
from sre_agent.scenarios.stage import stage

BEGINS = {Trouble.TRAFFIC_SPIKE: 40}
"""What is compared with the usual load needs some of it first."""
WRITES = {"roll_back": "RollBack", "scale_service": "Scale", "run_runbook": "RunBook", "drain_node": "Drain"}


def ended(tool: str, arguments: Mapping[str, Any], *, asks: bool = True, people: int = 1, **records: Any) -> Expected:
    """Return what is expected where one write ends the trouble."""
    return Expected(
        "resolved",
        made=(Made(tool, arguments),),
        asked=(Asked(tool, people, arguments),) if asks else (),
        records={"incident": "resolved", "writes": [WRITES[tool]], **records},
    )


def _known(kind: Trouble, on: str, call: tuple[str, Mapping[str, Any]], seed: int, *, asks: bool = True) -> Scenario:
    tool, arguments = call
    target = {"node" if kind is Trouble.NOISY_NEIGHBOUR else "service": on}
    expected = ended(tool, {**target, **arguments}, asks=asks)
    return scenario(
        f"{kind.replace('_', '-')}-on-{on}",
        f"{kind.replace('_', ' ').capitalize()} on {on}: {tool.replace('_', ' ')} ends it",
        stage=stage(trouble(kind, on, BEGINS.get(kind, 20), seed), seed=seed),
        replies=(Approves(tool=tool),) if asks else (),
        expected=expected,
    )


ROLL = ("roll_back", {"release": "1.9.0"})
ARCHIVE = ("run_runbook", {"runbook": "archive_logs"})
RENEW = ("run_runbook", {"runbook": "renew_certificate"})
SCALE: tuple[str, Mapping[str, Any]] = ("scale_service", {})
DRAIN: tuple[str, Mapping[str, Any]] = ("drain_node", {})
CASCADE = _known(Trouble.EXPIRED_CERTIFICATE, "ledger-db", RENEW, seed=3)

KNOWN = (
    _known(Trouble.BAD_DEPLOY, "payments", ROLL, seed=1),
    _known(Trouble.BAD_DEPLOY, "storefront", ROLL, seed=2),
    _known(Trouble.BAD_DEPLOY, "search", ROLL, seed=3),
    _known(Trouble.BAD_DEPLOY, "mailer", ROLL, seed=4),
    _known(Trouble.MEMORY_LEAK, "checkout", ROLL, seed=1),
    _known(Trouble.MEMORY_LEAK, "catalogue", ROLL, seed=2),
    _known(Trouble.MEMORY_LEAK, "recommendations", ROLL, seed=3),
    _known(Trouble.TRAFFIC_SPIKE, "checkout", SCALE, seed=1),
    _known(Trouble.TRAFFIC_SPIKE, "storefront", SCALE, seed=2),
    _known(Trouble.TRAFFIC_SPIKE, "search", SCALE, seed=3),
    _known(Trouble.FULL_DISK, "ledger-db", ARCHIVE, seed=1),
    _known(Trouble.FULL_DISK, "session-cache", ARCHIVE, seed=2),
    _known(Trouble.FULL_DISK, "mailer", ARCHIVE, seed=3, asks=False),
    _known(Trouble.EXPIRED_CERTIFICATE, "payments", RENEW, seed=1),
    _known(Trouble.EXPIRED_CERTIFICATE, "session-cache", RENEW, seed=2),
    _known(Trouble.EXPIRED_CERTIFICATE, "recommendations", RENEW, seed=3, asks=False),
    _known(Trouble.NOISY_NEIGHBOUR, "node-b", DRAIN, seed=1),
    _known(Trouble.NOISY_NEIGHBOUR, "node-d", DRAIN, seed=2),
    replace(
        CASCADE,
        name="alerts-of-three-services-with-one-cause",
        title="The ledger's certificate makes payments and checkout fail too: one change ends all three",
    ),
)
