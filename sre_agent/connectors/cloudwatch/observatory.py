"""Logs and metrics of a tenant's services at CloudWatch, behind the port ``Observatory``.

Lines come from ``FilterLogEvents``, the latest first: one request answers at once, while an Insights query is paid for
by what it scans and has to be waited for. Figures come from ``GetMetricData``.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, ToolFailure
from sre_agent.connectors.cloudwatch.door import Account, opened
from sre_agent.connectors.cloudwatch.errors import denied
from sre_agent.connectors.cloudwatch.figures import Series, points_of, queries_of, window_of
from sre_agent.connectors.cloudwatch.lines import line_of, pattern_of
from sre_agent.connectors.effect import missing
from sre_agent.connectors.records import LogLine, Point
from sre_agent.connectors.vendor_config import cloudwatch_of
from sre_agent.connectors.vendor_schema import CloudWatch

FARTHEST = timedelta(days=1)
"""What was seen longer ago is not looked at."""
MOST_LINES, MOST_POINTS, MOST_TEXT = 500, 500, 200
MOST_PAGES = 20
"""Pages may be empty though more of them follow."""


class CloudWatchObservatory:
    """Holds no state, and no credentials longer than a call takes."""

    def logs(
        self, context: CallContext, service_ref: str, since: datetime, *, containing: str, limit: int
    ) -> Sequence[LogLine]:
        """Return the latest lines of a service since a moment, a day ago at most, the latest first.

        They contain ``containing`` in the same capitals. Raises ToolFailure NOT_FOUND for a service or log group that
        is not known.
        """
        config, account = _opened(context, service_ref)
        if not config.log_group:
            raise ToolFailure(FailureKind.NOT_FOUND, f"There is no log group of {service_ref}.", field="service")
        if len(containing) > MOST_TEXT:
            raise ToolFailure(FailureKind.VALIDATION, f"At most {MOST_TEXT} characters.", field="containing")
        limit = max(1, min(limit, MOST_LINES))
        pages = account.pages(
            "filter_log_events",
            "nextToken",
            MOST_PAGES,
            logGroupName=config.filled(service_ref, config.log_group),
            startTime=_milliseconds(_since(context, since)),
            endTime=_milliseconds(context.now),
            filterPattern=pattern_of(containing),
            startFromHead=False,
            limit=limit,
        )
        found: list[LogLine] = []
        for page in pages:
            found += map(line_of, page["events"])
            if len(found) >= limit:
                break
        return tuple(sorted(found, key=lambda line: line.at, reverse=True)[:limit])

    def metrics(self, context: CallContext, service_ref: str, since: datetime, *, points: int) -> Sequence[Point]:
        """Return how a service did since a moment, a day ago at most, the earliest first; -1 is what nobody knows.

        The pieces are whole minutes; one without any value is left out. Raises ToolFailure.
        """
        config, account = _opened(context, service_ref)
        window = window_of(_since(context, since), context.now, max(1, min(points, MOST_POINTS)))
        queries = queries_of(config, service_ref, window)
        if not queries:
            raise ToolFailure(FailureKind.NOT_FOUND, f"There are no figures of {service_ref}.", field="service")
        series: dict[str, Series] = {query["Id"]: Series() for query in queries}
        pages = account.pages(
            "get_metric_data",
            "NextToken",
            MOST_PAGES,
            MetricDataQueries=queries,
            StartTime=window.start,
            EndTime=window.end,
            ScanBy="TimestampAscending",
        )
        for page in pages:
            for result in page["MetricDataResults"]:
                _require_told(result.get("StatusCode"))
                if result.get("Id") in series:
                    series[result["Id"]].add(window, result)
        return points_of(config, window, series)


def _opened(context: CallContext, service_ref: str) -> tuple[CloudWatch, Account]:
    config = cloudwatch_of(context.tenant_id)
    if service_ref not in config.services:
        raise missing("service", "service")
    return config, opened(context.secret, config.region)


def _since(context: CallContext, since: datetime) -> datetime:
    return max(since.astimezone(UTC), context.now - FARTHEST)


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000)


def _require_told(status: object) -> None:
    """Raise ToolFailure for a metric that AWS did not tell, though the request succeeded."""
    if status == "Forbidden":
        raise denied("cloudwatch:GetMetricData")
    if status == "InternalError":
        raise ToolFailure(FailureKind.UNAVAILABLE, "CloudWatch could not read a metric.")
