"""CloudWatch of moto behind HTTP on loopback, with what moto does not know yet: the latest lines first."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import botocore.session
import pytest
from moto.logs.models import LogGroup
from moto.logs.responses import LogsResponse
from moto.server import ThreadedMotoServer

KEYS = {"access_key_id": "AKIAFORTESTS00000000", "secret_access_key": "secret-of-tests-and-nothing-else-0000000"}
REGION = "eu-central-1"


class Aws:
    """A running CloudWatch, and how a test fills it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[dict[str, Any]] = []

    def client(self, service: str) -> Any:
        """Return a plain client of the SDK."""
        session = botocore.session.Session()
        return session.create_client(
            service,
            region_name=REGION,
            endpoint_url=self.url,
            aws_access_key_id=KEYS["access_key_id"],
            aws_secret_access_key=KEYS["secret_access_key"],
        )

    def logged(self, group: str, stream: str, *lines: tuple[datetime, str]) -> None:
        """Write lines into a stream of a group."""
        logs = self.client("logs")
        if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
            logs.create_log_group(logGroupName=group)
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        events = [{"timestamp": int(at.timestamp() * 1_000), "message": text} for at, text in lines]
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)

    def measured(self, namespace: str, name: str, dimensions: dict[str, str], *values: tuple[datetime, float]) -> None:
        """Write values of a metric."""
        told = [{"Name": each, "Value": value} for each, value in dimensions.items()]
        data = [{"MetricName": name, "Dimensions": told, "Timestamp": at, "Value": value} for at, value in values]
        self.client("cloudwatch").put_metric_data(Namespace=namespace, MetricData=data)


@contextmanager
def moto_aws() -> Iterator[Aws]:
    """Run a CloudWatch in this process, on a port of its own."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        server.start()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        host, port = server.get_host_and_port()
        aws = Aws(f"http://{host}:{port}")
        patch.setattr(LogsResponse, "filter_log_events", _latest_first(LogsResponse.filter_log_events, aws))
        try:
            yield aws
        finally:
            server.stop()


def _latest_first(answer: Callable[[Any], str], aws: Aws) -> Callable[[Any], str]:
    """Return moto's answer with ``startFromHead`` heeded, as AWS documents it."""

    def answered(self: Any) -> str:
        told = json.loads(self.body)
        aws.asked.append(told)
        if told.get("startFromHead", True):
            return answer(self)
        group: LogGroup = self.logs_backend.groups.get(told["logGroupName"])
        if group is None:
            return answer(self)
        names = told.get("logStreamNames", [])
        span = (told["startTime"], told["endTime"])
        events, _, _ = group.filter_log_events(
            told["logGroupName"], names, *span, 10_000, None, told["filterPattern"], True
        )
        events.reverse()
        first = int(told.get("nextToken", "0"))
        most = first + min(told["limit"], 25)
        page: dict[str, Any] = {"events": events[first:most], "searchedLogStreams": []}
        if most < len(events):
            page["nextToken"] = str(most)
        return json.dumps(page)

    return answered
