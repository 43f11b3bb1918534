from collections.abc import Iterator

import pytest

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.registry import roles
from agentops.runtime.audit import audit_session
from agentops.runtime.models import Session
from tests.factories.people import Cast, make_cast
from tests.factories.toy import Toy


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    """The toy role as the only role of the installation."""
    toy = Toy()
    spec = toy.spec()
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    return toy


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def agent(toy: Toy, cast: Cast) -> Agent:
    return create_agent(tenant_id=cast.tenant.pk, role=roles.get_role("toy"), name="Payer", actor="user:bob")


@pytest.fixture
def spoils_rows() -> None:
    """For tests that spoil rows on purpose: their sessions are not audited."""


@pytest.fixture(autouse=True)
def every_session_is_audited(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test the rows of all its sessions must say what their streams say."""
    if request.node.get_closest_marker("django_db") is None or "spoils_rows" in request.fixturenames:
        yield
        return
    request.getfixturevalue("db")
    yield
    found = {str(pk): audit_session(pk) for pk in Session.objects.order_by("id").values_list("pk", flat=True)}
    assert {pk: problems for pk, problems in found.items() if problems} == {}
