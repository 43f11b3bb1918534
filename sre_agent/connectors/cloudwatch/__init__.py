"""CloudWatch as the place of logs and metrics. Imported only where it is used: its SDK is an optional extra."""

from sre_agent.connectors.cloudwatch.observatory import CloudWatchObservatory

__all__ = ["CloudWatchObservatory"]
