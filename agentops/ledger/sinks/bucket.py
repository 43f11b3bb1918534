"""A bucket with object lock, at S3 or what speaks like it: nobody can change or delete a checkpoint before its time.

boto3 is not among what every installation needs, so it is imported when a bucket is used: requirements-s3.txt.
"""

from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from agentops.ledger.sinks.port import SECONDS, Contradicted, Delivered, SinkFailed, Witnessed

_MOST_BYTES = 1_000_000
_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict")


class Bucket:
    """Keeps each checkpoint as ``PREFIX/SIZE.checkpoint``, locked in compliance mode for ``days`` from its time on."""

    latest_only = False

    def __init__(self, name: str, bucket: str, prefix: str, *, region: str, endpoint: str, days: int) -> None:
        """Connect to nothing yet. ``endpoint`` empty is AWS's own."""
        self.name, self._bucket, self._prefix = name, bucket, prefix
        self._region, self._endpoint, self._days = region, endpoint, days

    def deliver(self, checkpoint: Delivered, *, last: int) -> Witnessed:
        """Put the object, unless it is there. Raises SinkFailed, and Contradicted when it has another content."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an optional package

        place = {"Bucket": self._bucket, "Key": f"{self._prefix}{checkpoint.size:020}.checkpoint"}
        until = datetime.fromtimestamp(checkpoint.unix_time, UTC) + timedelta(days=self._days)
        try:
            self._put(place, checkpoint.note, until)
            found = self._client.get_object(**place)
            content = found["Body"].read(_MOST_BYTES)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            raise SinkFailed(f"the bucket {self._bucket} answered {code[:60]}") from None
        except (BotoCoreError, OSError) as error:
            raise SinkFailed(f"the bucket {self._bucket} could not be used ({type(error).__name__})") from None
        if content != checkpoint.note:
            raise Contradicted(f"{place['Key']} holds another checkpoint of this size")
        if found.get("ObjectLockMode") != "COMPLIANCE" or found.get("ObjectLockRetainUntilDate", until) < until:
            raise SinkFailed(f"the bucket {self._bucket} did not lock {place['Key']}: it needs object lock")
        return Witnessed()

    def _put(self, place: dict[str, str], note: bytes, until: datetime) -> None:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - an optional package

        try:
            self._client.put_object(
                **place,
                Body=note,
                ContentType="text/plain; charset=utf-8",
                IfNoneMatch="*",
                ChecksumAlgorithm="SHA256",
                ObjectLockMode="COMPLIANCE",
                ObjectLockRetainUntilDate=until,
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") not in _TAKEN:
                raise

    @cached_property
    def _client(self) -> Any:
        import boto3  # noqa: PLC0415 - an optional package
        from botocore.config import Config  # noqa: PLC0415 - an optional package

        # Empty proxies: those of the environment would see the credentials.
        config = Config(
            connect_timeout=SECONDS, read_timeout=SECONDS, retries={"total_max_attempts": 1}, proxies={"": ""}
        )
        session = boto3.session.Session()
        return session.client(
            "s3", region_name=self._region or None, endpoint_url=self._endpoint or None, config=config
        )
