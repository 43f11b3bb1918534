"""The simulated estate: each trouble hurts, its cure helps, what is no cure does not, and a replay is equal."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sre_agent.estate import actions
from sre_agent.estate.actions import Refused, Runbook
from sre_agent.estate.alerting import firing
from sre_agent.estate.company import NODES, company, trouble
from sre_agent.estate.load import healths, in_order, together
from sre_agent.estate.running import AT_ONCE_PM
from sre_agent.estate.stepping import Moment, harm_of, run, step
from sre_agent.estate.values import Estate, Level, Sample, Service, Trouble

BEGINS, NOTICED, LONG = 10, 40, 360
Cure = Callable[[Estate, str], Estate]

PLACES = {
    Trouble.BAD_DEPLOY: "checkout",
    Trouble.MEMORY_LEAK: "catalogue",
    Trouble.TRAFFIC_SPIKE: "storefront",
    Trouble.FULL_DISK: "ledger-db",
    Trouble.EXPIRED_CERTIFICATE: "payments",
    Trouble.NOISY_NEIGHBOUR: "node-a",
}
seeds = st.integers(0, 10_000)


def _generation(estate: Estate, ref: str) -> int:
    return estate.services[ref].generation


def _back(estate: Estate, ref: str) -> Estate:
    return actions.roll_back(estate, ref, _generation(estate, ref), "1.9.0")


def _roll_further_back(estate: Estate, ref: str) -> Estate:
    return actions.roll_back(estate, ref, _generation(estate, ref), "1.8.0")


def _restart(estate: Estate, ref: str) -> Estate:
    return actions.restart(estate, ref, _generation(estate, ref))


def _grow(estate: Estate, ref: str) -> Estate:
    return actions.scale(estate, ref, _generation(estate, ref), 3 * estate.services[ref].desired)


def _archive(estate: Estate, ref: str) -> Estate:
    return actions.run_book(estate, ref, _generation(estate, ref), Runbook.ARCHIVE_LOGS)


def _renew(estate: Estate, ref: str) -> Estate:
    return actions.run_book(estate, ref, _generation(estate, ref), Runbook.RENEW_CERTIFICATE)


def _drain(estate: Estate, ref: str) -> Estate:
    return actions.drain(estate, ref, estate.nodes[ref].generation)


CURES: dict[Trouble, Cure] = {
    Trouble.BAD_DEPLOY: _back,
    Trouble.MEMORY_LEAK: _back,
    Trouble.TRAFFIC_SPIKE: _grow,
    Trouble.FULL_DISK: _archive,
    Trouble.EXPIRED_CERTIFICATE: _renew,
    Trouble.NOISY_NEIGHBOUR: _drain,
}


def _begun(kind: Trouble, seed: int, ticks: int = NOTICED) -> Estate:
    """Return the estate some minutes after the trouble began."""
    estate = company(seed, trouble(kind, PLACES[kind], BEGINS, seed))
    return run(estate, ticks)[-1].estate


def _samples(moments: list[Moment], ref: str) -> list[Sample]:
    return [sample for moment in moments for sample in moment.samples if sample.service == ref]


def test_a_quiet_day_is_quiet() -> None:
    moments = run(company(7), LONG)

    assert moments[-1].estate.harm == 0
    assert not [line for moment in moments for line in moment.lines if line.level is not Level.INFO]
    assert not any(firing(_samples(moments, ref)) for ref in moments[-1].estate.services)


@settings(max_examples=12)
@given(seeds, st.sampled_from(Trouble))
def test_the_same_seed_is_the_same_story(seed: int, kind: Trouble) -> None:
    estate = company(seed, trouble(kind, PLACES[kind], BEGINS, seed))

    whole = run(estate, 30)
    halves = run(estate, 17)
    halves += run(halves[-1].estate, 13)

    assert whole == halves


@pytest.mark.parametrize("seed", [0, 335, 9_001])
@pytest.mark.parametrize("kind", Trouble)
def test_every_trouble_hurts_and_its_cure_helps(kind: Trouble, seed: int) -> None:
    # A leak and a disk that fills are noticed by a warning, long before anything fails.
    estate = _begun(kind, seed)
    on = PLACES[kind]
    nothing, cured = harm_of(estate, LONG), harm_of(CURES[kind](estate, on), LONG)

    assert nothing > estate.harm
    assert cured - estate.harm < (nothing - estate.harm) / 2


@pytest.mark.parametrize("kind", Trouble)
def test_every_trouble_raises_an_alert_where_it_is(kind: Trouble) -> None:
    moments = run(company(3, trouble(kind, PLACES[kind], BEGINS, 3)), LONG)
    on = PLACES[kind]
    about = [on] if kind is not Trouble.NOISY_NEIGHBOUR else sorted(moments[-1].estate.services)

    alerts = {
        alert.rule.name for ref in about for end in range(12, LONG, 6) for alert in firing(_samples(moments[:end], ref))
    }

    assert (
        alerts
        & {
            Trouble.BAD_DEPLOY: {"ErrorsHigh"},
            Trouble.MEMORY_LEAK: {"MemoryHigh"},
            Trouble.TRAFFIC_SPIKE: {"ProcessorHigh"},
            Trouble.FULL_DISK: {"DiskHigh"},
            Trouble.EXPIRED_CERTIFICATE: {"ErrorsHigh"},
            Trouble.NOISY_NEIGHBOUR: {"ProcessorHigh"},
        }[kind]
    )


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Trouble.BAD_DEPLOY, _restart),
        (Trouble.BAD_DEPLOY, _grow),
        (Trouble.EXPIRED_CERTIFICATE, _restart),
        (Trouble.EXPIRED_CERTIFICATE, _grow),
        (Trouble.TRAFFIC_SPIKE, _restart),
    ],
)
def test_what_is_no_cure_does_not_help(kind: Trouble, wrong: Cure) -> None:
    estate = _begun(kind, 5)
    nothing = harm_of(estate, 120) - estate.harm

    assert harm_of(wrong(estate, PLACES[kind]), 120) - estate.harm >= nothing * 95 // 100


def test_a_restart_only_postpones_a_leak() -> None:
    estate = _begun(Trouble.MEMORY_LEAK, 5, 90)
    restarted = run(_restart(estate, "catalogue"), 400)
    memory = [sample.memory_pm for sample in _samples(restarted, "catalogue")]

    assert min(memory) < 600
    assert max(memory[100:]) > 900


def test_a_trouble_is_felt_by_whoever_depends_on_it() -> None:
    estate = _begun(Trouble.EXPIRED_CERTIFICATE, 2)
    seen = healths(estate)

    assert estate.dependants("payments") == ("checkout",)
    assert seen["checkout"].sample.errors_pm > 500
    assert seen["storefront"].sample.errors_pm <= 1
    assert estate.dependants("ledger-db") == ("checkout", "payments")


@settings(max_examples=12)
@given(seeds, st.sampled_from((_restart, _roll_further_back)))
def test_a_rollout_takes_few_replicas_at_a_time(seed: int, change: Cure) -> None:
    estate = change(run(company(seed), 5)[-1].estate, "checkout")
    for moment in run(estate, 40):
        service = moment.estate.services["checkout"]
        away = service.desired - len(service.ready(moment.estate.tick))
        assert away <= max(1, service.desired * AT_ONCE_PM // 1000)
        assert len(service.replicas) == service.desired
        assert len({replica.name for replica in service.replicas}) == service.desired
    assert service.is_settled(moment.estate.tick)


def test_a_drained_node_is_empty_and_can_be_used_again() -> None:
    estate = run(_drain(run(company(1), 3)[-1].estate, "node-b"), 60)[-1].estate
    nodes = [replica.node for service in estate.services.values() for replica in service.replicas]

    assert "node-b" not in nodes
    assert all(service.is_settled(estate.tick) for service in estate.services.values())

    again = actions.uncordon(estate, "node-b", estate.nodes["node-b"].generation)
    grown = run(_grow(again, "mailer"), 5)[-1].estate
    assert "node-b" in {replica.node for replica in grown.services["mailer"].replicas}


def test_the_last_node_is_not_drained() -> None:
    estate = company(1)
    for ref in NODES[:-1]:
        estate = _drain(estate, ref)

    with pytest.raises(Refused, match="no other node") as refused:
        _drain(estate, NODES[-1])
    assert refused.value.why == "impossible"


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda e: actions.restart(e, "nothing", 1), "unknown"),
        (lambda e: actions.restart(e, "checkout", 9), "changed"),
        (lambda e: actions.scale(e, "checkout", 1, 4), "impossible"),
        (lambda e: actions.scale(e, "checkout", 1, 51), "impossible"),
        (lambda e: actions.scale(e, "checkout", 1, 0), "impossible"),
        (lambda e: actions.scale(e, "checkout", 1, -1), "impossible"),
        (lambda e: actions.stop(actions.stop(e, "checkout", 1), "checkout", 2), "impossible"),
        (lambda e: actions.delete_replica(e, "checkout", 1, "checkout-9"), "unknown"),
        (
            lambda e: actions.delete_replica(actions.scale(e, "checkout", 1, 6), "checkout", 2, "checkout-0-0"),
            "rolling",
        ),
        (lambda e: actions.halt_restart(actions.scale(e, "checkout", 1, 6), "checkout", 2), "impossible"),
        (lambda e: actions.run_book(e, "checkout", 1, Runbook.RESTORE_LOGS), "impossible"),
        (lambda e: actions.run_book(e, "checkout", 1, Runbook.REINSTALL_CERTIFICATE), "impossible"),
        (lambda e: actions.roll_back(e, "checkout", 1, "1.9.0"), "impossible"),
        (lambda e: actions.roll_back(e, "checkout", 1, "0.1.0"), "unknown"),
        (lambda e: actions.drain(e, "node-z", 1), "unknown"),
        (lambda e: actions.drain(e, "node-a", 2), "changed"),
        (lambda e: actions.uncordon(e, "node-a", 1), "impossible"),
        (lambda e: actions.run_book(e, "checkout", 2, Runbook.ARCHIVE_LOGS), "changed"),
    ],
)
def test_what_is_not_possible_is_refused(act: Callable[[Estate], Estate], why: str) -> None:
    with pytest.raises(Refused) as refused:
        act(company(1))
    assert refused.value.why == why


def test_a_restart_waits_for_the_rollout_under_way() -> None:
    estate = step(_restart(company(1), "checkout")).estate

    with pytest.raises(Refused) as refused:
        _restart(estate, "checkout")
    assert refused.value.why == "rolling"
    # A rollback does not wait: it is what ends a bad rollout.
    back = actions.roll_back(estate, "checkout", _generation(estate, "checkout"), "1.8.0")
    assert back.services["checkout"].wanted.version == "1.8.0"


def test_whoever_acts_first_has_changed_what_the_other_decided_on() -> None:
    estate = company(1)
    seen = _generation(estate, "checkout")

    with pytest.raises(Refused) as refused:
        actions.roll_back(actions.scale(estate, "checkout", seen, 6), "checkout", seen, "1.8.0")
    assert refused.value.why == "changed"


def test_services_are_looked_at_behind_what_they_depend_on() -> None:
    estate = company(1)
    order = in_order(estate)
    assert all(order.index(need) < order.index(s.ref) for s in estate.services.values() for need in s.depends_on)

    def needing(ref: str, other: str) -> Service:
        return replace(estate.services[ref], depends_on=(other,))

    circle = estate.with_service(needing("mailer", "search")).with_service(needing("search", "mailer"))
    with pytest.raises(ValueError, match="circle"):
        in_order(circle)


@given(st.lists(st.integers(0, 1000), max_size=6))
def test_causes_together_are_no_less_than_the_worst_and_no_more_than_all(shares: list[int]) -> None:
    assert max(shares, default=0) <= together(shares) <= min(sum(shares) + len(shares), 1000)
