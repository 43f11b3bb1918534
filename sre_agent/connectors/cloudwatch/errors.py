"""AWS's errors as ours: one table. Everything here reads, so that what failed had no effect.

https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/CommonErrors.html
"""

import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from agentops.kernel.errors import AgentOpsError, FailureKind
from agentops.net.http import NotReached
from agentops.registry.tool import ToolFailure
from sre_agent.connectors.vendor_door import UnsafeAddress, seconds_of

WAIT = 5.0
"""So long it is waited when AWS does not say how long."""
_THROTTLED = frozenset(
    {
        "LimitExceededException",
        "LimitExceededFault",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
    }
)
_DENIED = frozenset(
    {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized", "OptInRequired"}
)
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
_REFUSED = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_MISSING = frozenset({"ResourceNotFound", "ResourceNotFoundException"})
_SLOW = frozenset({"RequestTimeout", "RequestTimeoutException", "Timeout"})
_ACTION = re.compile(r"\b(logs|cloudwatch):[A-Za-z]{1,60}", re.ASCII)
_CODE = re.compile(r"[A-Za-z.]{1,80}", re.ASCII)


class Lost(AgentOpsError):
    """A request without an answer, passed on through the SDK."""

    code = "AWS_LOST"

    def __init__(self, cause: NotReached | UnsafeAddress) -> None:
        super().__init__(cause.message)
        self.cause = cause


def failure_of(error: ClientError | BotoCoreError | Lost, action: str) -> ToolFailure:
    """Return the failure of a request; ``action`` is what it needs the permission for."""
    if isinstance(error, ClientError):
        return _answered(error, action)
    if isinstance(error, Lost) and isinstance(error.cause, NotReached):
        kind = FailureKind.TIMEOUT if error.cause.late else FailureKind.UNAVAILABLE
        return ToolFailure(kind, f"CloudWatch {error.cause.message}.")
    if isinstance(error, Lost):
        return ToolFailure(FailureKind.VALIDATION, error.cause.in_full)
    return ToolFailure(FailureKind.UNAVAILABLE, f"CloudWatch's answer cannot be used ({type(error).__name__}).")


def _answered(error: ClientError, action: str) -> ToolFailure:
    """Words of AWS are not repeated where they name accounts and roles, or hold a part of a key."""
    answer: Mapping[str, Any] = error.response
    told = answer.get("Error") or {}
    code, words = str(told.get("Code", "")), str(told.get("Message", ""))
    meta = answer.get("ResponseMetadata") or {}
    status = meta.get("HTTPStatusCode")
    if code in _THROTTLED or status == 429:
        wait = seconds_of(str((meta.get("HTTPHeaders") or {}).get("retry-after", "")), WAIT)
        return ToolFailure(FailureKind.RATE_LIMIT, "CloudWatch asks to wait: too many requests.", retry_after=wait)
    if code in _EXPIRED:
        return ToolFailure(FailureKind.AUTH, "The credentials for AWS have expired.")
    if code in _REFUSED:
        return ToolFailure(FailureKind.AUTH, "AWS does not accept the credentials.")
    if code in _DENIED or status in (401, 403):
        return denied(named[0] if (named := _ACTION.search(words)) else action)
    if code in _MISSING:
        return ToolFailure(
            FailureKind.NOT_FOUND, "There is no such log group: see the file that SRE_VENDORS_FILE names."
        )
    if code in _SLOW:
        return ToolFailure(FailureKind.TIMEOUT, "CloudWatch did not answer in time.")
    if isinstance(status, int) and status >= 500:
        return ToolFailure(FailureKind.UNAVAILABLE, f"CloudWatch failed (status {status}).")
    told_code = code if _CODE.fullmatch(code) else "an error without a name"
    return ToolFailure(FailureKind.VALIDATION, f"CloudWatch refuses {action}: {told_code}.")


def denied(action: str) -> ToolFailure:
    """Return the failure for a permission that the credentials lack."""
    return ToolFailure(FailureKind.AUTH, f"AWS refuses: the credentials lack the permission {action}.")
