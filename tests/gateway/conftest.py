import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connection

from agentops.tenancy.models import Tenant

T = TypeVar("T")


@pytest.fixture
def tenant(db: None) -> Tenant:
    return Tenant.objects.create(slug="north", name="North Goods")


def at_once(act: Callable[[], T], times: int) -> list[T]:
    """Call ``act`` in so many threads from the same moment on, and return what each returned."""
    start = threading.Barrier(times)

    def run(_: int) -> T:
        try:
            start.wait(30)
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(run, range(times)))
