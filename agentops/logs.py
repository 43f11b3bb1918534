"""How a log line looks: time, level, logger, message, then the extra fields as name=value."""

import json
import logging
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
# A request or a socket has no useful text form.
_SKIPPED = frozenset({"request", "server_time"})


class LineFormatter(logging.Formatter):
    """One event, one line: control characters are escaped, so that no content can forge a second event.

    Only a traceback, which follows its event, has lines of its own; each is indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = {
            name: value
            for name, value in vars(record).items()
            if name not in _STANDARD and name not in _SKIPPED and not name.startswith("_")
        }
        parts = [at, record.levelname, record.name, _escaped(record.getMessage())]
        parts += [f"{name}={json.dumps(value, default=str)}" for name, value in sorted(fields.items())]
        line = " ".join(parts)
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n    {_escaped(part)}" for part in trace.splitlines())
        return line


def _escaped(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
