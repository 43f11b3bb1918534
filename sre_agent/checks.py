"""What `manage.py check` says of the SRE role's settings."""

from typing import Any

from django.core.checks import CheckMessage, Error
from django.utils.module_loading import import_string

from sre_agent.connectors import IMPLEMENTATIONS, chosen, is_embedded


def systems_can_be_used(**_: Any) -> list[CheckMessage]:
    """sre.E001: a system whose library is not installed. sre.E002: figures of one estate, and services of another."""
    found: list[CheckMessage] = []
    for setting in IMPLEMENTATIONS:
        try:
            import_string(chosen(setting))
        except ImportError as error:
            hint = "Install what it needs (requirements-*.txt), or choose embedded."
            found.append(Error(f"{setting} names what cannot be imported: {error}.", hint=hint, id="sre.E001"))
    if is_embedded("SRE_PLATFORM") != is_embedded("SRE_OBSERVATORY"):
        words = "SRE_PLATFORM and SRE_OBSERVATORY are not about the same services: one of them is embedded alone."
        found.append(Error(words, hint="Make both embedded, or neither.", id="sre.E002"))
    return found
