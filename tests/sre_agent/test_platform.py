"""Writes on the embedded platform: what a dry run says is what is done, once, and only to what was decided on."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import Command
from agentops.registry.tool import CallContext, ToolFailure
from agentops.tenancy.models import Tenant
from sre_agent.connectors.blast import require_room
from sre_agent.connectors.embedded import EmbeddedPlatform
from sre_agent.connectors.moving import found_estate, to_present
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
from sre_agent.connectors.records import Service
from sre_agent.estate.company import company, trouble
from sre_agent.estate.values import Estate, Trouble
from sre_agent.models import Operation

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PLATFORM = EmbeddedPlatform()


@pytest.fixture
def tenant() -> Tenant:
    tenant = Tenant.objects.create(slug="estate", name="Estate")
    found_estate(tenant_id=tenant.pk, estate=company(4, trouble(Trouble.BAD_DEPLOY, "checkout", 5, 4)), now=NOW)
    return tenant


@pytest.fixture
def at(tenant: Tenant) -> Callable[..., CallContext]:
    """Returns a call's context at so many seconds after the estate began."""

    def context(seconds: int, key: str = "", **more: Any) -> CallContext:
        now = NOW + timedelta(seconds=seconds)
        return CallContext(tenant.pk, uuid.uuid4(), "INC-1", None, now, idempotency_key=key, **more)

    return context


def _estate(tenant: Tenant, seconds: int) -> Estate:
    with transaction.atomic():
        return to_present(tenant.pk, NOW + timedelta(seconds=seconds))


def _service(context: CallContext, ref: str) -> Service:
    return next(service for service in PLATFORM.services(context) if service.ref == ref)


def _refused(act: Callable[[], object]) -> ToolFailure:
    with pytest.raises(ToolFailure) as refused:
        act()
    return refused.value


def test_a_rollback_shows_the_exact_command_and_what_hangs_on_it(at: Callable[..., CallContext]) -> None:
    preview = PLATFORM.preview(at(400), RollBack("checkout", "1.9.0"))

    commands = [part for part in preview.parts if isinstance(part, Command)]
    assert preview.effect == "Roll checkout back from 1.10.0 to 1.9.0"
    assert commands[0].argv == (
        "kubectl", "-n", "shop", "rollout", "undo", "deployment/checkout", "--to-revision=2",
    )  # fmt: skip
    assert commands[1].api == "PATCH /apis/apps/v1/namespaces/shop/deployments/checkout"
    assert preview.versions == {"service:checkout": 2}
    # A quarter of a service of tier P0 is away at a time.
    assert preview.measures == {
        "capacity_share_pct": 25, "incident_priority": 0, "minutes_since_disruption": 1_000_000, "change_freeze": 0,
    }  # fmt: skip
    blast = next(part for part in preview.parts if part.kind == "fields").as_json()
    assert blast["lines"] == [
        ["Touches", "", "checkout (P0)"],
        ["Capacity away meanwhile", "", "25 %"],
        ["Depend on it", "", "nothing"],
    ]


def test_a_rollback_ends_what_a_bad_deploy_began(tenant: Tenant, at: Callable[..., CallContext]) -> None:
    result = PLATFORM.write(at(400, "k1"), RollBack("checkout", "1.9.0"))

    assert result == {
        "service": "checkout", "ready_wanted": 4, "release_before": "1.10.0", "verify_after_s": 130, "version": 3,
    }  # fmt: skip
    assert PLATFORM.verified(at(400 + 130), "service:checkout").sound
    assert _service(at(530), "checkout").release.version == "1.9.0"


def test_a_restart_can_be_stopped_halfway(tenant: Tenant, at: Callable[..., CallContext]) -> None:
    old = {replica.name for replica in _estate(tenant, 20).services["storefront"].replicas}
    PLATFORM.write(at(20, "restart"), Restart("storefront"))
    PLATFORM.write(at(50, "halt"), HaltRestart("storefront"))
    after = _estate(tenant, 300).services["storefront"]

    kept = old & {replica.name for replica in after.replicas}
    assert 0 < len(kept) < len(old)
    assert not after.is_rolling
    assert _refused(lambda: PLATFORM.preview(at(300), HaltRestart("storefront"))).kind is FailureKind.CONFLICT


def test_one_key_has_its_effect_once(tenant: Tenant, at: Callable[..., CallContext]) -> None:
    first = PLATFORM.write(at(20, "k1"), Scale("search", 6))
    again = PLATFORM.write(at(90, "k1"), Scale("search", 6))

    assert again == first == PLATFORM.outcome(at(90, "k1"))
    assert Operation.objects.filter(tenant=tenant).count() == 1
    assert _estate(tenant, 100).services["search"].generation == 2
    assert _refused(lambda: PLATFORM.write(at(90, "k1"), Scale("search", 7))).kind is FailureKind.CONFLICT
    assert PLATFORM.outcome(at(90, "k2")) is None


def test_what_has_changed_since_is_not_touched(tenant: Tenant, at: Callable[..., CallContext]) -> None:
    seen = PLATFORM.preview(at(20), Scale("search", 6)).versions
    PLATFORM.write(at(30, "other"), Scale("search", 4))

    failure = _refused(lambda: PLATFORM.write(at(40, "mine", expected_versions=seen), Scale("search", 6)))
    assert failure.kind is FailureKind.CONFLICT
    assert PLATFORM.outcome(at(40, "mine")) is None


@pytest.mark.parametrize(
    ("write", "kind", "field"),
    [
        (Restart("nothing"), FailureKind.NOT_FOUND, "service"),
        (Drain("node-z"), FailureKind.NOT_FOUND, "node"),
        (Uncordon("node-a"), FailureKind.CONFLICT, "node"),
        (Scale("search", 3), FailureKind.CONFLICT, "replicas"),
        (Scale("search", 51), FailureKind.VALIDATION, "replicas"),
        (Scale("search", -1), FailureKind.VALIDATION, "replicas"),
        (Scale("search", 0), FailureKind.VALIDATION, "replicas"),
        (Stop("nothing"), FailureKind.NOT_FOUND, "service"),
        (DeleteReplica("search", "checkout-0-0"), FailureKind.NOT_FOUND, "replica"),
        # Two replicas of three cannot carry its load, one can carry none of it.
        (Scale("search", 1), FailureKind.CONFLICT, None),
        (RollBack("search", "1.9.0"), FailureKind.CONFLICT, "release"),
        (RollBack("search", "3.0.0"), FailureKind.CONFLICT, "release"),
        (HaltRestart("search"), FailureKind.CONFLICT, "service"),
        (RunBook("search", "restore_logs"), FailureKind.CONFLICT, "runbook"),
        (RunBook("search", "reinstall_certificate"), FailureKind.CONFLICT, "runbook"),
        (RunBook("search", "rm -rf /"), FailureKind.VALIDATION, "runbook"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anybody_is_asked(
    at: Callable[..., CallContext], write: PlatformWrite, kind: FailureKind, field: str | None
) -> None:
    asked = _refused(lambda: PLATFORM.preview(at(30), write))
    done = _refused(lambda: PLATFORM.write(at(30, "k"), write))

    assert (asked.kind, asked.field) == (done.kind, done.field) == (kind, field)
    assert not Operation.objects.exists()


def test_stopping_takes_all_of_the_capacity(at: Callable[..., CallContext]) -> None:
    preview = PLATFORM.preview(at(30), Stop("mailer"))
    PLATFORM.write(at(30, "stop"), Stop("mailer"))

    assert preview.measures["capacity_share_pct"] == 100
    assert preview.effect == "Stop mailer: none of its 2 replicas runs any more"
    assert _service(at(60), "mailer").ready == 0
    assert PLATFORM.verified(at(120), "service:mailer").sound
    assert _refused(lambda: PLATFORM.preview(at(120), Stop("mailer"))).kind is FailureKind.CONFLICT
    assert _refused(lambda: PLATFORM.preview(at(120), Restart("mailer"))).kind is FailureKind.CONFLICT


def test_another_replica_takes_the_place_of_one_that_was_deleted(at: Callable[..., CallContext]) -> None:
    before = _service(at(30), "search").replicas
    PLATFORM.write(at(30, "delete"), DeleteReplica("search", before[0].ref))
    after = _service(at(120), "search")

    assert {replica.ref for replica in before} - {replica.ref for replica in after.replicas} == {before[0].ref}
    assert (after.ready, after.rolling) == (3, False)


def test_a_dry_run_is_the_same_until_something_changes(tenant: Tenant, at: Callable[..., CallContext]) -> None:
    PLATFORM.write(at(20, "restart"), Restart("search"))
    PLATFORM.write(at(20, "renew"), RunBook("payments", "renew_certificate"))
    PLATFORM.write(at(20, "archive"), RunBook("payments", "archive_logs"))
    for write in (
        Restart("search"), RollBack("checkout", "1.9.0"), Scale("search", 6), Stop("search"), Drain("node-a"),
        RunBook("mailer", "renew_certificate"), RunBook("payments", "reinstall_certificate"),
        RunBook("payments", "restore_logs"), RunBook("mailer", "archive_logs"),
    ):  # fmt: skip
        assert PLATFORM.preview(at(200), write).as_json() == PLATFORM.preview(at(790), write).as_json()


def test_a_service_without_room_is_not_restarted(at: Callable[..., CallContext]) -> None:
    service = _service(at(30), "search")
    assert service.figures is not None
    busy = replace(service, figures=replace(service.figures, processor_pm=800))

    assert "Scale it up first" in str(_refused(lambda: require_room(busy, 333)))
    require_room(replace(service, figures=replace(service.figures, processor_pm=1000)), 333)


def test_a_tenant_without_an_estate_has_nothing_to_restart(at: Callable[..., CallContext]) -> None:
    other = Tenant.objects.create(slug="other", name="Other")
    context = replace(at(0), tenant_id=other.pk)

    assert _refused(lambda: PLATFORM.services(context)).kind is FailureKind.NOT_FOUND
