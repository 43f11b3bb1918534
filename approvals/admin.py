"""The admin's screens: queues and routes are shaped here; what was asked and decided can only be read."""

from approvals.admins import queues, requests, routes
from approvals.insight import admin as insight_admin
from approvals.notices import admin as notices_admin

__all__ = ["insight_admin", "notices_admin", "queues", "requests", "routes"]
