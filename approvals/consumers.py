"""The socket that tells an open queue to look again."""

import asyncio
import contextlib
import logging
from importlib import import_module
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from agentops.tenancy.queries import tenants_of
from approvals.live import group_of

logger = logging.getLogger(__name__)

RECHECK_SECONDS = 4.0
"""How long a socket may outlive a sign-out, a withdrawn membership or a closed account."""

HINT = "look"
NOT_ALLOWED = 4403
NOTHING_TO_SAY = 1003


class QueueHints(AsyncWebsocketConsumer):  # type: ignore[misc]  # untyped base
    """One open page. It hears that something changed in a tenant of its person, never what.

    The page has nothing to say: a socket that sends anything is closed.
    """

    tenants: frozenset[UUID] = frozenset()
    watch: "asyncio.Task[None] | None" = None

    async def connect(self) -> None:
        """Let in members of a tenant, and nobody else."""
        allowed = await self._allowed()
        if not allowed:
            await self.close()
            return
        await self._listen_to(allowed)
        await self.accept()
        self.watch = asyncio.create_task(self._recheck())

    async def disconnect(self, code: int) -> None:
        """Stop listening."""
        if self.watch is not None:
            self.watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.watch
        await self._listen_to(frozenset())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """End a conversation that no page of ours begins."""
        await self.close(NOTHING_TO_SAY)

    async def approvals_changed(self, message: dict[str, Any]) -> None:
        """Pass the hint on."""
        await self.send(text_data=HINT)

    async def _recheck(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                allowed = await self._allowed()
            except Exception:
                logger.exception("a socket is closed because its person could not be looked up")
                allowed = frozenset()
            await self._listen_to(allowed)
            if not allowed:
                await self.close(NOT_ALLOWED)
                return

    async def _listen_to(self, tenants: frozenset[UUID]) -> None:
        for tenant in self.tenants - tenants:
            await self.channel_layer.group_discard(group_of(tenant), self.channel_name)
        for tenant in tenants - self.tenants:
            await self.channel_layer.group_add(group_of(tenant), self.channel_name)
        self.tenants = tenants

    async def _allowed(self) -> frozenset[UUID]:
        session_key: str | None = self.scope["session"].session_key
        allowed: frozenset[UUID] = await database_sync_to_async(_tenants_behind)(session_key)
        return allowed


def _tenants_behind(session_key: str | None) -> frozenset[UUID]:
    """Return the tenants of the person who is signed in with this web session now, read afresh."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return frozenset(tenant.pk for tenant in tenants_of(get_user(request)))
