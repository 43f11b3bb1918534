"""What all modules share: paths, moments, ids of what may be expanded, and versions. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import quote

from agentops.kernel.canonical import canonical_bytes
from agentops.kernel.money import Money
from billing_agent.connectors.records import Charge, Credit, Customer, Invoice, Method, Plan, Subscription

Obj = Mapping[str, Any]
Versioned = TypeVar("Versioned", Charge, Credit, Customer, Invoice, Method, Plan, Subscription)

KEY = "agentops_key"
STEP = "agentops_step"
VERSION_BYTES = 6


def path_of(*parts: str) -> str:
    """Return the path of a request; what a part says is one segment, whatever it holds."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def moment(seconds: int | None) -> datetime | None:
    """Return a moment that Stripe gives in seconds since 1970, None for none."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def known_moment(seconds: int) -> datetime:
    """Return a moment that Stripe always gives."""
    return datetime.fromtimestamp(seconds, UTC)


def seconds_of(at: datetime) -> int:
    """Return a moment as Stripe gives it, without its fraction."""
    return int(at.timestamp())


def ref_of(field: Any) -> str:
    """Return the id of what a field refers to, expanded or not; empty for nothing."""
    if field is None:
        return ""
    return str(field["id"]) if isinstance(field, Mapping) else str(field)


def metadata_of(obj: Obj) -> Mapping[str, str]:
    """Return the metadata of an object, empty when it has none."""
    return obj.get("metadata") or {}


def versioned(record: Versioned, stamp: str = "") -> Versioned:
    """Return the record with the version that its fields have: Stripe keeps none.

    ``stamp`` tells apart states that look alike, such as before and after a pause that was taken back: the key of the
    last call that wrote the record.
    """
    told = {each.name: _plain(getattr(record, each.name)) for each in fields(record) if each.name != "version"}
    digest = sha256(canonical_bytes({"record": told, "stamp": stamp})).digest()
    return replace(record, version=int.from_bytes(digest[:VERSION_BYTES], "big"))


def _plain(value: Any) -> Any:
    """Return a field as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Money):
        return [value.minor, value.currency]
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(each) for name, each in asdict(value).items()}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value
