"""Taking an event: it is kept, and what follows from it is done, in one transaction; once, however often it is sent."""

import hashlib
import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F

from agentops.api.models import WebhookDelivery, WebhookEndpoint, WebhookLatest
from agentops.api.receiving import Admitted, source_of
from agentops.api.refusals import NotNow
from agentops.kernel.canonical import JSON, storable
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import derived_id, first_id, new_id
from agentops.ledger.append import Event, append_to
from agentops.registry.roles import get_role
from agentops.registry.webhook import BadEvent, Received, WebhookEvent
from agentops.runtime.waking import wake_sessions

log = logging.getLogger(__name__)

KEPT_FOR = timedelta(days=90)
"""So long it can be looked up what a sender told. Senders repeat themselves for days, not for months."""
INCIDENT = "WEBHOOK_FAILED"
_STATE = WebhookDelivery.State
_LEAST_NEW = """
INSERT INTO webhook_latest (id, tenant_id, at) VALUES (%s, %s, %s)
ON CONFLICT (id) DO UPDATE SET at = excluded.at WHERE webhook_latest.at <= excluded.at"""


class CannotProcess(AgentOpsError):
    """A delivery that is not processed again: it was taken, or cannot be."""

    code = "CANNOT_PROCESS"
    next_step = "Look at what the delivery says."


def take(admitted: Admitted, event: WebhookEvent, body: bytes, *, now: datetime, actor: str = "") -> WebhookDelivery:
    """Keep an event and do what follows from it, unless that was done before; return how it stands.

    ``actor`` is who has it done when it is not the sender. Raises NotNow, having kept only that it failed.
    """
    row = _row(admitted.endpoint, event, body, now)
    try:
        with transaction.atomic():
            delivery = _kept(row)
            if delivery.state == _STATE.FAILED or _holds_still(admitted, delivery, now):
                delivery.received_at = now
                _carry_out(admitted, delivery, event, actor or f"webhook:{admitted.source.name}")
    except (OperationalError, InterfaceError) as error:
        log.warning("%s: an event could not be taken without a database", INCIDENT, exc_info=True)
        raise NotNow("It cannot be taken now.") from error
    except Exception as error:
        log.exception("%s: an event could not be taken", INCIDENT, extra={"event": event.id})
        _keep_failure(row, error)
        raise NotNow("It cannot be taken now.") from error
    return delivery


def _row(endpoint: WebhookEndpoint, event: WebhookEvent, body: bytes, now: datetime) -> WebhookDelivery:
    return WebhookDelivery(
        id=new_id(),
        tenant_id=endpoint.tenant_id,
        endpoint=endpoint,
        event_id=event.id,
        type=event.type,
        happened_at=event.at,
        received_at=now,
        digest=hashlib.sha256(body).hexdigest(),
        body=body,
    )


def _kept(row: WebhookDelivery) -> WebhookDelivery:
    """Keep the event if it is new, waiting for whoever is just taking it, and return its row, locked."""
    WebhookDelivery.objects.bulk_create([row], ignore_conflicts=True)
    rows = WebhookDelivery.objects.select_for_update()
    return rows.get(endpoint_id=row.endpoint_id, event_id=row.event_id)


def _holds_still(admitted: Admitted, delivery: WebhookDelivery, now: datetime) -> bool:
    """Return whether a message that was taken before counts anew, because it came so much later."""
    after = admitted.source.again_after
    return after is not None and now - delivery.received_at >= after


def _carry_out(admitted: Admitted, delivery: WebhookDelivery, event: WebhookEvent, actor: str) -> None:
    endpoint, woken = admitted.endpoint, list[str]()
    if event.about and not _is_news(endpoint, event):
        received = Received(ignored=True, words="Something newer about it is known.")
    else:
        received = admitted.source.receive(endpoint.tenant_id, event)
        kind = get_role(endpoint.role).subject_kind
        told = f"{admitted.source.title}: {event.type}"
        woken = wake_sessions(tenant_id=endpoint.tenant_id, kind=kind, subjects=received.wakes, actor=actor, words=told)
    delivery.state = _STATE.IGNORED if received.ignored else _STATE.TAKEN
    delivery.attempts += 1
    delivery.words, delivery.error = storable(received.words, most=400), ""
    delivery.save(update_fields=["state", "attempts", "words", "error", "received_at"])
    facts: dict[str, JSON] = {
        "event": event.id,
        "type": event.type,
        "state": delivery.state,
        "digest": delivery.digest,
        "opened": list(received.opened),
        "woken": list(woken),
    }
    refs = {"delivery": str(delivery.pk), "endpoint": str(endpoint.pk)}
    tenant, stream = endpoint.audited_in()
    append_to(tenant_id=tenant.pk, name=stream, events=[Event("webhook.received", actor, facts, refs)])


def _is_news(endpoint: WebhookEndpoint, event: WebhookEvent) -> bool:
    """Note how new the event is, in the caller's transaction; whoever tells of the same thing waits for its end."""
    thing = derived_id(str(endpoint.tenant_id), endpoint.role, endpoint.source, event.about)
    with connection.cursor() as cursor:
        cursor.execute(_LEAST_NEW, [thing, endpoint.tenant_id, event.at])
        return bool(cursor.rowcount == 1)


def _keep_failure(row: WebhookDelivery, error: Exception) -> None:
    """Keep that it failed. Words of errors that are not ours may hold anything: they stand in the log only."""
    words = error.message if isinstance(error, AgentOpsError) else f"{type(error).__name__}, see the log."
    with transaction.atomic():
        WebhookDelivery.objects.bulk_create([row], ignore_conflicts=True)
        failed = WebhookDelivery.objects.filter(endpoint_id=row.endpoint_id, event_id=row.event_id, state=_STATE.FAILED)
        failed.update(attempts=F("attempts") + 1, error=storable(words, most=200))


def process_again(*, delivery_id: UUID, actor: str) -> WebhookDelivery:
    """Do what follows from an event that failed. Raises CannotProcess, WebhookDelivery.DoesNotExist."""
    delivery = WebhookDelivery.objects.select_related("endpoint__tenant").get(pk=delivery_id)
    if delivery.state != _STATE.FAILED:
        raise CannotProcess("It was taken already.")
    source = source_of(delivery.endpoint)
    if source is None:
        raise CannotProcess("Its sender is not installed any more.")
    body = bytes(delivery.body)
    try:
        return take(Admitted(delivery.endpoint, source), source.read(body), body, now=utcnow(), actor=actor)
    except BadEvent as error:
        raise CannotProcess(error.message) from error
    except NotNow as error:
        raise CannotProcess("It failed again.", next_step="The delivery says why.") from error


def forget_old(now: datetime, limit: int) -> int:
    """Delete deliveries of long ago, ``limit`` at most, and return how many. Part of the sweep."""
    old = WebhookDelivery.objects.filter(pk__lt=first_id(now - KEPT_FOR)).order_by("pk")
    things = WebhookLatest.objects.filter(at__lt=now - KEPT_FOR).order_by("at")
    WebhookLatest.objects.filter(pk__in=things.values("pk")[:limit]).delete()
    return WebhookDelivery.objects.filter(pk__in=old.values("pk")[:limit]).delete()[0]
