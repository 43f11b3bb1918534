"""Slack's errors as ours: one table.

https://docs.slack.dev/reference/methods/chat.postMessage#errors
"""

import re
from collections.abc import Mapping
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors.vendor_door import seconds_of

WAIT = 30.0
_REFUSED = "Slack does not accept the token."
_AUTH = {
    "access_denied": _REFUSED,
    "account_inactive": _REFUSED,
    "ekm_access_denied": "The workspace's administrators have switched its messages off.",
    "invalid_auth": _REFUSED,
    "no_permission": "The token lacks a permission that this needs.",
    "not_allowed_token_type": "The token has to be that of an app's bot (xoxb-…).",
    "not_authed": _REFUSED,
    "not_in_channel": "The app is no member of the channel. Invite it there.",
    "org_login_required": _REFUSED,
    "restricted_action": "The workspace does not let the app post into the channel.",
    "token_expired": "The token has expired.",
    "token_revoked": "The token was revoked.",
}
_MISSING = {
    "channel_not_found": "There is no such channel, or the app does not see it. A private one has to invite it.",
    "is_archived": "The channel is archived.",
    "thread_not_found": "The thread is gone.",
}
_NEVER = {
    "invalid_blocks": "Slack cannot show the message.",
    "message_limit_exceeded": "The workspace may not post any more messages.",
    "metadata_too_large": "The message's metadata are too large.",
    "msg_blocks_too_long": "The message is too long for Slack.",
    "msg_too_long": "The message is too long for Slack.",
    "no_text": "The message is empty.",
    "too_many_attachments": "Slack cannot show the message.",
}
_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded_for_channel"})
_MAY_BE_DONE = frozenset(
    {"fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org"}
)
"""Slack failed, and perhaps not before the message was there."""
_WORD = re.compile(r"[a-z_]{1,60}\Z", re.ASCII)
_SCOPES = re.compile(r"[a-z.:,]{1,120}\Z", re.ASCII)


def failure_of(status: int, answer: Mapping[str, Any], headers: Mapping[str, str], *, writes: bool) -> Exception:
    """Return what an answer that is no success means; ``writes``: the request posts something."""
    told = answer.get("error")
    code = told if isinstance(told, str) and _WORD.match(told) else ""
    if status == 429 or code in _LIMITED:
        wait = seconds_of({name.lower(): value for name, value in headers.items()}.get("retry-after", ""), WAIT)
        return ToolFailure(FailureKind.RATE_LIMIT, "Slack asks to wait: too many requests.", retry_after=wait)
    if code == "missing_scope":
        needed = answer.get("needed")
        scope = needed if isinstance(needed, str) and _SCOPES.match(needed) else "that this needs"
        return ToolFailure(FailureKind.AUTH, f"Slack refuses: the token lacks the scope {scope}.")
    for kind, table in ((FailureKind.AUTH, _AUTH), (FailureKind.NOT_FOUND, _MISSING), (FailureKind.VALIDATION, _NEVER)):
        if code in table:
            return ToolFailure(kind, table[code])
    if status in (401, 403):
        return ToolFailure(FailureKind.AUTH, _REFUSED)
    if 400 <= status < 500 or (status == 200 and code and code not in _MAY_BE_DONE):
        return ToolFailure(FailureKind.VALIDATION, f"Slack refuses: {code or 'it does not say why'}.")
    if writes:
        return OutcomeUnknown("Slack did not say whether the message was posted.")
    return ToolFailure(FailureKind.UNAVAILABLE, f"Slack failed (status {status}).")
