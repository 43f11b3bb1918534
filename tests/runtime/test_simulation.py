"""The simulation over fixed seeds, or over one: ``SIMULATION_SEED=17 pytest tests/runtime/test_simulation.py``."""

import os
from collections import Counter

import pytest

from agentops.runtime.states import IllegalTransition
from tests.runtime.simulated_world import Violation
from tests.runtime.simulation import Simulation

SEEDS = [int(os.environ["SIMULATION_SEED"])] if "SIMULATION_SEED" in os.environ else range(60)
MUST_BE_REACHED = {
    "worker: killed",
    "worker: stopped and continued",
    "worker: stale",
    "worker: interrupted",
    "operator: frozen or lifted",
    "operator: question closed",
    "vendor: time-out after",
    "vendor: half of it",
    "vendor: still on its way",
    "vendor: does not answer",
    "call.retried",
    "call.reconciled",
    "approval.voided",
    "session.frozen",
    "session.paused",
    "session.taken_over",
    "session.handed_back",
    "person.proposed",
    "budget.warned",
    "end: finished",
    "end: CANCELLED",
    "end: BUDGET_STEPS",
    "end: MODEL_MALFORMED",
    "end: OUTCOME_UNKNOWN",
    "end: LOOP_REFUSED",
    "end: LOOP_REPEATED",
    "end: LOOP_SAME_OUTPUT",
    "end: NO_PROGRESS",
    "end: WORKER_LOST",
    "end: paused for a person",
    "end: waiting_approval for a person",
}


def reached_with(seed: int) -> Counter[str]:
    try:
        return Simulation(seed).run()
    except (Violation, IllegalTransition) as error:
        pytest.fail(f"SIMULATION_SEED={seed}: {type(error).__name__}: {error}")


def test_nothing_is_lost_or_done_twice_whatever_happens() -> None:
    reached: Counter[str] = Counter()
    for seed in SEEDS:
        reached += reached_with(seed)
    if "SIMULATION_SEED" not in os.environ:
        assert sorted(MUST_BE_REACHED - set(reached)) == []


def test_seed_gives_the_same_run_again() -> None:
    first, second = Simulation(SEEDS[0]), Simulation(SEEDS[0])
    assert first.run() == second.run()
    assert [row.events for row in first.store.sessions.values()] == [
        row.events for row in second.store.sessions.values()
    ]


def test_workers_that_believe_a_vendor_which_does_not_know_yet_are_found_out() -> None:
    """The simulation is able to fail: a call that is still on its way is taken for one that had no effect."""
    with pytest.raises(Violation, match="took effect, and the ledger says"):
        _run_many(60, trusts_absence=True)


def _run_many(seeds: int, *, trusts_absence: bool) -> None:
    for seed in range(seeds):
        Simulation(seed, trusts_absence=trusts_absence).run()
