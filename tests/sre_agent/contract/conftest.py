"""The systems that keep the platform's port."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sre_agent.contract.embedded import embedded
from tests.sre_agent.contract.harness import System
from tests.sre_agent.contract.kubernetes import at_kubernetes


@pytest.fixture(params=["embedded", "kubernetes"])
def system(request: pytest.FixtureRequest, db: None, settings: Any) -> Iterator[System]:
    """Each of them, with checkout at release 1.9.0 after 1.8.0, four replicas or more, on several nodes."""
    if request.param == "embedded":
        yield embedded()
    else:
        with at_kubernetes(settings) as made:
            yield made
