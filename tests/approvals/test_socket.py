"""The socket of the queue: who may listen, what is heard, and how soon it closes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.test import Client

from agentops.asgi import application
from agentops.net import live
from agentops.tenancy.models import Membership
from approvals import consumers
from approvals.consumers import HINT, NOT_ALLOWED, NOTHING_TO_SAY
from tests.approvals.conftest import Stage, decide

pytestmark = pytest.mark.django_db(transaction=True)


class Socket:
    """A socket as the page of ``client`` opens it, with its cookies and its origin."""

    def __init__(self, client: Client | None, *, origin: str = "http://testserver") -> None:
        headers = [(b"host", b"testserver"), (b"origin", origin.encode())]
        if client is not None:
            cookie = client.cookies[settings.SESSION_COOKIE_NAME]
            headers.append((b"cookie", f"{cookie.key}={cookie.value}".encode()))
        scope = {"type": "websocket", "path": "/ws/approvals/", "query_string": b"", "headers": headers}
        self._server = ApplicationCommunicator(application, {**scope, "subprotocols": []})

    async def open(self) -> bool:
        """Connect, and return whether the server let us in."""
        await self._server.send_input({"type": "websocket.connect"})
        return bool((await self.hear())["type"] == "websocket.accept")

    async def hear(self) -> dict[str, Any]:
        """Return what the server says next, within five seconds."""
        said: dict[str, Any] = await self._server.receive_output(timeout=5)
        return said

    async def hears_nothing(self, seconds: float) -> bool:
        quiet: bool = await self._server.receive_nothing(timeout=seconds)
        return quiet

    async def say(self, **message: Any) -> None:
        await self._server.send_input({"type": "websocket.receive", **message})

    async def leave(self) -> None:
        await self._server.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._server.wait(timeout=5)


HEARD = {"type": "websocket.send", "text": HINT}


def on_the_server(scene: Callable[[], Awaitable[Any]]) -> None:
    """Play a scene on a loop that hints are sent on, as the web server does."""

    async def play() -> None:
        live.serve_on(asyncio.get_running_loop())
        try:
            await scene()
        finally:
            live.serve_on(None)

    asyncio.run(play())


async def opened(client: Client) -> Socket:
    socket = Socket(client)
    assert await socket.open()
    return socket


def test_page_hears_that_something_changed_and_nothing_else(stage: Stage, alice: Client, bob: Client) -> None:
    async def scene() -> None:
        listening = [await opened(alice), await opened(bob)]
        request = await sync_to_async(stage.ask)()
        for socket in listening:
            assert await socket.hear() == HEARD
        await sync_to_async(decide)(alice, request)
        for socket in listening:
            assert await socket.hear() == HEARD
            await socket.leave()

    on_the_server(scene)


def test_outsider_hears_nothing(stage: Stage, alice: Client, charlie: Client) -> None:
    async def scene() -> None:
        inside, outside = await opened(alice), await opened(charlie)
        await sync_to_async(stage.ask)()
        assert await inside.hear() == HEARD
        assert await outside.hears_nothing(0.5)
        await inside.leave()
        await outside.leave()

    on_the_server(scene)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://testserver.evil.example", "null"])
def test_page_of_another_site_cannot_listen(stage: Stage, alice: Client, origin: str) -> None:
    async def scene() -> None:
        assert not await Socket(alice, origin=origin).open()

    on_the_server(scene)


def test_stranger_and_person_of_no_tenant_cannot_listen(stage: Stage, alice: Client) -> None:
    Membership.objects.filter(user=stage.cast.alice).delete()

    async def scene() -> None:
        for client in (None, alice):
            assert not await Socket(client).open()

    on_the_server(scene)


def _sign_out(stage: Stage, client: Client) -> None:
    client.logout()


def _withdraw_membership(stage: Stage, client: Client) -> None:
    Membership.objects.filter(user=stage.cast.alice).delete()


def _close_account(stage: Stage, client: Client) -> None:
    stage.cast.alice.is_active = False
    stage.cast.alice.save()


def _change_password(stage: Stage, client: Client) -> None:
    stage.cast.alice.set_password("another one")
    stage.cast.alice.save()


@pytest.mark.parametrize("revoke", [_sign_out, _withdraw_membership, _close_account, _change_password])
def test_socket_closes_soon_after_its_right_is_gone(
    stage: Stage, alice: Client, revoke: Callable[[Stage, Client], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert consumers.RECHECK_SECONDS < 5
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.2)

    async def scene() -> None:
        socket = await opened(alice)
        assert await socket.hears_nothing(0.6)
        await sync_to_async(revoke)(stage, alice)
        assert await socket.hear() == {"type": "websocket.close", "code": NOT_ALLOWED}
        await sync_to_async(stage.ask)()
        assert await socket.hears_nothing(0.3)

    on_the_server(scene)


def test_new_tenant_is_listened_to_without_opening_the_page_again(
    stage: Stage, charlie: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.2)

    async def scene() -> None:
        socket = await opened(charlie)
        await sync_to_async(Membership.objects.create)(
            tenant=stage.cast.tenant, user=stage.cast.charlie, role="support"
        )
        await asyncio.sleep(0.6)
        await sync_to_async(stage.ask)()
        assert await socket.hear() == HEARD
        await socket.leave()

    on_the_server(scene)


@pytest.mark.parametrize("message", [{"text": "look"}, {"text": '{"type":"approvals.changed"}'}, {"bytes": b"\x00"}])
def test_page_has_nothing_to_say(stage: Stage, alice: Client, message: dict[str, Any]) -> None:
    async def scene() -> None:
        socket = await opened(alice)
        await socket.say(**message)
        assert await socket.hear() == {"type": "websocket.close", "code": NOTHING_TO_SAY}

    on_the_server(scene)
