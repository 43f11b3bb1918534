"""The sinks that LEDGER_SINKS names."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.notes import COSIGNATURE, BadNote, PublicKey
from agentops.ledger.sinks.bucket import Bucket
from agentops.ledger.sinks.folder import Folder
from agentops.ledger.sinks.http_witness import HttpWitness
from agentops.ledger.sinks.port import Sink

SEVEN_YEARS = 2555
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_MOST_DAYS = 36_500


class BadSinks(AgentOpsError):
    """LEDGER_SINKS cannot be read."""

    code = "BAD_SINKS"
    next_step = "Write for example: folder audit /mnt/evidence, witness neighbour https://witness.example/ VKEY."


def sinks() -> tuple[Sink, ...]:
    """Return the sinks, none when LEDGER_SINKS is not set. Raises BadSinks."""
    return _read(tuple(settings.LEDGER_SINKS))


@lru_cache(maxsize=4)
def _read(entries: tuple[str, ...]) -> tuple[Sink, ...]:
    found = tuple(_sink(entry) for entry in entries)
    names = [one.name for one in found]
    if len(set(names)) != len(names):
        raise BadSinks("Two sinks of LEDGER_SINKS have one name.")
    return found


def _sink(entry: str) -> Sink:
    parts = entry.split()
    if len(parts) < 3 or parts[0] not in _KINDS:
        raise BadSinks("A sink of LEDGER_SINKS is not written as KIND NAME PLACE, where KIND is one of them.")
    kind, name, *rest = parts
    if _NAME.fullmatch(name) is None:
        raise BadSinks(f"The sink {name!r} needs a name of small letters, digits, - and _.")
    return _KINDS[kind](name, rest)


def _folder(name: str, rest: list[str]) -> Sink:
    path = Path(" ".join(rest))
    if not path.is_absolute():
        raise BadSinks(f"The folder of the sink {name} must be written from the root.")
    return Folder(name, path)


def _bucket(name: str, rest: list[str]) -> Sink:
    place = urlsplit(rest[0])
    options = dict(parse_qsl(place.query))
    if len(rest) != 1 or place.scheme != "s3" or not place.netloc or set(options) - {"region", "endpoint", "days"}:
        raise BadSinks(f"The sink {name} is not written as s3://BUCKET/PREFIX?region=REGION&days=DAYS.")
    if find_spec("boto3") is None:
        raise BadSinks(f"The sink {name} needs boto3.", next_step="Install requirements-s3.txt.")
    prefix = place.path.strip("/")
    endpoint = options.get("endpoint", "")
    if endpoint and not _is_web(endpoint):
        raise BadSinks(f"The endpoint of the sink {name} is no web address.")
    return Bucket(
        name,
        place.netloc,
        f"{prefix}/" if prefix else "",
        region=options.get("region", ""),
        endpoint=endpoint,
        days=_days(name, options),
    )


def _days(name: str, options: Mapping[str, str]) -> int:
    text = options.get("days", str(SEVEN_YEARS))
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:9]) <= _MOST_DAYS:
        raise BadSinks(f"The sink {name} must lock for 1 to {_MOST_DAYS} days.")
    return int(text)


def _witness(name: str, rest: list[str]) -> Sink:
    if len(rest) != 2 or not _is_web(rest[0]):
        raise BadSinks(f"The sink {name} is not written as witness NAME ADDRESS VKEY.")
    try:
        key = PublicKey.from_vkey(rest[1])
    except BadNote as error:
        raise BadSinks(f"The key of the witness {name} cannot be used: {error.message}.") from None
    if key.kind != COSIGNATURE:
        raise BadSinks(f"The key of the witness {name} is that of a log.")
    return HttpWitness(name, f"{rest[0].rstrip('/')}/", key)


def _is_web(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username and not parts.query


_KINDS: Mapping[str, Callable[[str, list[str]], Sink]] = {"folder": _folder, "bucket": _bucket, "witness": _witness}
