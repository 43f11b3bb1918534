"""What an incident that was opened for alerts is called, and what it says. Texts of alerts are anybody's."""

from collections.abc import Sequence

from sre_agent.groups import Graph
from sre_agent.models import Alert, Incident

MOST_LISTED = 20
MOST_TITLE = 300


def opening_title(alerts: Sequence[Alert], *, is_storm: bool) -> str:
    """Return the title: the most urgent alert and how many more there are."""
    services = {alert.service for alert in alerts if alert.service}
    if is_storm:
        return f"Alert storm: {len(alerts)} alerts of {len(services)} services"
    first = min(alerts, key=lambda alert: (alert.priority, alert.began_at, alert.pk))
    named = f"{first.rule}: {first.service}" if first.service else first.rule
    more = f" and {len(alerts) - 1} more" if len(alerts) > 1 else ""
    return named[: MOST_TITLE - len(more)] + more


def opening_text(alerts: Sequence[Alert], *, former: Sequence[Incident]) -> str:
    """Return the text: the alerts, the most urgent first, and the incidents about the same that are just over."""
    ordered = sorted(alerts, key=lambda alert: (alert.priority, alert.began_at, alert.pk))
    lines = [_line(alert) for alert in ordered[:MOST_LISTED]]
    if len(ordered) > MOST_LISTED:
        lines.append(f"… and {len(ordered) - MOST_LISTED} more.")
    lines += [
        f"The same alert was one of {each.ref}, which was resolved at {each.resolved_at:%H:%M} UTC." for each in former
    ]
    return "\n".join(lines)


def _line(alert: Alert) -> str:
    about = alert.service or "no known service"
    return f"P{alert.priority} {alert.rule}, {about}, since {alert.began_at:%Y-%m-%d %H:%M:%S} UTC: {alert.words[:300]}"


def service_meant(alerts: Sequence[Alert], graph: Graph) -> str:
    """Return the service that they seem to be about: the one that all others need, empty when there is no such one."""
    services = {alert.service for alert in alerts}
    lowest = [service for service in services if not graph.above(service) & services]
    return lowest[0] if len(lowest) == 1 else ""
