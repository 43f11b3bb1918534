from collections.abc import Callable

import pytest

from approvals.models import ApprovalQueue, ApprovalRequest
from tests.factories.cases import open_request
from tests.factories.people import Cast, make_queue


@pytest.fixture
def legal(cast: Cast) -> ApprovalQueue:
    """A second queue of the tenant that nobody may decide yet."""
    return make_queue(cast.tenant, "legal")


@pytest.fixture
def opened(cast: Cast) -> Callable[..., ApprovalRequest]:
    """Open a request of the tenant through the runtime's door."""
    return lambda **other: open_request(cast.tenant.pk, **other)
