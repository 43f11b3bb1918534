"""What every board promises: the embedded one and Slack."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sre_agent.connectors.board import EmbeddedBoard
from sre_agent.connectors.port import Board
from sre_agent.connectors.slack import SlackBoard
from sre_agent.models import StatusUpdate
from tests.factories.fake_slack.workspace import TOKEN, Workspace
from tests.factories.hooks import put_secrets
from tests.factories.loopback import running
from tests.gateway.secrets import consent_of
from tests.sre_agent.vendors.cast import NOW, SLACK, Cast, cast, document

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop() -> Cast:
    shop = cast("slack_api", TOKEN)
    for ref in ("SU-1", "SU-2"):
        StatusUpdate.objects.create(
            tenant=shop.tenant, ref=ref, incident=shop.incident, text="x", drafted_by="agent", drafted_at=NOW
        )
    return shop


@pytest.fixture(params=["embedded", "slack"])
def board(
    request: pytest.FixtureRequest, shop: Cast, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Board]:
    if request.param == "embedded":
        yield EmbeddedBoard()
        return
    settings.SRE_VENDORS_FILE = document(tmp_path, shop.tenant, slack=SLACK)
    put_secrets(monkeypatch, shop.tenant, slack_api=TOKEN)
    consent_of(shop.tenant, capability="slack_api")
    with running(Workspace("C0STATUS")) as workspace:
        settings.SLACK_URL = f"{workspace.url}/api"
        yield SlackBoard()


def test_an_incident_has_one_thread(board: Board, shop: Cast) -> None:
    thread = board.publish(shop.tenant.pk, "SU-1", "We look into it.", "")
    assert thread
    assert board.publish(shop.tenant.pk, "SU-2", "It is over.", thread) == thread


def test_publishing_again_returns_the_same_thread(board: Board, shop: Cast) -> None:
    threads = {board.publish(shop.tenant.pk, "SU-1", "We look into it.", "") for _ in range(3)}
    assert len(threads) == 1
