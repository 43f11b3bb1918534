"""The systems that the tools work on: where services run, what is seen of them, and who is called and told.

Each is chosen by a setting and imported when it is first used: the libraries of vendors are optional. What would
have the name of a module of this package, which takes its place once it is imported, is called ``the_…``.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string

from agentops.registry.tool import CallContext
from sre_agent.connectors.lent_observatory import LentObservatory
from sre_agent.connectors.port import Board, Desk, Observatory, Pager, Platform

EMBEDDED = "embedded"
KUBERNETES_KEY, CLOUDWATCH_KEY, PAGERDUTY_KEY = "kubernetes_api", "cloudwatch_api", "pagerduty_api"
SLACK_KEY = "slack_api"
"""The capabilities whose credentials are a tenant's at these vendors."""

IMPLEMENTATIONS: Mapping[str, Mapping[str, str]] = {
    "SRE_PLATFORM": {
        EMBEDDED: "sre_agent.connectors.embedded.EmbeddedPlatform",
        "kubernetes": "sre_agent.connectors.kubernetes.KubernetesPlatform",
    },
    "SRE_OBSERVATORY": {
        EMBEDDED: "sre_agent.connectors.observing.EmbeddedObservatory",
        "cloudwatch": "sre_agent.connectors.cloudwatch.CloudWatchObservatory",
    },
    "SRE_PAGER": {
        EMBEDDED: "sre_agent.connectors.pager.EmbeddedPager",
        "pagerduty": "sre_agent.connectors.pagerduty.PagerDutyPager",
    },
    "SRE_BOARD": {
        EMBEDDED: "sre_agent.connectors.board.EmbeddedBoard",
        "slack": "sre_agent.connectors.slack.SlackBoard",
    },
}
"""By setting and value: the class that is used."""

_DESK = "sre_agent.connectors.desk.EmbeddedDesk"
_PRESENT = "sre_agent.connectors.clock.present"


def platform() -> Platform:
    """Return where services run, as ``SRE_PLATFORM`` says.

    A vendor's platform knows replicas, and not how they do: that is the observatory's to tell, when it is a vendor's as
    well. Figures of the embedded estate are about other services, whatever they are called.
    """
    if is_embedded("SRE_PLATFORM"):
        return cast("Platform", _made(chosen("SRE_PLATFORM")))
    seen = "" if is_embedded("SRE_OBSERVATORY") else chosen("SRE_OBSERVATORY")
    return cast("Platform", _observed(chosen("SRE_PLATFORM"), seen))


def observatory() -> Observatory:
    """Return where logs and metrics are kept, as ``SRE_OBSERVATORY`` says."""
    return cast("Observatory", _made(chosen("SRE_OBSERVATORY")))


def the_pager() -> Pager:
    """Return who calls people, as ``SRE_PAGER`` says."""
    return cast("Pager", _made(chosen("SRE_PAGER")))


def the_board() -> Board:
    """Return where status updates are published, as ``SRE_BOARD`` says."""
    return cast("Board", _made(chosen("SRE_BOARD")))


def the_desk() -> Desk:
    """Return where incidents are kept: always here."""
    return cast("Desk", _made(_DESK))


def chosen(setting: str) -> str:
    """Return the dotted path of the class that a setting of ``IMPLEMENTATIONS`` names."""
    return IMPLEMENTATIONS[setting][getattr(settings, setting)]


def is_embedded(setting: str) -> bool:
    """Return whether a setting of ``IMPLEMENTATIONS`` names what is here and not a vendor."""
    return bool(getattr(settings, setting) == EMBEDDED)


def present(context: CallContext) -> datetime:
    """Return what time it is where services run: an embedded estate has a clock of its own."""
    if not is_embedded("SRE_PLATFORM"):
        return context.now
    return cast("datetime", import_string(_PRESENT)(context.tenant_id, context.now))


@cache
def _made(path: str) -> object:
    return import_string(path)()


@cache
def _observed(path: str, seen: str) -> object:
    return import_string(path)(LentObservatory(cast("Observatory", _made(seen)), CLOUDWATCH_KEY) if seen else None)
