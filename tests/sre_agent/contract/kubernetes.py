"""The platform at a fake cluster under the contract suite."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agentops.registry.secret import Secret
from sre_agent.connectors.kubernetes import KubernetesPlatform, door
from tests.factories.fake_kubernetes import TOKEN, FakeKubernetes, fake_kubernetes
from tests.factories.observatory import FakeObservatory
from tests.factories.sre import make_incident, make_tenant
from tests.sre_agent.contract.harness import System


class AtKubernetes(System):
    """A fake cluster."""

    fake: FakeKubernetes

    def secret(self) -> Secret:
        """Return the token of the fake."""
        return Secret("kubernetes_api", TOKEN)

    def settle(self) -> None:
        """Let the controllers work."""
        self.passed += 600
        for ref in ("storefront", "search"):
            self.fake.cluster.settle(ref)


@contextmanager
def at_kubernetes(settings: Any) -> Iterator[AtKubernetes]:
    """Run a fake for a new tenant."""
    tenant = make_tenant()
    make_incident(tenant)
    make_incident(tenant, "INC-2")
    with fake_kubernetes() as fake:
        settings.KUBERNETES_URL, settings.KUBERNETES_CLUSTER = fake.url, fake.cluster.uid
        settings.KUBERNETES_NAMESPACES, settings.KUBERNETES_CA_FILE = ["shop"], ""
        door.forget()
        for name in ("node-a", "node-b", "node-c"):
            fake.cluster.node(name)
        fake.cluster.service("search", 3, "1.9.0", tier="P1")
        fake.cluster.service("storefront", 4, "1.8.0", tier="P1", needs="search")
        fake.cluster.deploy("storefront", "1.9.0", "Smaller pictures")
        made = AtKubernetes(KubernetesPlatform(FakeObservatory()), tenant, "storefront", "1.8.0", "node-b")
        made.fake = fake
        yield made
        door.forget()
