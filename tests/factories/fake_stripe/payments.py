"""Payment intents and the charges that they make: https://docs.stripe.com/api/payment_intents and /charges."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.factories.fake_stripe import disputes
from tests.factories.fake_stripe.balances import book, fee_of
from tests.factories.fake_stripe.errors import ApiError, declined, invalid, refused
from tests.factories.fake_stripe.lists import listed, searched
from tests.factories.fake_stripe.money import currency, require_chargeable
from tests.factories.fake_stripe.params import BOOL, INT, META, RANGE, STR, merged, read, require_positive
from tests.factories.fake_stripe.payment_methods import words_of
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World, changed_fields


def intend(world: World, amount: int, code: str, customer: str | None, **more: Any) -> Obj:
    """Make a payment intent."""
    ref = world.new_id("pi")
    return world.add(
        {
            "id": ref,
            "object": "payment_intent",
            "amount": amount,
            "amount_capturable": 0,
            "amount_received": 0,
            "application": None,
            "automatic_payment_methods": None,
            "canceled_at": None,
            "cancellation_reason": None,
            "capture_method": "automatic",
            "client_secret": f"{ref}_secret_fake",
            "confirmation_method": "automatic",
            "created": world.now,
            "currency": code,
            "customer": customer,
            "description": None,
            "last_payment_error": None,
            "latest_charge": None,
            "livemode": world.live,
            "metadata": {},
            "next_action": None,
            "on_behalf_of": None,
            "payment_method": None,
            "payment_method_options": {},
            "payment_method_types": ["card"],
            "processing": None,
            "receipt_email": None,
            "review": None,
            "setup_future_usage": None,
            "shipping": None,
            "statement_descriptor": None,
            "status": "requires_payment_method",
            "transfer_data": None,
            **more,
        }
    )


def answer_of(world: World, method: Obj) -> str:
    """Return what the issuer answers today; a card whose last month is over has expired."""
    today = datetime.fromtimestamp(world.now, UTC)
    if (today.year, today.month) > (method["card"]["exp_year"], method["card"]["exp_month"]):
        return "expired_card"
    return world.answers.get(method["id"], "")


def attempt(world: World, intent: Obj, method: Obj) -> ApiError | None:
    """Charge a card for an intent. Returns the issuer's refusal, None when it paid."""
    answer = answer_of(world, method)
    disputed = answer.startswith("dispute:")
    charge = _charge(world, intent, method, "" if disputed else answer)
    intent |= {"latest_charge": charge["id"], "payment_method": method["id"]}
    if answer and not disputed:
        message, code, decline_code = words_of(answer)
        refusal = declined(
            message, code, decline_code, charge=charge["id"], payment_method=method, advice_code="try_again_later"
        )
        intent |= {
            "status": "requires_payment_method",
            "payment_method": None,
            "last_payment_error": dict(refusal.body["error"]),
        }
        world.effect("charge.failed", charge)
        world.effect("payment_intent.payment_failed", intent)
        refusal.body["error"]["payment_intent"] = dict(intent)
        return refusal
    booked = book(
        world,
        "charge",
        charge["amount"],
        charge["currency"],
        charge["id"],
        fee=fee_of(charge["amount"], charge["currency"]),
    )
    charge["balance_transaction"] = booked["id"]
    intent |= {"status": "succeeded", "amount_received": intent["amount"], "last_payment_error": None}
    world.effect("charge.succeeded", charge)
    world.effect("payment_intent.succeeded", intent)
    if disputed:
        disputes.open_dispute(world, charge["id"], reason=answer.partition(":")[2])
    return None


def _charge(world: World, intent: Obj, method: Obj, answer: str) -> Obj:
    message, code, decline_code = words_of(answer) if answer else (None, None, None)
    card = {name: method["card"][name] for name in ("brand", "country", "exp_month", "exp_year", "funding", "last4")}
    return world.add(
        {
            "id": world.new_id("ch"),
            "object": "charge",
            "amount": intent["amount"],
            "amount_captured": 0 if answer else intent["amount"],
            "amount_refunded": 0,
            "application": None,
            "application_fee": None,
            "application_fee_amount": None,
            "balance_transaction": None,
            "billing_details": method["billing_details"],
            "calculated_statement_descriptor": "FAKE",
            "captured": not answer,
            "created": world.now,
            "currency": intent["currency"],
            "customer": intent["customer"],
            "description": intent["description"],
            "disputed": False,
            "failure_balance_transaction": None,
            "failure_code": code,
            "failure_message": message,
            "fraud_details": {},
            "livemode": world.live,
            "metadata": dict(intent["metadata"]),
            "on_behalf_of": None,
            "outcome": _outcome(decline_code or code),
            "paid": not answer,
            "payment_intent": intent["id"],
            "payment_method": method["id"],
            "payment_method_details": {"card": card, "type": "card"},
            "receipt_email": None,
            "receipt_number": None,
            "receipt_url": None,
            "refunded": False,
            "review": None,
            "shipping": None,
            "source": None,
            "source_transfer": None,
            "statement_descriptor": None,
            "statement_descriptor_suffix": None,
            "status": "failed" if answer else "succeeded",
            "transfer_data": None,
            "transfer_group": None,
        }
    )


def _outcome(reason: str | None) -> Obj:
    """Return what the network said; ``reason`` is why it declined."""
    return {
        "advice_code": "try_again_later" if reason else None,
        "network_advice_code": None,
        "network_decline_code": "01" if reason else None,
        "network_status": "declined_by_network" if reason else "approved_by_network",
        "reason": reason,
        "risk_level": "normal",
        "seller_message": "The bank did not return any further details with this decline."
        if reason
        else "Payment complete.",
        "type": "issuer_declined" if reason else "authorized",
    }


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Make a payment intent, and confirm it when that is asked."""
    shape = {
        "amount": INT,
        "currency": STR,
        "customer": STR,
        "payment_method": STR,
        "confirm": BOOL,
        "off_session": BOOL,
        "description": STR,
        "metadata": META,
        "payment_method_types": [STR],
        "automatic_payment_methods": {"enabled": BOOL, "allow_redirects": STR},
        "error_on_requires_action": BOOL,
    }
    asked = read(form, shape, needs=("amount", "currency"))
    amount, code = require_positive(asked["amount"], "amount"), currency(asked["currency"])
    require_chargeable(amount, code)
    if asked.get("customer"):
        world.customer(asked["customer"])
    if asked.get("payment_method"):
        _own(world, asked["payment_method"], asked.get("customer"))
    intent = intend(
        world,
        amount,
        code,
        asked.get("customer"),
        description=asked.get("description"),
        metadata=merged({}, asked.get("metadata")),
    )
    world.effect("payment_intent.created", intent)
    if asked.get("payment_method"):
        intent |= {"payment_method": asked["payment_method"], "status": "requires_confirmation"}
    return _confirm(world, intent, asked.get("payment_method")) if asked.get("confirm") else intent


def _own(world: World, ref: str, customer: str | None) -> Obj:
    method = world.find("payment_method", ref, "payment_method")
    if method["customer"] not in (None, customer):
        raise invalid(
            "The provided PaymentMethod cannot be used because it belongs to another customer.", "payment_method"
        )
    return method


def _confirm(world: World, intent: Obj, method: str | None) -> Obj:
    if intent["status"] in ("succeeded", "canceled"):
        raise refused(
            f"You cannot confirm this PaymentIntent because it has already {intent['status']}.",
            "payment_intent_unexpected_state",
        )
    if not method:
        raise refused("You cannot confirm this PaymentIntent because it's missing a payment method.")
    refusal = attempt(world, intent, _own(world, method, intent["customer"]))
    if refusal is not None:
        raise refusal
    return intent


def confirm(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Try to take the money of an intent."""
    asked = read(form, {"payment_method": STR, "off_session": BOOL})
    intent = world.find("payment_intent", ref)
    return _confirm(world, intent, asked.get("payment_method") or intent["payment_method"])


def cancel(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Give an intent up."""
    asked = read(form, {"cancellation_reason": STR})
    intent = world.find("payment_intent", ref)
    if intent["status"] in ("succeeded", "canceled"):
        raise refused(
            f"You cannot cancel this PaymentIntent because it has a status of {intent['status']}.",
            "payment_intent_unexpected_state",
        )
    intent |= {"status": "canceled", "canceled_at": world.now, "cancellation_reason": asked.get("cancellation_reason")}
    world.effect("payment_intent.canceled", intent)
    return intent


def _updating(kind: str, event: str) -> Any:
    def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
        asked = read(form, {"description": STR, "metadata": META})
        obj = world.find(kind, ref)
        before = dict(obj)
        obj["metadata"] = merged(obj["metadata"], asked.pop("metadata", None))
        obj |= asked
        world.effect(event, obj, changed_fields(before, obj))
        return obj

    return update


def list_intents(world: World, form: Mapping[str, Any]) -> Obj:
    """Return payment intents."""
    return listed(world, "payment_intent", form, "/v1/payment_intents", {"customer": STR, "created": RANGE})


def list_charges(world: World, form: Mapping[str, Any]) -> Obj:
    """Return charges."""
    filters = {"customer": STR, "payment_intent": STR, "created": RANGE}
    return listed(world, "charge", form, "/v1/charges", filters)


def search_charges(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the charges that a query finds."""
    return searched(world, "charge", form, "/v1/charges/search")


def search_intents(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the payment intents that a query finds."""
    return searched(world, "payment_intent", form, "/v1/payment_intents/search")


ROUTES = [
    Route("GET", "/v1/payment_intents/search", search_intents, "payment_intent"),
    Route("POST", "/v1/payment_intents", create, "payment_intent"),
    Route("GET", "/v1/payment_intents", list_intents, "payment_intent"),
    Route("GET", "/v1/payment_intents/{}", retrieving("payment_intent"), "payment_intent"),
    Route("POST", "/v1/payment_intents/{}", _updating("payment_intent", "payment_intent.updated"), "payment_intent"),
    Route("POST", "/v1/payment_intents/{}/confirm", confirm, "payment_intent"),
    Route("POST", "/v1/payment_intents/{}/cancel", cancel, "payment_intent"),
    Route("GET", "/v1/charges/search", search_charges, "charge"),
    Route("GET", "/v1/charges", list_charges, "charge"),
    Route("GET", "/v1/charges/{}", retrieving("charge"), "charge"),
    Route("POST", "/v1/charges/{}", _updating("charge", "charge.updated"), "charge"),
]
