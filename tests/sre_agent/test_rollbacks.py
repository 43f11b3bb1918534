"""Every write on the platform has one that takes it back; the estate is then as it would have been without either."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import Result
from sre_agent.connectors.book_rules import BOOKS, OPPOSITES
from sre_agent.connectors.port import (
    DeleteReplica,
    Drain,
    HaltRestart,
    PlatformWrite,
    Restart,
    RollBack,
    RunBook,
    Scale,
    Stop,
    Uncordon,
)
from sre_agent.estate.actions import Runbook
from sre_agent.estate.company import trouble
from sre_agent.estate.values import Estate, Trouble
from tests.factories.estates import PLATFORM, Site, make_site, refused

pytestmark = pytest.mark.django_db
FIRST, DONE, BACK, LATER = 20, 40, 60, 700


@dataclass(frozen=True)
class Rollback:
    """A write, what takes it back, and what stands before both. ``back`` None: what was deleted is replaced anyway."""

    write: PlatformWrite
    back: Callable[[Result], PlatformWrite] | None
    before: tuple[PlatformWrite, ...] = ()


ROLLBACKS: dict[str, Rollback] = {
    "restart": Rollback(Restart("storefront"), lambda _: HaltRestart("storefront")),
    "halt": Rollback(HaltRestart("storefront"), lambda _: Restart("storefront"), before=(Restart("storefront"),)),
    "more": Rollback(Scale("search", 6), lambda r: Scale("search", r["replicas_before"])),
    "fewer": Rollback(Scale("mailer", 1), lambda r: Scale("mailer", r["replicas_before"])),
    "stop": Rollback(Stop("mailer"), lambda r: Scale("mailer", r["replicas_before"])),
    "delete": Rollback(DeleteReplica("search", "search-0-0"), None),
    "roll_back": Rollback(RollBack("search", "1.8.0"), lambda r: RollBack("search", r["release_before"])),
    "drain": Rollback(Drain("node-b"), lambda _: Uncordon("node-b")),
    "uncordon": Rollback(Uncordon("node-b"), lambda _: Drain("node-b"), before=(Drain("node-b"),)),
    "archive_logs": Rollback(RunBook("search", "archive_logs"), lambda r: RunBook("search", OPPOSITES[r["runbook"]])),
    "restore_logs": Rollback(
        RunBook("search", "restore_logs"),
        lambda r: RunBook("search", OPPOSITES[r["runbook"]]),
        before=(RunBook("search", "archive_logs"),),
    ),
    "renew_certificate": Rollback(
        RunBook("search", "renew_certificate"), lambda r: RunBook("search", OPPOSITES[r["runbook"]])
    ),
    "reinstall_certificate": Rollback(
        RunBook("search", "reinstall_certificate"),
        lambda r: RunBook("search", OPPOSITES[r["runbook"]]),
        before=(RunBook("search", "renew_certificate"),),
    ),
}


def _wanted(estate: Estate) -> dict[str, Any]:
    """Return what is wanted of everything, and that it is so. A certificate that is new ends some minutes later."""
    services = {
        each.ref: (
            each.wanted.version,
            each.desired,
            len(each.ready(estate.tick)),
            each.is_rolling,
            (each.disk_mib, each.archived_mib, each.rotated),
            None if each.certificate_ends is None else each.certificate_ends // 1_000,
        )
        for each in estate.services.values()
    }
    nodes = {node.ref: (node.cordoned, node.drained) for node in estate.nodes.values()}
    return {**services, **nodes}


def _target(write: PlatformWrite) -> str:
    return f"node:{write.node_ref}" if isinstance(write, Drain | Uncordon) else f"service:{write.service_ref}"


def _begun(case: Rollback, slug: str) -> Site:
    site = make_site(slug=slug)
    for write in case.before:
        site.act(write, FIRST)
    return site


def test_every_write_has_a_rollback() -> None:
    assert {type(case.write) for case in ROLLBACKS.values()} == set(get_args(PlatformWrite))
    assert {case.write.book for case in ROLLBACKS.values() if isinstance(case.write, RunBook)} == set(Runbook)
    assert set(BOOKS) == set(OPPOSITES) == set(Runbook)


@pytest.mark.parametrize("name", ROLLBACKS)
def test_what_was_done_can_be_taken_back(name: str) -> None:
    case = ROLLBACKS[name]
    site, untouched = _begun(case, "estate"), _begun(case, "twin")
    unlike = _wanted(site.estate(DONE)), site.estate(DONE).services["storefront"].restart_at
    result = site.act(case.write, DONE)
    done = site.estate(DONE)

    assert (_wanted(done), done.services["storefront"].restart_at) != unlike
    if case.back is not None:
        # The rollback is bound to the version that the write left behind.
        back = case.back(result)
        site.act(back, BACK, expected_versions={_target(back): result["version"]})
    assert _wanted(site.estate(LATER)) == _wanted(untouched.estate(LATER))


@pytest.mark.parametrize("name", [name for name, case in ROLLBACKS.items() if case.back is not None])
def test_nothing_is_taken_back_that_somebody_else_has_changed_since(name: str) -> None:
    case = ROLLBACKS[name]
    site = _begun(case, "estate")
    assert case.back is not None
    back = case.back(site.act(case.write, DONE))
    context = site.at(BACK, "back", expected_versions={_target(back): 1})

    assert refused(lambda: PLATFORM.write(context, back)).kind is FailureKind.CONFLICT
    assert PLATFORM.outcome(context) is None


def test_a_restart_that_was_halted_leaves_the_rest_as_it_was() -> None:
    site = make_site()
    old = {replica.ref for replica in site.service("storefront", FIRST).replicas}
    result = site.act(Restart("storefront"), FIRST)
    site.act(HaltRestart("storefront"), 50, expected_versions={"service:storefront": result["version"]})
    after = site.service("storefront", LATER)

    kept = old & {replica.ref for replica in after.replicas}
    assert 0 < len(kept) < len(old)
    assert not after.rolling


def test_a_rollback_of_a_rollback_brings_the_flaw_back_with_the_release() -> None:
    site = make_site(trouble(Trouble.BAD_DEPLOY, "checkout", 5, 4))
    result = site.act(RollBack("checkout", "1.9.0"), 400)
    assert PLATFORM.verified(site.at(600), "service:checkout").sound
    site.act(RollBack("checkout", result["release_before"]), 600)

    verified = PLATFORM.verified(site.at(800), "service:checkout")
    assert (site.service("checkout", 800).release.version, verified.sound) == ("1.10.0", False)


def test_logs_that_were_restored_fill_the_disk_as_before() -> None:
    site = make_site(trouble(Trouble.FULL_DISK, "mailer", 2, 4))
    site.act(RunBook("mailer", "archive_logs"), 600)
    archived = site.service("mailer", 800).figures
    preview = PLATFORM.preview(site.at(800), RunBook("mailer", "restore_logs"))
    site.act(RunBook("mailer", "restore_logs"), 800)
    figures = site.service("mailer", 900).figures

    assert preview.measures["capacity_share_pct"] == 100
    assert preview.effect.endswith("turns their rotation off, and it stops serving")
    assert archived is not None
    assert figures is not None
    assert (archived.disk_pm, figures.disk_pm, figures.errors_pm >= 600) == (350, 1_000, True)


def test_a_certificate_that_has_ended_can_be_reinstalled_and_that_is_said() -> None:
    site = make_site(trouble(Trouble.EXPIRED_CERTIFICATE, "payments", 5, 4))
    site.act(RunBook("payments", "renew_certificate"), 400)
    assert PLATFORM.verified(site.at(500), "service:payments").sound
    preview = PLATFORM.preview(site.at(500), RunBook("payments", "reinstall_certificate"))

    assert preview.measures["capacity_share_pct"] == 100
    assert [(change.label, change.after) for change in preview.changes] == [("Certificate ends", "2026-03-02")]
