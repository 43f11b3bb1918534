"""Operations: a key is claimed in the transaction of its effect, so that it has that effect once."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from agentops.registry.tool import Result
from billing_agent import models


@dataclass(frozen=True)
class Call:
    """For whom and when something is done. ``key`` is the operation's, ``case_ref`` the case that it belongs to."""

    tenant_id: UUID
    key: str
    now: datetime
    case_ref: str = ""


def claim(call: Call, action: str, fingerprint: bytes) -> bool:
    """Insert the operation, waiting for another one of the same key; False when the key has had its effect.

    ``fingerprint`` is the digest of the arguments, 32 bytes.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO billing_agent_operation (tenant_id, key, action, arguments_digest, result, at, case_ref)"
            " VALUES (%s, %s, %s, %s, '{}', %s, %s) ON CONFLICT (tenant_id, key) DO NOTHING",
            [call.tenant_id, call.key, action, fingerprint, call.now, call.case_ref],
        )
        return bool(cursor.rowcount == 1)


def record_result(call: Call, result: Result) -> None:
    """Keep what the operation came to, in the transaction of its effect."""
    models.Operation.objects.filter(tenant_id=call.tenant_id, key=call.key).update(result=result)


def operation_of(call: Call) -> models.Operation:
    """Return the operation of a key that was claimed. Raises Operation.DoesNotExist."""
    return models.Operation.objects.get(tenant_id=call.tenant_id, key=call.key)
