"""In the simulated estate the playbook ends what it knows, and never leaves things worse than if nobody had come."""

import pytest

from sre_agent.estate.company import company, trouble
from sre_agent.estate.stepping import step
from sre_agent.estate.values import Estate, Happening, Trouble
from tests.sre_agent.simulator import ACTS, World, approves, rejects

AFTER_TICKS = 60
"""So long the estate is followed after the alert: ten minutes."""

KNOWN = (
    (Trouble.BAD_DEPLOY, "ledger-db", 1, "roll_back"),
    (Trouble.BAD_DEPLOY, "payments", 2, "roll_back"),
    (Trouble.BAD_DEPLOY, "mailer", 4, "roll_back"),
    (Trouble.MEMORY_LEAK, "catalogue", 1, "roll_back"),
    (Trouble.MEMORY_LEAK, "checkout", 2, "roll_back"),
    (Trouble.MEMORY_LEAK, "recommendations", 3, "roll_back"),
    (Trouble.TRAFFIC_SPIKE, "ledger-db", 1, "scale_service"),
    (Trouble.TRAFFIC_SPIKE, "storefront", 2, "scale_service"),
    (Trouble.FULL_DISK, "payments", 2, "run_runbook"),
    (Trouble.FULL_DISK, "mailer", 3, "run_runbook"),
    (Trouble.EXPIRED_CERTIFICATE, "ledger-db", 1, "run_runbook"),
    (Trouble.EXPIRED_CERTIFICATE, "recommendations", 3, "run_runbook"),
    (Trouble.NOISY_NEIGHBOUR, "node-a", 1, "drain_node"),
    (Trouble.NOISY_NEIGHBOUR, "node-c", 2, "drain_node"),
)

TWO = (
    # At once, one behind the other, on one service, and while people decide about the first.
    ((Trouble.BAD_DEPLOY, "checkout", 23), (Trouble.EXPIRED_CERTIFICATE, "payments", 15)),
    ((Trouble.FULL_DISK, "payments", 22), (Trouble.FULL_DISK, "session-cache", 18)),
    ((Trouble.EXPIRED_CERTIFICATE, "payments", 20), (Trouble.BAD_DEPLOY, "payments", 18)),
    ((Trouble.TRAFFIC_SPIKE, "search", 22), (Trouble.NOISY_NEIGHBOUR, "node-b", 20)),
    ((Trouble.NOISY_NEIGHBOUR, "node-d", 20), (Trouble.NOISY_NEIGHBOUR, "node-a", 26)),
    ((Trouble.BAD_DEPLOY, "payments", 20), (Trouble.EXPIRED_CERTIFICATE, "ledger-db", 27)),
    ((Trouble.BAD_DEPLOY, "payments", 20), (Trouble.TRAFFIC_SPIKE, "payments", 22)),
)


def test_known_troubles_are_ended_with_one_change_and_less_harm() -> None:
    for kind, on, seed, tool in KNOWN:
        world = World(company(seed, trouble(kind, on, 18, seed)), approves)
        nobody = _worked(world)
        told = (kind, on, world.status, [call.tool for call in world.acted])
        assert told == (kind, on, "resolved", [tool])
        assert world.estate.harm <= nobody.harm, told


@pytest.mark.parametrize("kind", list(Trouble))
def test_rejected_by_people_is_the_same_as_nobody(kind: Trouble) -> None:
    on = "node-b" if kind is Trouble.NOISY_NEIGHBOUR else "payments"
    world = World(company(7, trouble(kind, on, 18, 7)), rejects)
    nobody = _worked(world, 30)
    asked = [tool for tool in world.tools if tool in ACTS]
    assert (len(asked), world.acted, world.status) == (1, [], "escalated")
    assert world.estate == nobody


def test_two_troubles_are_never_made_worse() -> None:
    for seed, (one, other) in enumerate(TWO):
        world = World(company(seed, *(trouble(*each, seed) for each in (one, other))), approves)
        nobody = _worked(world)
        assert world.estate.harm <= nobody.harm, (one, other, [call.tool for call in world.acted])


def test_quiet_estate_is_left_alone() -> None:
    for seed in range(2):
        world = World(company(seed))
        assert not world.until_alert(20)
        world.open()
        world.work()
        assert (world.acted, world.status, world.paged) == ([], "resolved", 0)
        assert [tool for tool in world.tools if tool in ACTS] == []


def test_what_helps_no_more_is_left_alone() -> None:
    passed = Happening(Trouble.TRAFFIC_SPIKE, "search", 5, amount=2_000, until=14)
    world = World(company(1, passed))
    assert world.until_alert(30)
    world.move(10)
    world.work()
    assert (world.acted, world.status) == ([], "resolved")


def _worked(world: World, after: int = AFTER_TICKS) -> Estate:
    """Let the alert fire, the playbook work and time pass; return the same estate to which nobody came."""
    assert world.until_alert(200)
    began, nobody = world.estate.tick, world.estate
    world.work()
    world.move(max(0, after - (world.estate.tick - began)))
    while nobody.tick < world.estate.tick:
        nobody = step(nobody).estate
    return nobody
