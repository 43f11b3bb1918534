"""A folder for the servers of these tests, which is removed with everything it points to."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentops.embedded.home import remove_home
from agentops.embedded.postgres import EmbeddedPostgres

NewServer = Callable[..., EmbeddedPostgres]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("servers")
    yield folder
    remove_home(folder)


@pytest.fixture(scope="module")
def server(base: Path) -> Iterator[EmbeddedPostgres]:
    """One running server that the tests of a module share."""
    server = EmbeddedPostgres(base, "shared", durable=False)
    server.ensure()
    yield server
    server.stop()


@pytest.fixture
def new_server(base: Path, server: EmbeddedPostgres) -> NewServer:
    """Make a server of a name with data that is ready: creating it anew each time would take most of the time."""

    def make(name: str, *, durable: bool = False) -> EmbeddedPostgres:
        fresh = EmbeddedPostgres(base, name, durable=durable)
        template = server.cluster.folder.with_name("template")
        if not template.exists():
            copied = EmbeddedPostgres(base, "template")
            copied.ensure()
            copied.stop()
        for part in ("data", "password"):
            subprocess.run(["cp", "-a", str(template / part), str(fresh.cluster.folder)], check=True)
        return fresh

    return make
