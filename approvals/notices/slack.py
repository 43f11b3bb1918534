"""Notices in Slack: messages are posted, and changed when their request is closed.

Protocol: https://docs.slack.dev/reference/methods/chat.postMessage and chat.update. Two methods need no library. The
bot's token is a credential of the tenant like those of its tools, because a tenant has a Slack workspace of its own.
"""

import json
import re
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from agentops.gateway.credentials import NoCredential, shelf
from agentops.gateway.sources import Wanted
from agentops.kernel.canonical import BadJSON, parse_json
from agentops.net.http import NotReached, Reply, post
from approvals.notices.sending import AskedToWait, NeverSent, NotSent
from approvals.notices.words import Item

CAPABILITY = "slack_bot"
SECONDS = 10.0
MOST_BYTES = 262_144
LONGEST_WAIT = 3600.0
EVENT = "approval_notice"
_WORD = re.compile(r"[a-z_]{1,60}\Z", re.ASCII)
# What an admin has to put right: trying again by itself would change nothing.
_FOR_ADMINS = frozenset(
    {"channel_not_found", "is_archived", "not_in_channel", "user_not_found", "user_disabled", "restricted_action"}
)
# There is nothing left to change.
_GONE = frozenset(
    {"message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found", "is_archived"}
)


def post_message(*, tenant_id: UUID, to: str, item: Item, waiting: int | None, key: UUID) -> str:
    """Post a message to a channel or member and return its address. Raises NotSent, NeverSent or AskedToWait.

    The message's metadata hold ``key``, by which a message that was posted twice can be recognised.
    """
    metadata = {"event_type": EVENT, "event_payload": {"notice": str(key)}}
    said = {
        "channel": to,
        "metadata": metadata,
        "unfurl_links": False,
        "unfurl_media": False,
        **_content(item, waiting),
    }
    answer = _call("chat.postMessage", tenant_id, said)
    channel, stamp = answer.get("channel"), answer.get("ts")
    if not isinstance(channel, str) or not isinstance(stamp, str) or len(channel) + len(stamp) > 150:
        raise NotSent("Slack's answer does not say where the message is.")
    return f"{channel}:{stamp}"


def change_message(*, tenant_id: UUID, address: str, item: Item) -> None:
    """Change a message to what its request is now. One that is gone stays gone. Raises NotSent or AskedToWait."""
    channel, _, stamp = address.partition(":")
    try:
        _call("chat.update", tenant_id, {"channel": channel, "ts": stamp, **_content(item, None)}, gone=_GONE)
    except NeverSent as error:
        raise NotSent(error.message) from None


def _content(item: Item, waiting: int | None) -> dict[str, Any]:
    """Return text for notifications and one block for the channel, in which Slack makes no links of its own."""
    facts = f"{item.tool}, {item.tier} · {item.queue} · digest {item.digest}"
    if item.closed_at is not None:
        headline = f"{item.code}: {item.outcome}"
        lines = [f"*{escaped(headline)}* {_clock(item.closed_at)}", escaped(facts)]
    else:
        headline = f"{item.headline}: {item.code}, {item.tier}"
        more = "" if waiting is None else f" {waiting} wait{'s' if waiting == 1 else ''} for you."
        due = f"Decide by {_clock(item.due_at)}.{more} <{escaped(item.link)}|Open {item.code}>"
        lines = [f"*{escaped(item.headline)}: {item.code}*", escaped(facts), due]
    text = {"type": "mrkdwn", "text": "\n".join(lines), "verbatim": True}
    return {"text": escaped(headline), "blocks": [{"type": "section", "text": text}]}


def escaped(text: str) -> str:
    """Return text in which Slack sees neither link, mention nor command."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _clock(at: datetime) -> str:
    """Return a moment that Slack shows on each reader's own clock."""
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{at:%Y-%m-%d %H:%M} UTC>"


def _call(method: str, tenant_id: UUID, said: dict[str, Any], *, gone: frozenset[str] = frozenset()) -> dict[str, Any]:
    wanted = Wanted(tenant_id, settings.TOOL_ENVIRONMENT, CAPABILITY)
    try:
        token = shelf.get(wanted).found.value
    except NoCredential as error:
        raise NotSent(error.message) from None
    try:
        reply = post(
            f"{settings.SLACK_URL.rstrip('/')}/{method}",
            json.dumps(said).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json; charset=utf-8"},
            seconds=SECONDS,
            most_bytes=MOST_BYTES,
        )
    except NotReached as error:
        raise NotSent(f"Slack {error.message}.") from None
    answer = _read(reply)
    if answer.get("ok") is True:
        return answer
    told = answer.get("error")
    code = told if isinstance(told, str) and _WORD.match(told) else "an error without a name"
    if code in gone:
        return answer
    if code == "ratelimited":
        raise AskedToWait("Slack asks to wait.", 30.0)
    if code in ("invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive"):
        # A new token may be in its place already.
        shelf.drop(wanted)
    if code in _FOR_ADMINS:
        raise NeverSent(f"Slack answered {code}.")
    raise NotSent(f"Slack answered {code}.")


def _read(reply: Reply) -> dict[str, Any]:
    if reply.status == 429:
        said = reply.retry_after
        seconds = float(said) if said.isascii() and said.isdigit() and len(said) < 6 else 30.0
        raise AskedToWait("Slack asks to wait.", min(max(seconds, 1.0), LONGEST_WAIT))
    if reply.status != 200:
        raise NotSent(f"Slack answered with status {reply.status}.")
    try:
        answer = parse_json(reply.body, max_bytes=MOST_BYTES)
    except BadJSON:
        raise NotSent("Slack's answer cannot be read.") from None
    if not isinstance(answer, dict):
        raise NotSent("Slack's answer cannot be read.")
    return answer
