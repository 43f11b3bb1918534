"""What `manage.py check` says of the SRE role's settings."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.utils.module_loading import import_string

from sre_agent.connectors import IMPLEMENTATIONS, chosen, cluster_settings, is_embedded
from sre_agent.connectors.vendor_config import read
from sre_agent.connectors.vendor_door import PAGERDUTY_HOSTS, SLACK_HOSTS, is_safe
from sre_agent.connectors.vendor_schema import BadVendors

_ADDRESSES = (("SRE_PAGER", "PAGERDUTY_URL", PAGERDUTY_HOSTS), ("SRE_BOARD", "SLACK_URL", SLACK_HOSTS))


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


def vendors_can_be_used(**_: Any) -> list[CheckMessage]:
    """sre.E003: the document of vendors cannot be used. sre.E004: a credential would go to a host of somebody else."""
    found: list[CheckMessage] = []
    if not all(map(is_embedded, ("SRE_OBSERVATORY", "SRE_PAGER", "SRE_BOARD"))):
        try:
            read()
        except BadVendors as error:
            found.append(Error(error.message, hint=error.next_step, id="sre.E003"))
    for setting, address, hosts in _ADDRESSES:
        if not is_embedded(setting) and not is_safe(getattr(settings, address), hosts):
            words = f"{address} is no https address of the vendor."
            found.append(Error(words, hint="Correct it, or name its host in SRE_VENDOR_HOSTS.", id="sre.E004"))
    return found


def cluster_can_be_used(**_: Any) -> list[CheckMessage]:
    """sre.E005: settings of Kubernetes that cannot be used."""
    if is_embedded("SRE_PLATFORM"):
        return []
    return [Error(words, hint="See docs/kubernetes.md.", id="sre.E005") for words in cluster_settings.problems()]
