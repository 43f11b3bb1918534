"""Which model the agents think with. The one place that reads the settings about it.

``AGENT_MODEL`` is ``anthropic:NAME`` or ``openai:NAME``; empty means the offline playbook.
``AGENT_MODEL_KEY`` is the provider's key. ``AGENT_MODEL_URL`` replaces the provider's address, for any
server that speaks the same protocol; a server of one's own may need no key.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

from django.conf import settings

from agentops.kernel.errors import AgentOpsError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,127}\Z", re.ASCII)


class Provider(StrEnum):
    """A protocol in which a model is spoken to."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


_ADDRESSES = {Provider.ANTHROPIC: "https://api.anthropic.com", Provider.OPENAI: "https://api.openai.com/v1"}


class BadModelSetting(AgentOpsError):
    """A model setting that cannot be used. ``check_id`` is the id of the system check that reports it."""

    code = "BAD_MODEL_SETTING"

    def __init__(self, message: str, *, check_id: str, next_step: str) -> None:
        super().__init__(message, next_step=next_step)
        self.check_id = check_id


@dataclass(frozen=True)
class ModelChoice:
    """A model and how to reach it. ``own_server`` is True when the address is not the provider's."""

    provider: Provider
    model: str
    base_url: str
    own_server: bool
    key: str = field(repr=False)

    @property
    def name(self) -> str:
        """The name shown to people, for example ``anthropic:NAME``."""
        return f"{self.provider}:{self.model}"


def model_choice() -> ModelChoice | None:
    """Return the configured model, or None for the offline playbook. Raises BadModelSetting."""
    wanted = (settings.AGENT_MODEL or "").strip()
    if not wanted:
        return None
    return parse_choice(wanted, key=settings.AGENT_MODEL_KEY or "", url=settings.AGENT_MODEL_URL or "")


def parse_choice(wanted: str, *, key: str, url: str) -> ModelChoice:
    """Read the three settings. Raises BadModelSetting, whose words never contain the key."""
    word, _, model = wanted.partition(":")
    if word not in list(Provider) or not _NAME.match(model):
        raise BadModelSetting(
            f"AGENT_MODEL is {wanted[:80]!r}, which names no model.",
            check_id="agentops.E101",
            next_step="Write anthropic:NAME or openai:NAME, or leave it empty for the offline playbook.",
        )
    provider, url, key = Provider(word), url.strip(), key.strip()
    if url:
        _require_address(url)
    if not key and not (url and provider is Provider.OPENAI):
        raise BadModelSetting(
            "AGENT_MODEL names a model, but AGENT_MODEL_KEY is empty.",
            check_id="agentops.E103",
            next_step="Set AGENT_MODEL_KEY, or leave AGENT_MODEL empty for the offline playbook.",
        )
    if not key.isascii() or not (key or "x").isprintable():
        raise BadModelSetting(
            "AGENT_MODEL_KEY holds characters that no key has.",
            check_id="agentops.E103",
            next_step="Copy the key again, without line breaks or quotes.",
        )
    return ModelChoice(provider, model, url.rstrip("/") or _ADDRESSES[provider], bool(url), key)


def _require_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    else:
        usable = usable and not (parts.username or parts.password or parts.query or parts.fragment)
    if not usable:
        raise BadModelSetting(
            "AGENT_MODEL_URL is not the address of a server.",
            check_id="agentops.E102",
            next_step="Write http(s)://host[:port][/path] without user name, password or query.",
        )
