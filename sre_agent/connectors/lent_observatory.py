"""An observatory as the platform asks it: with the credential that the tenant has for it, and never the platform's."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from agentops.registry.lending import lent
from agentops.registry.tool import CallContext
from sre_agent.connectors.port import Observatory
from sre_agent.connectors.records import LogLine, Point


class LentObservatory:
    """Implements ``Observatory``. Holds no credential: ``capability`` is lent for a request, and taken back after it.

    A call has one credential, that of the system which its tool works on; what is asked besides needs its own. Raises
    ToolFailure AUTH where the tenant has not consented to that.
    """

    def __init__(self, observatory: Observatory, capability: str) -> None:
        self._observatory = observatory
        self._capability = capability

    def logs(
        self, context: CallContext, service_ref: str, since: datetime, *, containing: str, limit: int
    ) -> Sequence[LogLine]:
        """Return what the observatory does. Raises ToolFailure."""
        with self._with_its_own(context) as own:
            return self._observatory.logs(own, service_ref, since, containing=containing, limit=limit)

    def metrics(self, context: CallContext, service_ref: str, since: datetime, *, points: int) -> Sequence[Point]:
        """Return what the observatory does. Raises ToolFailure."""
        with self._with_its_own(context) as own:
            return self._observatory.metrics(own, service_ref, since, points=points)

    @contextmanager
    def _with_its_own(self, context: CallContext) -> Iterator[CallContext]:
        with lent(context.tenant_id, self._capability) as secret:
            yield replace(context, secret=secret)
