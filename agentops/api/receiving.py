"""Admitting a message: which endpoint it is for, whether there is room, who signed it, and which event it is."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.cache import cache

from agentops.api.models import WebhookEndpoint
from agentops.api.refusals import HookRefused, NotHere, NotNow, TooMany, Unverified
from agentops.gateway.credentials import NoCredential, shelf
from agentops.gateway.sources import Wanted
from agentops.registry.roles import UnknownRole, get_role
from agentops.registry.webhook import BadEvent, WebhookEvent, WebhookSource

log = logging.getLogger(__name__)

MINUTE = 60


@dataclass(frozen=True)
class Admitted:
    """An endpoint that takes calls now, and its sender."""

    endpoint: WebhookEndpoint
    source: WebhookSource


def admit(public_id: str, now: datetime) -> Admitted:
    """Return whom a call is for, and count it. Raises NotHere and TooMany."""
    endpoint = WebhookEndpoint.objects.filter(public_id=public_id, is_active=True).first()
    if endpoint is None or endpoint.live != takes_live():
        raise NotHere("There is nothing at this address.")
    source = source_of(endpoint)
    if source is None:
        log.error("a webhook endpoint's sender is not installed", extra={"endpoint": str(endpoint.pk)})
        raise NotHere("There is nothing at this address.")
    _count(endpoint, now)
    return Admitted(endpoint, source)


def takes_live() -> bool:
    """Return whether this installation is for real money and machines; it takes no events of the other kind."""
    return bool(settings.TOOL_ENVIRONMENT == "production")


def source_of(endpoint: WebhookEndpoint) -> WebhookSource | None:
    """Return the endpoint's sender as its role declares it, None when it does not any more."""
    try:
        role = get_role(endpoint.role)
    except UnknownRole:
        return None
    return next((source for source in role.webhooks if source.name == endpoint.source), None)


def _count(endpoint: WebhookEndpoint, now: datetime) -> None:
    """Count the calls of each minute over all processes, before anything of a call is read."""
    key = f"hook:{endpoint.pk}:{int(now.timestamp()) // MINUTE}"
    cache.add(key, 0, 2 * MINUTE)
    if cache.incr(key) > endpoint.per_minute:
        raise TooMany("Too many calls.")


def verified_event(admitted: Admitted, headers: Mapping[str, str], body: bytes, now: datetime) -> WebhookEvent:
    """Return the event that the endpoint's sender signed. Raises Unverified, HookRefused for no event, and NotNow."""
    source = admitted.source
    if not any(source.verify(secret, headers, body, now) for secret in _secrets(admitted.endpoint, now)):
        raise Unverified("The message cannot be verified.")
    try:
        event = source.read(body)
    except BadEvent as error:
        log.warning("a verified message is no event: %s", error.message, extra=_named(admitted.endpoint))
        raise HookRefused("The message is no event.") from None
    if event.live is not None and event.live != admitted.endpoint.live:
        log.warning("an event of the other mode was refused", extra=_named(admitted.endpoint))
        raise HookRefused("The event is of the other mode.")
    return event


def _secrets(endpoint: WebhookEndpoint, now: datetime) -> list[str]:
    """Return the values that count now. Raises NotNow when there is none: the sender did nothing wrong."""
    names = [endpoint.secret]
    if endpoint.former_until is not None and now < endpoint.former_until:
        names.append(endpoint.former_secret)
    found = []
    for name in names:
        try:
            found.append(shelf.get(Wanted(endpoint.tenant_id, settings.TOOL_ENVIRONMENT, name)).found.value)
        except NoCredential as error:
            log.warning("no signing secret: %s", error.message, extra=_named(endpoint))
    if not found:
        raise NotNow("It cannot be taken now.")
    return found


def _named(endpoint: WebhookEndpoint) -> dict[str, str]:
    return {"endpoint": str(endpoint.pk)}
