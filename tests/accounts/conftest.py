from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from tests.factories.people import Cast, make_cast


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    """No test finds the attempts and used codes of another one."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def alice(cast: Cast) -> User:
    return cast.alice


@pytest.fixture
def browser(alice: User) -> Client:
    """A browser in which Alice is signed in."""
    client = Client()
    client.force_login(alice)
    return client
