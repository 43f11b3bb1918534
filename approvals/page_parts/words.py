"""How values stand on the page (pure)."""

import json
from collections.abc import Mapping
from typing import Any

from agentops.console.reveal import reveal
from approvals import previews
from approvals.previews import is_long, unshowable_in


def flat(text: str) -> str:
    """Return text from outside as one plain string: what a reader would not see is named."""
    return "".join(f"[{part.name}]" if part.name else part.text for part in reveal(text))


def written(value: Any) -> str:
    """Return a value of the call as it is read: texts as they are, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def long_arguments(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the arguments that are folded on the page, and must be opened before approving."""
    return tuple(name for name, value in arguments.items() if is_long(written(value)) and not any(unshowable_in(value)))


def must_open(preview: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of all that is folded on the page: arguments, and parts of the preview."""
    return (*long_arguments(arguments), *previews.must_open(preview, arguments))
