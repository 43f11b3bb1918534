"""A bucket with object lock, at moto's server over HTTP."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from agentops.ledger.sinks import BadSinks, Contradicted, Delivered, SinkFailed
from agentops.ledger.sinks.bucket import Bucket
from agentops.ledger.sinks.configured import _read
from tests.factories.moto_aws import KEYS, REGION, Aws, moto_aws

# Objects can be locked until a moment in the future only.
AT = datetime.now(UTC).replace(microsecond=0)
ONE = Delivered(7, bytes(32), "log.example\n7\n\n— x\n".encode(), int(AT.timestamp()))
OTHER = Delivered(7, bytes(32), b"another\n", ONE.unix_time)
KEY = f"ledger/{7:020}.checkpoint"


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with moto_aws() as running:
        client = running.client("s3")
        where = {"LocationConstraint": REGION}
        client.create_bucket(Bucket="locked", CreateBucketConfiguration=where, ObjectLockEnabledForBucket=True)
        client.create_bucket(Bucket="open", CreateBucketConfiguration=where)
        yield running


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["secret_access_key"])


def _bucket(aws: Aws, name: str = "locked") -> Bucket:
    return Bucket("store", name, "ledger/", region=REGION, endpoint=aws.url, days=2555)


def test_checkpoint_is_kept_and_locked(aws: Aws) -> None:
    bucket = _bucket(aws)
    for _ in range(2):
        bucket.deliver(ONE, last=0)
    found = aws.client("s3").get_object(Bucket="locked", Key=KEY)
    assert found["Body"].read() == ONE.note
    assert (found["ObjectLockMode"], found["ObjectLockRetainUntilDate"]) == ("COMPLIANCE", AT + timedelta(days=2555))
    versions = aws.client("s3").list_object_versions(Bucket="locked", Prefix=KEY)["Versions"]
    assert len(versions) == 1
    with pytest.raises(Contradicted):
        bucket.deliver(OTHER, last=0)
    assert aws.client("s3").get_object(Bucket="locked", Key=KEY)["Body"].read() == ONE.note


@pytest.mark.parametrize("name", ["open", "missing"])
def test_bucket_that_cannot_lock_is_not_enough(aws: Aws, name: str) -> None:
    with pytest.raises(SinkFailed):
        _bucket(aws, name).deliver(ONE, last=0)


def test_bucket_that_is_down() -> None:
    bucket = Bucket("store", "locked", "", region=REGION, endpoint="http://127.0.0.1:9", days=1)
    with pytest.raises(SinkFailed):
        bucket.deliver(ONE, last=0)


def test_sinks_are_read() -> None:
    (bucket,) = _read(("bucket store s3://evidence/ledger?region=eu-central-1&days=30",))
    assert (bucket.name, bucket.latest_only, type(bucket)) == ("store", False, Bucket)


@pytest.mark.parametrize(
    "entry",
    [
        "folder",
        "folder audit relative/path",
        "folder Audit /mnt",
        "tape audit /mnt",
        "bucket store evidence",
        "bucket store s3://evidence?days=0",
        "bucket store s3://evidence?days=x",
        "bucket store s3://evidence?what=x",
        "bucket store s3://evidence?endpoint=ftp://x",
        "witness w https://w.example",
        "witness w ftp://w.example vkey",
        "witness w https://w.example name+00000000+AAAA",
    ],
)
def test_what_is_no_sink_is_refused(entry: str) -> None:
    with pytest.raises(BadSinks):
        _read((entry,))
    with pytest.raises(BadSinks):
        _read(("folder a /mnt/a", "folder a /mnt/b"))
