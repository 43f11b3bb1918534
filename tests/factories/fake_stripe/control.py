"""What a test does with the fake beside calling its API: the bank's part, the clock, faults, and looking."""

import json
import urllib.request
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tests.factories.fake_stripe import disputes, payment_methods, ticking, webhooks
from tests.factories.fake_stripe.account import Account
from tests.factories.fake_stripe.faults import Fault, Script
from tests.factories.fake_stripe.keys import ApiKey
from tests.factories.fake_stripe.world import Obj, shown


class Control:
    """The fake as a test holds it. ``mode`` is ``test`` or ``live``; amounts are in the smallest unit."""

    def __init__(self, account: Account, script: Script) -> None:
        self.account, self.script = account, script

    def restricted_key(self, secret: str, may: Mapping[str, str], mode: str = "test") -> str:
        """Make a restricted key: ``may`` maps resources (``customer``, ``charge``, ``invoice``) to read or write."""
        self.account.keys[secret] = ApiKey(secret, mode, dict(may))
        return secret

    def revoke(self, secret: str) -> None:
        """Let a key be no key any more."""
        self.account.keys.pop(secret, None)

    def card(
        self,
        customer: str,
        answers: str = "",
        *,
        default: bool = False,
        last4: str = "4242",
        brand: str = "visa",
        exp: tuple[int, int] = (2034, 8),
        mode: str = "test",
    ) -> str:
        """Save a card whose issuer answers with a decline code, or pays. Returns its id. ``exp`` is year and month."""
        with self.account.lock:
            world = self.account.world(mode)
            method = payment_methods.add(world, payment_methods.TestCard(brand, last4, answers), *exp)
            payment_methods.attach(world, {"customer": customer}, method["id"])
            if default:
                world.customer(customer)["invoice_settings"]["default_payment_method"] = method["id"]
            return str(method["id"])

    def issuer(self, method: str, answers: str, mode: str = "test") -> None:
        """Let the issuer of a card answer something else from now on; nothing pays."""
        self.account.world(mode).answers[method] = answers

    def dispute(self, charge: str, reason: str = "fraudulent", amount: int | None = None, mode: str = "test") -> Obj:
        """Open a dispute."""
        with self.account.lock:
            return dict(shown(disputes.open_dispute(self.account.world(mode), charge, reason=reason, amount=amount)))

    def settle(self, dispute: str, *, won: bool, mode: str = "test") -> Obj:
        """Close a dispute."""
        with self.account.lock:
            return dict(shown(disputes.close_dispute(self.account.world(mode), dispute, won=won)))

    def at(self, moment: datetime | int) -> None:
        """Move the clock, doing what becomes due on the way."""
        until = int(moment.timestamp()) if isinstance(moment, datetime) else moment
        with self.account.lock:
            start = self.account.clock.now
            for world in (self.account.test, self.account.live):
                self.account.clock.fixed = start
                ticking.advance(world, until)

    def pass_time(self, seconds: int) -> None:
        """Move the clock on."""
        self.at(self.account.clock.now + seconds)

    def fault(self, call: str, kind: str, **more: Any) -> Fault:
        """Script a fault; see ``Fault``."""
        return self.script.add(Fault(call, kind, **more))

    def effects(self, what: str = "", key: str | None = None) -> list[Obj]:
        """Return what happened, in order: all, of one kind, under one idempotency key."""
        with self.account.lock:
            entries = list(self.account.effects.entries)
        return [entry for entry in entries if what in ("", entry["effect"]) and (key is None or entry["key"] == key)]

    def objects(self, kind: str, mode: str = "test") -> list[Obj]:
        """Return the objects of a kind, the oldest first."""
        with self.account.lock:
            return [shown(obj) for obj in reversed(list(self.account.world(mode).all(kind)))]

    def events(self, types: Iterable[str] = (), mode: str = "test") -> list[Obj]:
        """Return the events, the oldest first."""
        wanted = set(types)
        return [event for event in self.objects("event", mode) if not wanted or event["type"] in wanted]

    def deliver(
        self,
        url: str,
        event: Obj,
        *,
        secret: str = webhooks.SECRET,
        at: int | None = None,
        corrupt: bool = False,
    ) -> tuple[int, bytes]:
        """Send an event to a webhook, signed; ``corrupt`` changes the body after it was signed."""
        body, moment = webhooks.payload(event), self.account.clock.now if at is None else at
        header = webhooks.signature(body, secret, moment)
        return webhooks.send(url, body.replace(b"evt_", b"evt_x", 1) if corrupt else body, header)


COMMANDS = (
    "at",
    "card",
    "deliver",
    "dispute",
    "effects",
    "events",
    "fault",
    "issuer",
    "objects",
    "pass_time",
    "restricted_key",
    "revoke",
    "settle",
)
"""What a test in another process may ask for, by ``POST /_control/NAME`` with the arguments as JSON."""


def command(control: Control, name: str, arguments: Mapping[str, Any]) -> Any:
    """Do what another process asks. Raises ValueError for what is no command."""
    if name not in COMMANDS:
        raise ValueError(f"no such command: {name}")
    done = getattr(control, name)(**arguments)
    return None if isinstance(done, Fault) else done if not isinstance(done, tuple) else [done[0], done[1].decode()]


def ask(url: str, name: str, **arguments: Any) -> Any:
    """Ask a fake in another process to do something, and return what it returned."""
    request = urllib.request.Request(f"{url}/_control/{name}", json.dumps(arguments).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
