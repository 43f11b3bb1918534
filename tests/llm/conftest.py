from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentops.llm.configuration import parse_choice
from agentops.llm.model import ModelPlanner
from tests.llm.contexts import SALT
from tests.llm.stub_provider import Connected, StubProvider, running

KEY = "sk-test-7f3a91c2"
MODELS = {"anthropic": "claude-opus-4-8", "openai": "gpt-4o"}


@pytest.fixture
def connected() -> Iterator[Connected]:
    with running() as connected:
        yield connected
        assert connected.stub.complaints == []


@pytest.fixture
def stub(connected: Connected) -> StubProvider:
    return connected.stub


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_planner(connected: Connected, provider: str) -> Callable[..., ModelPlanner]:
    def make(model: str = MODELS[provider], key: str = KEY, **changes: Any) -> ModelPlanner:
        choice = parse_choice(f"{provider}:{model}", key=key, url=connected.addresses[provider])
        return ModelPlanner(choice, salt=SALT, **changes)

    return make


@pytest.fixture
def planner(make_planner: Callable[..., ModelPlanner]) -> ModelPlanner:
    return make_planner()
