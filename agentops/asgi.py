"""The entry for an ASGI server: pages, sockets, and the loop that live updates are sent on."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.utils.module_loading import import_string

from agentops.net import live

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentops.settings.production")

# Loads the apps, so it comes before anything that imports a model.
_pages = get_asgi_application()
_sockets = list(chain.from_iterable(import_string(path) for path in settings.WEBSOCKET_ROUTES))

Message = dict[str, Any]


async def lifespan(
    scope: dict[str, Any], receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Lend the server's loop to ``agentops.net.live`` from the server's start to its end."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            live.serve_on(asyncio.get_running_loop())
            await send({"type": "lifespan.startup.complete"})
        else:
            live.serve_on(None)
            await send({"type": "lifespan.shutdown.complete"})
            return


application = ProtocolTypeRouter(
    {
        "http": _pages,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(_sockets))),
        "lifespan": lifespan,
    }
)
