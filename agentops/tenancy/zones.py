"""The time zone of a tenant, in which its days and its readers' times are."""

import logging
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

log = logging.getLogger(__name__)


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of that name. A name that nobody knows, which only the admin can set, is UTC."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        log.warning("there is no time zone %r, so UTC is used", name)
        return ZoneInfo("UTC")
