"""What an installation says of its vendors, for each tenant: where its logs, figures, on-call and channel are. Pure.

The document is JSON, closed and bounded: ``{"tenants": {"<id>": {"cloudwatch": …, "pagerduty": …, "slack": …}}}``.
docs/incidents.md has an example.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.kernel.errors import AgentOpsError
from agentops.registry.declare import choice, closed, text
from agentops.registry.schemas import validator, violations

MOST_BYTES = 1_000_000
FIGURES = ("requests", "errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm", "ready")
UNITS: Mapping[str, tuple[str, ...]] = {
    "requests": ("count", "per_second"),
    "errors_pm": ("percent", "fraction", "permille", "count"),
    "latency_ms": ("seconds", "milliseconds", "microseconds"),
    "processor_pm": ("percent", "fraction", "permille", "count"),
    "memory_pm": ("percent", "fraction", "permille", "count"),
    "disk_pm": ("percent", "fraction", "permille", "count"),
    "ready": ("count",),
}
"""In which units CloudWatch may have a figure. A ``count`` of a share is divided by the metric ``per``."""
_HOLE = re.compile(r"\{([a-z][a-z_]{0,39})\}", re.ASCII)


class BadVendors(AgentOpsError):
    """The document of vendors cannot be used."""

    code = "BAD_VENDORS"
    next_step = "Correct the file that SRE_VENDORS_FILE names: docs/incidents.md has an example."


@dataclass(frozen=True)
class Metric:
    """One metric of CloudWatch. Texts may have holes such as ``{service}``, which a service's words fill."""

    namespace: str
    name: str
    statistic: str
    dimensions: Mapping[str, str]


@dataclass(frozen=True)
class Figure:
    """Where one of our figures comes from. ``is_zero``: no data point means nothing happened, not that nobody knows."""

    metric: Metric
    unit: str
    per: Metric | None = None
    is_zero: bool = False


@dataclass(frozen=True)
class CloudWatch:
    """A tenant's services at CloudWatch. ``services`` are their words for the holes, beside ``service`` itself."""

    region: str
    services: Mapping[str, Mapping[str, str]]
    log_group: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)

    def filled(self, service: str, pattern: str) -> str:
        """Return a text with its holes filled for a service. Raises BadVendors for a word that it does not have."""
        words = {**self.services[service], "service": service}

        def word(hole: re.Match[str]) -> str:
            if hole[1] not in words:
                raise BadVendors(f"The service {service} has no word for {hole[0]}.")
            return words[hole[1]]

        return _HOLE.sub(word, pattern)


@dataclass(frozen=True)
class PagerDuty:
    """Where people are called: a service, an escalation policy, and the address of a user who does it."""

    service: str
    policy: str
    sender: str


@dataclass(frozen=True)
class Slack:
    """The channel for status updates, by its id."""

    channel: str


@dataclass(frozen=True)
class Vendors:
    """What one tenant has of each; None: nothing."""

    cloudwatch: CloudWatch | None = None
    pagerduty: PagerDuty | None = None
    slack: Slack | None = None


def _patterned(pattern: str, most: int) -> dict[str, Any]:
    return {**text(most), "pattern": pattern}


def _mapped(names: Mapping[str, Any], values: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {
        "type": "object",
        "propertyNames": dict(names),
        "additionalProperties": dict(values),
        "maxProperties": most,
    }


_METRIC = {
    "namespace": text(255),
    "name": text(255),
    "statistic": _patterned(r"^(Average|Sum|Minimum|Maximum|SampleCount|p[0-9]{1,2}(\.[0-9]{1,2})?)$", 12),
    "dimensions": _mapped(text(255), text(1_024), 30),
}


def _figure(units: tuple[str, ...]) -> dict[str, Any]:
    told = {**_METRIC, "unit": choice(*units), "per": closed(_METRIC), "missing": choice("zero", "unknown")}
    return closed(told, optional=("per", "missing"))


SCHEMA: Mapping[str, Any] = closed(
    {
        "tenants": _mapped(
            _patterned("^[0-9a-f-]+$", 36),
            closed(
                {
                    "cloudwatch": closed(
                        {
                            "region": _patterned("^[a-z]+(-[a-z]+)+-[0-9]$", 40),
                            "services": _mapped(
                                text(64), _mapped(_patterned("^[a-z][a-z_]*$", 40), text(512), 20), 1_000
                            ),
                            "log_group": text(512),
                            "figures": closed(
                                {name: _figure(units) for name, units in UNITS.items()}, optional=FIGURES
                            ),
                        },
                        optional=("log_group", "figures"),
                    ),
                    "pagerduty": closed(
                        {
                            "service": _patterned("^[A-Z0-9]+$", 30),
                            "policy": _patterned("^[A-Z0-9]+$", 30),
                            "from": _patterned("^[!-?A-~]+@[A-Za-z0-9.-]+$", 320),
                        }
                    ),
                    "slack": closed({"channel": _patterned("^[CG][A-Z0-9]+$", 31)}),
                },
                optional=("cloudwatch", "pagerduty", "slack"),
            ),
            1_000,
        )
    }
)


def vendors_from(body: bytes) -> Mapping[str, Vendors]:
    """Return what a document says, by tenant. Raises BadVendors."""
    try:
        told = parse_json(body, max_bytes=MOST_BYTES)
    except BadJSON as error:
        raise BadVendors(f"The document is no JSON: {error.message}.") from error
    wrong = violations(validator(SCHEMA), told)
    if wrong:
        raise BadVendors(f"{wrong[0].path or 'the document'}: {wrong[0].message}.")
    if not isinstance(told, dict):
        raise BadVendors("The document is no object.")
    tenants: Mapping[str, Any] = told["tenants"]
    return {tenant: _vendors(each) for tenant, each in tenants.items()}


def _vendors(told: Mapping[str, Any]) -> Vendors:
    pagerduty, slack = told.get("pagerduty"), told.get("slack")
    return Vendors(
        cloudwatch=_cloudwatch(told["cloudwatch"]) if "cloudwatch" in told else None,
        pagerduty=PagerDuty(pagerduty["service"], pagerduty["policy"], pagerduty["from"]) if pagerduty else None,
        slack=Slack(slack["channel"]) if slack else None,
    )


def _cloudwatch(told: Mapping[str, Any]) -> CloudWatch:
    figures = {name: _figure_from(name, each) for name, each in told.get("figures", {}).items()}
    made = CloudWatch(told["region"], told["services"], told.get("log_group", ""), figures)
    patterns = [made.log_group]
    for figure in figures.values():
        for metric in (figure.metric, figure.per):
            patterns += [] if metric is None else [metric.namespace, metric.name, *metric.dimensions.values()]
    for service in made.services:
        for pattern in patterns:
            made.filled(service, pattern)
    return made


def _figure_from(name: str, told: Mapping[str, Any]) -> Figure:
    is_share, counted = name.endswith("_pm"), told["unit"] == "count"
    if "per" in told and not (is_share and counted):
        raise BadVendors(f"The figure {name} in {told['unit']} is not a part of anything, so that it has no per.")
    if is_share and counted and "per" not in told:
        raise BadVendors(f"The figure {name} is counted, so that per has to say what it is a part of.")
    per = _metric(told["per"]) if "per" in told else None
    return Figure(_metric(told), told["unit"], per, told.get("missing") == "zero")


def _metric(told: Mapping[str, Any]) -> Metric:
    return Metric(told["namespace"], told["name"], told["statistic"], told["dimensions"])
