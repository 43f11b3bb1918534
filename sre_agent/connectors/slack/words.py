"""Words as Slack gets them: plain text, in which nothing is a link, a mention, a command or a format. Pure."""

import re
from typing import Any

from sre_agent.connectors.hostile_text import visible

LONGEST = 2_800
"""A block of plain text takes 3,000 characters."""
EVENT = "agentops_status_update"
_SCHEME = re.compile(r"(?<=[A-Za-z0-9])://")
_LINE = re.compile(r"\r\n?|\n")


def content_of(words: str, update_ref: str, incident_ref: str) -> dict[str, Any]:
    """Return what a message is made of.

    ``text`` is what notifications show; the channel shows the block. The metadata are what the message is found by.
    """
    plain = plain_of(words)
    return {
        "text": escaped(plain),
        "blocks": [{"type": "section", "text": {"type": "plain_text", "text": plain, "emoji": False}}],
        "metadata": {
            "event_type": EVENT,
            "event_payload": {"update_ref": update_ref, "incident_ref": incident_ref},
        },
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def plain_of(words: str) -> str:
    """Return the words with their lines, nothing unseen, and addresses that can be read but not followed."""
    lines = "\n".join(visible(line, LONGEST) for line in _LINE.split(words.strip()))
    return _fitting(_SCHEME.sub("[:]//", lines))


def _fitting(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def escaped(text: str) -> str:
    """Return text in which Slack sees neither link, mention nor command.

    https://docs.slack.dev/messaging/formatting-message-text/#escaping
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
