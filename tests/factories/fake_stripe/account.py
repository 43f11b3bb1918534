"""An account with its two modes: what a request is answered."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.factories.fake_stripe import (
    balances,
    catalog,
    credit_notes,
    customers,
    disputes,
    invoice_items,
    invoice_lines,
    invoices,
    payment_methods,
    payments,
    previews,
    refunds,
    schedules,
    subscriptions,
    webhooks,
)
from tests.factories.fake_stripe.errors import ApiError
from tests.factories.fake_stripe.expanding import expanded
from tests.factories.fake_stripe.keys import (
    SECRET_LIVE,
    SECRET_TEST,
    ApiKey,
    Idempotency,
    Kept,
    authenticated,
)
from tests.factories.fake_stripe.params import decoded
from tests.factories.fake_stripe.routing import Route, found
from tests.factories.fake_stripe.world import API_VERSION, Clock, Log, Obj, Request, World, shown

ACCOUNT = "acct_fake000000000000"


def _account(world: World, form: Mapping[str, Any]) -> Obj:
    return {
        "id": ACCOUNT,
        "object": "account",
        "charges_enabled": True,
        "country": "US",
        "created": 0,
        "default_currency": "usd",
        "details_submitted": True,
        "email": None,
        "metadata": {},
        "payouts_enabled": True,
        "type": "standard",
    }


ROUTES: list[Route] = [
    Route("GET", "/v1/account", _account, "account"),
    *previews.ROUTES,
    *balances.ROUTES,
    *catalog.ROUTES,
    *credit_notes.ROUTES,
    *customers.ROUTES,
    *disputes.ROUTES,
    *invoice_items.ROUTES,
    *invoice_lines.ROUTES,
    *invoices.ROUTES,
    *payment_methods.ROUTES,
    *payments.ROUTES,
    *refunds.ROUTES,
    *schedules.ROUTES,
    *subscriptions.ROUTES,
    *webhooks.ROUTES,
]


@dataclass(frozen=True)
class Answer:
    """What goes back over the wire."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass
class Account:
    """The state of the fake. ``now`` fixes the clock, ``log`` is a file that effects are appended to."""

    now: int | None = None
    log: Path | None = None
    keys: dict[str, ApiKey] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock, self.effects = Clock(self.now), Log(self.log)
        self.test = World("test", self.clock, self.effects)
        self.live = World("live", self.clock, self.effects, other=self.test)
        self.test.other = self.live
        self.idempotency = {"test": Idempotency(), "live": Idempotency()}
        for key in (ApiKey(SECRET_TEST, "test"), ApiKey(SECRET_LIVE, "live")):
            self.keys[key.secret] = key

    def world(self, mode: str) -> World:
        """Return the objects of a mode."""
        return {"test": self.test, "live": self.live}[mode]

    def answer(
        self,
        method: str,
        path: str,
        raw: str,
        headers: Mapping[str, str],
        under_way: Callable[[], None] = lambda: None,
    ) -> Answer:
        """Carry a request out once for its idempotency key. ``raw`` is the query or the body.

        ``under_way`` is called when the key is claimed and nothing was done yet.
        """
        with self.lock:
            self.calls.append(f"{method} {path}")
            request = f"req_{len(self.calls):014}"
        told = {"Request-Id": request, "Stripe-Version": API_VERSION}
        key, mode = headers.get("idempotency-key") if method == "POST" else None, ""
        try:
            with self.lock:
                allowed, route, ids = self._routed(method, path, headers)
                form, mode = decoded(raw), allowed.mode
                if key:
                    told["Idempotency-Key"] = key
                    kept = self.idempotency[mode].begin(key, Kept(method, path, form, self.clock.now, request))
                    if kept is not None:
                        again = {"Idempotent-Replayed": "true", "Original-Request": kept.request}
                        return Answer(kept.status or 200, kept.body, told | again)
        except ApiError as error:
            return Answer(error.status, _json(error.body), told | error.headers)
        under_way()
        return self._executed(self.world(mode), route, ids, form, Request(request, key, method, path), told)

    def keep_instead(self, headers: Mapping[str, str], status: int, body: bytes) -> None:
        """Keep another answer under a request's idempotency key than the one that it had."""
        with self.lock:
            mode = authenticated(self.keys, headers.get("authorization")).mode
            self.idempotency[mode].keep(headers["idempotency-key"], status, body)

    def _routed(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[ApiKey, Route, tuple[str, ...]]:
        key = authenticated(self.keys, headers.get("authorization"))
        version = headers.get("stripe-version", API_VERSION)
        if version != API_VERSION:
            raise ApiError(400, f"Invalid Stripe API version: {version}. This fake speaks {API_VERSION}.")
        route, ids = found(ROUTES, method, path)
        key.require(route.resource, route.needed)
        return key, route, ids

    def _executed(
        self,
        world: World,
        route: Route,
        ids: tuple[str, ...],
        form: Mapping[str, Any],
        request: Request,
        told: Mapping[str, str],
    ) -> Answer:
        store, headers = self.idempotency[world.mode], dict(told)
        with self.lock:
            world.request, keep = request, False
            try:
                given = dict(form)
                paths = given.pop("expand", [])
                if not isinstance(paths, list):
                    raise ApiError(400, "Invalid array", param="expand")
                made = route.handler(world, given, *ids)
                keep = True
                status, body = 200, _json(expanded(world, made, paths))
            except ApiError as error:
                status, body, keep = error.status, _json(error.body), keep or error.executed
                headers |= error.headers
            except Exception:
                if request.key:
                    store.forget(request.key)
                raise
            finally:
                world.request = Request()
            if request.key and keep:
                store.keep(request.key, status, body)
            elif request.key:
                store.forget(request.key)
        return Answer(status, body, headers)


def _json(value: Any) -> bytes:
    return json.dumps(shown(value)).encode()
