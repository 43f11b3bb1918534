"""What the system checks say of the cluster that the settings name."""

from pathlib import Path
from typing import Any

import pytest
from django.core import checks

from agentops.kernel.errors import FailureKind
from agentops.registry.secret import Secret
from sre_agent.checks import cluster_can_be_used
from sre_agent.connectors.kubernetes import door
from tests.factories.estates import refused

UID = "7f0a3c1e-9d2b-4c55-8e21-0a6f5b1d4c90"


@pytest.fixture
def cluster(settings: Any) -> Any:
    """Settings that can be used."""
    settings.SRE_PLATFORM = "kubernetes"
    settings.KUBERNETES_URL, settings.KUBERNETES_CLUSTER = "https://cluster.example:6443", UID
    settings.KUBERNETES_NAMESPACES, settings.KUBERNETES_CA_FILE = ["shop", "shop-2"], ""
    return settings


def found() -> list[str]:
    messages = cluster_can_be_used()
    assert {message.id for message in messages} <= {"sre.E005"}
    return [str(message.msg).split()[0] for message in messages]


@pytest.mark.parametrize(
    "url",
    ["https://cluster.example", "https://10.0.0.1:6443/k8s/clusters/c-1/", "http://127.0.0.1:8001", "https://[::1]"],
)
def test_settings_that_can_be_used_are_no_problem(cluster: Any, url: str) -> None:
    cluster.KUBERNETES_URL = url
    assert found() == []


def test_the_embedded_estate_needs_no_cluster(cluster: Any) -> None:
    cluster.SRE_PLATFORM, cluster.KUBERNETES_URL, cluster.KUBERNETES_CLUSTER = "embedded", "", ""
    assert found() == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://cluster.example",
        "http://localhost.example",
        "ftp://cluster.example",
        "https://",
        "https://dana:hunter2@cluster.example",
        "https://@cluster.example",
        "https://cluster.example?token=hunter2",
        "https://cluster.example#hunter2",
        "https://cluster.example:port",
        "https://cluster.example:99999",
        "https://[::1",
        "https://cluster.example/a b",
        "cluster.example",
    ],
)
def test_an_address_that_no_token_may_go_to(cluster: Any, url: str) -> None:
    cluster.KUBERNETES_URL = url
    assert found() == ["KUBERNETES_URL"]
    assert "hunter2" not in "".join(message.msg for message in cluster_can_be_used())
    failure = refused(lambda: door.opened(Secret("kubernetes_api", "a-token")))
    assert (failure.kind, "hunter2" in failure.message) == (FailureKind.VALIDATION, False)


@pytest.mark.parametrize("uid", ["", " ", "kube-system", UID[:-1], UID + "\n", UID.replace("-", "")])
def test_a_cluster_that_is_none(cluster: Any, uid: str) -> None:
    cluster.KUBERNETES_CLUSTER = uid
    assert found() == ["KUBERNETES_CLUSTER"]


@pytest.mark.parametrize("names", [[], [""], ["shop", "../kube-system"], ["Shop"], ["a" * 64], ["shop\n"]])
def test_namespaces_that_are_none(cluster: Any, names: list[str]) -> None:
    cluster.KUBERNETES_NAMESPACES = names
    assert found() == ["KUBERNETES_NAMESPACES"]


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_certificates_that_cannot_be_read(cluster: Any, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    cluster.KUBERNETES_CA_FILE = str(path)
    assert found() == ["KUBERNETES_CA_FILE"]
    failure = refused(lambda: door.opened(Secret("kubernetes_api", "a-token")))
    assert (failure.kind, str(tmp_path) in failure.message) == (FailureKind.VALIDATION, False)


def test_everything_that_is_wrong_is_said_at_once_by_the_command(cluster: Any) -> None:
    cluster.KUBERNETES_URL = cluster.KUBERNETES_CLUSTER = ""
    assert [message.id for message in checks.run_checks()].count("sre.E005") == 2
