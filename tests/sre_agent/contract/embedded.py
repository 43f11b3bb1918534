"""The embedded platform under the contract suite."""

from sre_agent.connectors.embedded import EmbeddedPlatform
from sre_agent.connectors.moving import found_estate
from sre_agent.estate.company import company
from tests.factories.sre import NOW, make_incident, make_tenant
from tests.sre_agent.contract.harness import System


class Embedded(System):
    """The simulated estate, without troubles."""

    def settle(self) -> None:
        """Let ten minutes pass."""
        self.passed += 600


def embedded() -> Embedded:
    """Return one of a new tenant."""
    tenant = make_tenant()
    make_incident(tenant)
    make_incident(tenant, "INC-2")
    found_estate(tenant_id=tenant.pk, estate=company(4), now=NOW)
    made = Embedded(EmbeddedPlatform(), tenant, "storefront", "", "node-b")
    made.earlier = made.seen().releases[-2].version
    return made
