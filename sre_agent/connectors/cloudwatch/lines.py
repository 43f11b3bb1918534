"""What CloudWatch says of log lines, as records. Anybody may be behind a line. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sre_agent.connectors.hostile_text import visible
from sre_agent.connectors.records import LogLine

LONGEST_LINE = 1_000
LONGEST_REPLICA = 64
_LEVELS = {
    "error": re.compile(r"\b(ERROR|FATAL|CRITICAL|PANIC|SEVERE|EMERG(ENCY)?|ALERT)\b", re.IGNORECASE | re.ASCII),
    "warn": re.compile(r"\bWARN(ING)?\b", re.IGNORECASE | re.ASCII),
}
_WHERE = 200
"""A level stands near the beginning of a line."""


def line_of(event: Mapping[str, Any]) -> LogLine:
    """Return one event of ``FilterLogEvents`` as a line. The replica is the last part of its stream's name."""
    text = str(event.get("message", "")).rstrip("\r\n")
    replica = str(event.get("logStreamName", "")).rsplit("/", 1)[-1]
    at = datetime.fromtimestamp(int(event.get("timestamp", 0)) / 1_000, UTC)
    return LogLine(at, level_of(text), visible(replica, LONGEST_REPLICA), visible(text, LONGEST_LINE))


def level_of(text: str) -> str:
    """Return how serious a line says it is: the first word for it near its beginning, ``info`` without one."""
    found = [(match.start(), level) for level, words in _LEVELS.items() if (match := words.search(text, 0, _WHERE))]
    return min(found)[1] if found else "info"


def pattern_of(text: str) -> str:
    """Return the filter pattern for lines that contain a text as it stands, empty for all.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if text else ""
