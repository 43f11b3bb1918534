"""What one account holds in one mode, and what happened to it."""

import copy
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.factories.fake_stripe.errors import no_such

API_VERSION = "2026-10-28.endive"

Obj = dict[str, Any]

KINDS = {
    "customer": "customer",
    "payment_method": "PaymentMethod",
    "product": "product",
    "price": "price",
    "tax_rate": "tax rate",
    "subscription": "subscription",
    "subscription_item": "subscription item",
    "subscription_schedule": "subscription schedule",
    "invoice": "invoice",
    "invoiceitem": "invoiceitem",
    "invoice_payment": "invoice payment",
    "payment_intent": "payment_intent",
    "charge": "charge",
    "refund": "refund",
    "dispute": "dispute",
    "credit_note": "credit note",
    "customer_balance_transaction": "customer balance transaction",
    "balance_transaction": "balance transaction",
    "event": "event",
}
"""The objects that are known, with the words that an error says."""


@dataclass
class Clock:
    """The fake's own time, in whole seconds: it stands where it was set until it is advanced, or is the real one."""

    fixed: int | None = None

    @property
    def now(self) -> int:
        """The moment, as seconds since 1970."""
        return int(time.time()) if self.fixed is None else self.fixed


@dataclass
class Log:
    """Every effect in the order in which it happened; append-only, also in a file when there is one."""

    path: Path | None = None
    entries: list[Obj] = field(default_factory=list)

    def append(self, entry: Obj) -> None:
        """Add an effect."""
        entry = {"n": len(self.entries) + 1, **entry}
        self.entries.append(entry)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, sort_keys=True) + "\n")


@dataclass(frozen=True)
class Request:
    """The request that is being carried out; ``key`` is its idempotency key."""

    ref: str = ""
    key: str | None = None
    method: str = ""
    path: str = ""


@dataclass
class World:
    """The objects of one mode. Objects are dicts in Stripe's shape, with ids where others are meant."""

    mode: str
    clock: Clock
    log: Log
    records: dict[str, dict[str, Obj]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    other: "World | None" = None
    request: Request = field(default_factory=Request)
    search_lag: int = 60
    history: dict[str, list[tuple[int, Obj]]] = field(default_factory=dict)
    series: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    """What the issuer of a payment method answers, by its id; nothing when it pays."""

    @property
    def live(self) -> bool:
        """Whether real money would move."""
        return self.mode == "live"

    @property
    def now(self) -> int:
        """The moment."""
        return self.clock.now

    def new_id(self, prefix: str) -> str:
        """Return an id that was not used before, the same in each run."""
        self.series += 1
        return f"{prefix}_{hashlib.sha256(f'{self.mode}/{self.series}'.encode()).hexdigest()[:24]}"

    def add(self, obj: Obj) -> Obj:
        """Keep a new object and return it."""
        self.records[obj["object"]][obj["id"]] = obj
        return obj

    def snapshot(self, obj: Obj) -> None:
        """Remember what an object is now: a search finds what it was before, for as long as its index lags."""
        seen = self.history.setdefault(obj["id"], [])
        seen.append((self.now, copy.deepcopy(obj)))
        while len(seen) > 1 and seen[1][0] <= self.now - self.search_lag:
            seen.pop(0)

    def indexed(self, kind: str) -> Iterator[Obj]:
        """Yield the objects of a kind as a search knows them, the newest first."""
        for ref in reversed(list(self.records[kind])):
            known = [obj for at, obj in self.history.get(ref, ()) if at <= self.now - self.search_lag]
            if known:
                yield known[-1]

    def find(self, kind: str, ref: str, param: str = "id") -> Obj:
        """Return an object. Raises ApiError when it does not exist in this mode."""
        found = self.records[kind].get(ref)
        if found is None:
            there = self.other is not None and ref in self.other.records[kind]
            elsewhere = self.other.mode if there and self.other is not None else None
            raise no_such(KINDS[kind], ref, param, elsewhere=elsewhere)
        return found

    def customer(self, ref: str, param: str = "customer") -> Obj:
        """Return a customer for whom something is made. Raises ApiError for one who is deleted too."""
        customer = self.find("customer", ref, param)
        if customer.get("deleted"):
            raise no_such("customer", ref, param)
        return customer

    def all(self, kind: str, **equal: Any) -> Iterator[Obj]:
        """Yield the objects of a kind with these values, the newest first."""
        for obj in reversed(list(self.records[kind].values())):
            if all(obj.get(name) == value for name, value in equal.items()):
                yield obj

    def effect(self, what: str, obj: Obj, previous: Obj | None = None, *, event: bool = True) -> None:
        """Log an effect under the request's key, and make the event of it."""
        self.snapshot(obj)
        told = ("id", "object", "amount", "currency", "status", "customer", "amount_due", "amount_paid", "total")
        self.log.append(
            {
                "at": self.now,
                "mode": self.mode,
                "effect": what,
                "key": self.request.key,
                "request": self.request.ref or None,
                "call": f"{self.request.method} {self.request.path}".strip(),
                **{name: obj[name] for name in told if name in obj},
            }
        )
        if event:
            self._event(what, obj, previous)

    def _event(self, what: str, obj: Obj, previous: Obj | None) -> None:
        data: Obj = {"object": copy.deepcopy(shown(obj))}
        if previous is not None:
            data["previous_attributes"] = copy.deepcopy(shown(previous))
        ref = self.new_id("evt")
        self.records["event"][ref] = {
            "id": ref,
            "object": "event",
            "api_version": API_VERSION,
            "created": self.now,
            "data": data,
            "livemode": self.live,
            "pending_webhooks": 1,
            "request": {"id": self.request.ref or None, "idempotency_key": self.request.key},
            "type": what,
        }


def changed_fields(before: Obj, after: Obj) -> Obj:
    """Return the former values of what is different now."""
    return {name: before.get(name) for name in after if before.get(name) != after[name]}


def shown(value: Any) -> Any:
    """Leave out what stands in a record only for the fake itself: names that begin with an underscore."""
    if isinstance(value, dict):
        return {name: shown(each) for name, each in value.items() if not name.startswith("_")}
    if isinstance(value, list):
        return [shown(each) for each in value]
    return value
