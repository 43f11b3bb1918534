"""Sockets of the approver's pages."""

from django.urls import path

from approvals.consumers import QueueHints
from approvals.live import SOCKET_PATH

websocket_urlpatterns = [path(SOCKET_PATH, QueueHints.as_asgi())]
