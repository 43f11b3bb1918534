"""How services at a cluster do is the observatory's to tell: with whose credential, and what is refused without it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from agentops.gateway.models import SecretConsent
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.registry.secret import SecretOver
from agentops.registry.tool import CallContext, ToolFailure
from agentops.tenancy.models import Tenant
from sre_agent import connectors
from sre_agent.connectors.kubernetes import KubernetesPlatform
from sre_agent.connectors.kubernetes.reading import figures_from
from sre_agent.connectors.moving import found_estate, look
from sre_agent.connectors.port import Restart, Scale
from sre_agent.connectors.records import Figures
from sre_agent.estate.company import company
from tests.factories.estates import refused
from tests.factories.fake_kubernetes import TOKEN, FakeKubernetes
from tests.factories.hooks import put_secrets
from tests.factories.observatory import WELL, FakeObservatory
from tests.factories.sre import NOW
from tests.sre_agent.kubernetes.conftest import later
from tests.sre_agent.kubernetes.test_kubernetes_reading import service

At = Callable[..., CallContext]
KEYS = '{"access_key_id": "AKIAIOSFODNN7EXAMPLE", "secret_access_key": "what-opens-the-figures"}'
LATE = ToolFailure(FailureKind.TIMEOUT, "CloudWatch did not answer in time.")


@pytest.fixture
def chosen(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeObservatory]:
    """The observatory that the settings name, which is what the platform of the settings asks."""
    settings.SRE_PLATFORM, settings.SRE_OBSERVATORY = "kubernetes", "cloudwatch"
    made = FakeObservatory()
    monkeypatch.setattr(connectors, "import_string", lambda path: _class_of(path, made))
    _forget()
    yield made
    _forget()


def _class_of(path: str, made: FakeObservatory) -> Callable[..., object]:
    return KubernetesPlatform if path.endswith("KubernetesPlatform") else lambda: made


def _forget() -> None:
    connectors._made.cache_clear()
    connectors._observed.cache_clear()


def allow(patch: pytest.MonkeyPatch, tenant_id: object, capability: str) -> None:
    tenant = Tenant.objects.get(pk=tenant_id)
    put_secrets(patch, tenant, cloudwatch_api=KEYS)
    SecretConsent.objects.create(
        tenant=tenant, capability=capability, environment="sandbox", given_by="user:root", given_at=utcnow()
    )


def test_the_platform_of_the_settings_asks_with_the_observatorys_own_credential(
    chosen: FakeObservatory, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = at()
    allow(monkeypatch, context.tenant_id, connectors.CLOUDWATCH_KEY)
    services = connectors.platform().services(context)

    assert {each.ref: each.figures for each in services} == dict.fromkeys(("checkout", "search"), Figures(**WELL))
    assert sorted(chosen.asked) == [("checkout", KEYS), ("search", KEYS)]
    assert context.secret is not None
    assert context.secret.reveal() == TOKEN
    assert not [call for call in fake.asked if "AKIA" in call]


def test_the_credential_is_taken_back_after_each_request(
    chosen: FakeObservatory, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[CallContext] = []
    monkeypatch.setattr(chosen, "metrics", lambda context, *_, **__: kept.append(context) or ())
    context = at()
    allow(monkeypatch, context.tenant_id, connectors.CLOUDWATCH_KEY)
    connectors.platform().services(context)

    assert len(kept) == 2
    for each in kept:
        assert each.secret is not None
        with pytest.raises(SecretOver):
            each.secret.reveal()


def test_without_consent_figures_are_unknown_a_write_is_refused_and_nobody_is_asked(
    chosen: FakeObservatory, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, at().tenant_id, connectors.KUBERNETES_KEY)

    assert [each.figures for each in connectors.platform().services(at())] == [None, None]
    failure = refused(lambda: connectors.platform().write(at("k1"), Restart("checkout")))
    assert (failure.kind, connectors.CLOUDWATCH_KEY in failure.message) == (FailureKind.AUTH, True)
    assert (chosen.asked, fake.cluster.effects()) == ([], [])
    assert connectors.platform().outcome(at("k1")) is None


def test_figures_of_the_embedded_estate_are_no_figures_of_a_cluster(
    chosen: FakeObservatory, settings: Any, at: At
) -> None:
    settings.SRE_OBSERVATORY = "embedded"
    tenant = at().tenant_id
    found_estate(tenant_id=tenant, estate=company(4), now=NOW)
    look(tenant, later(60))

    assert [each.figures for each in connectors.platform().services(at(now=later(60)))] == [None, None]


def test_an_observatory_that_does_not_answer_is_waited_for_once_by_a_look_and_stops_a_write(
    at: At, fake: FakeKubernetes
) -> None:
    silent = FakeObservatory(failure=LATE)
    platform = KubernetesPlatform(silent)

    assert [each.figures for each in platform.services(at())] == [None, None]
    assert len(silent.asked) == 1
    assert refused(lambda: platform.write(at("k1"), Restart("checkout"))) is LATE
    assert fake.cluster.effects() == []


def test_a_service_that_the_observatory_does_not_know_hides_no_other(at: At, fake: FakeKubernetes) -> None:
    fake.cluster.service("mailer", 2, "1.0.0", tier="P3")
    platform = KubernetesPlatform(FakeObservatory(usual=None, told={"mailer": [WELL]}))

    figures = {each.ref: each.figures for each in platform.services(at())}
    assert figures == {"checkout": None, "search": None, "mailer": Figures(**WELL)}


@pytest.mark.parametrize(
    ("latencies", "median"),
    [((100, 300, 200), 200), ((100,), 100), ((-1, 100, 300), 200), ((-1, -1, 90), 90), ((-1, -1, -1), -1)],
)
def test_figures_are_the_medians_of_what_is_known(latencies: tuple[int, ...], median: int) -> None:
    found = figures_from([{**WELL, "latency_ms": each} for each in latencies])
    assert found == Figures(**{**WELL, "latency_ms": median})
    assert figures_from([]) is None


def test_only_the_latest_minutes_count(at: At, fake: FakeKubernetes) -> None:
    minutes = [{**WELL, "errors_pm": each} for each in (900, 900, 10, 30, 20)]
    assert service(KubernetesPlatform(FakeObservatory(told={"checkout": minutes})), at()).figures == Figures(
        **{**WELL, "errors_pm": 20}
    )


def test_what_is_left_has_to_carry_the_load(at: At, fake: FakeKubernetes) -> None:
    busy = KubernetesPlatform(FakeObservatory({**WELL, "processor_pm": 900}))
    failure = refused(lambda: busy.write(at("k1"), Restart("checkout")))
    assert (failure.kind, "90 % of its capacity" in failure.message) == (FailureKind.CONFLICT, True)
    assert fake.cluster.effects() == []

    busy.write(at("k2"), Scale("checkout", 8))
    assert fake.cluster.deployment("checkout")["spec"]["replicas"] == 8


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        ({}, ""),
        ({"errors_pm": 400}, "40 % of requests of checkout fail, more than 5 %."),
        ({"latency_ms": 9_000}, "Requests of checkout take 9000 ms, more than 1500 ms."),
        ({"errors_pm": -1}, "Nobody knows how many requests of checkout fail."),
        ({"latency_ms": -1}, "Nobody knows how long requests of checkout take."),
    ],
)
def test_a_write_holds_when_the_figures_say_so(
    at: At, fake: FakeKubernetes, after: Mapping[str, int], problem: str
) -> None:
    observatory = FakeObservatory()
    platform = KubernetesPlatform(observatory)
    result = platform.write(at("k1"), Restart("checkout"))
    fake.cluster.settle("checkout")
    observatory.told["checkout"] = [{**WELL, **after}] * 3

    found = platform.verified(at(now=later(result["verify_after_s"] + 1)), "service:checkout")
    assert (found.sound, found.problems) == (not problem, (problem,) if problem else ())


def test_a_write_is_not_judged_without_figures(at: At, fake: FakeKubernetes) -> None:
    result = KubernetesPlatform(FakeObservatory()).write(at("k1"), Restart("checkout"))
    fake.cluster.settle("checkout")
    context = at(now=later(result["verify_after_s"] + 1))

    unknown = KubernetesPlatform(FakeObservatory(usual=None)).verified(context, "service:checkout")
    assert unknown.problems == ("There are no figures of checkout.",)
    silent = KubernetesPlatform(FakeObservatory(failure=LATE))
    assert refused(lambda: silent.verified(context, "service:checkout")) is LATE
