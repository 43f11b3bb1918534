"""Cards: https://docs.stripe.com/api/payment_methods and https://docs.stripe.com/testing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.factories.fake_stripe.errors import declined, invalid, refused
from tests.factories.fake_stripe.lists import listed, page
from tests.factories.fake_stripe.params import INT, LIST, META, STR, merged, read, require_one_of
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World


@dataclass(frozen=True)
class TestCard:
    """A card of the documentation: what its issuer answers, and whether already to being saved."""

    brand: str
    last4: str
    answers: str = ""
    when_saved: bool = False


CARDS = {
    "4242424242424242": TestCard("visa", "4242"),
    "5555555555554444": TestCard("mastercard", "4444"),
    "378282246310005": TestCard("amex", "0005"),
    "4000000000000341": TestCard("visa", "0341", "generic_decline"),
    "4000000000000002": TestCard("visa", "0002", "generic_decline", when_saved=True),
    "4000000000009995": TestCard("visa", "9995", "insufficient_funds", when_saved=True),
    "4000000000009987": TestCard("visa", "9987", "lost_card", when_saved=True),
    "4000000000009979": TestCard("visa", "9979", "stolen_card", when_saved=True),
    "4000000000000069": TestCard("visa", "0069", "expired_card", when_saved=True),
    "4000000000000127": TestCard("visa", "0127", "incorrect_cvc", when_saved=True),
    "4000000000000119": TestCard("visa", "0119", "processing_error", when_saved=True),
    "4000000000000259": TestCard("visa", "0259", "dispute:fraudulent"),
}
NAMED = {
    "pm_card_visa": "4242424242424242",
    "pm_card_mastercard": "5555555555554444",
    "pm_card_amex": "378282246310005",
    "pm_card_chargeCustomerFail": "4000000000000341",
    "pm_card_chargeDeclined": "4000000000000002",
    "pm_card_chargeDeclinedInsufficientFunds": "4000000000009995",
    "pm_card_chargeDeclinedLostCard": "4000000000009987",
    "pm_card_chargeDeclinedStolenCard": "4000000000009979",
    "pm_card_chargeDeclinedExpiredCard": "4000000000000069",
    "pm_card_chargeDeclinedIncorrectCvc": "4000000000000127",
    "pm_card_chargeDeclinedProcessingError": "4000000000000119",
    "pm_card_createDispute": "4000000000000259",
}
OWN_CODES = ("expired_card", "incorrect_cvc", "processing_error", "incorrect_number")
"""Answers that are an error's ``code``; every other one is ``card_declined`` with it as ``decline_code``."""

WORDS = {
    "insufficient_funds": "Your card has insufficient funds.",
    "expired_card": "Your card has expired.",
    "incorrect_cvc": "Your card's security code is incorrect.",
    "processing_error": "An error occurred while processing your card. Try again in a little bit.",
}


def words_of(answer: str) -> tuple[str, str, str | None]:
    """Return message, code and decline code of what an issuer answers."""
    message = WORDS.get(answer, "Your card was declined.")
    return (message, answer, None) if answer in OWN_CODES else (message, "card_declined", answer)


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Make a card that belongs to nobody yet, from a number of the documentation."""
    card = {"number": STR, "exp_month": INT, "exp_year": INT, "cvc": STR, "token": STR}
    billing = {"name": STR, "email": STR, "phone": STR, "address": dict.fromkeys(("country", "postal_code"), STR)}
    asked = read(form, {"type": STR, "card": card, "billing_details": billing, "metadata": META}, needs=("type",))
    require_one_of(asked["type"], ("card",), "type")
    given = asked.get("card") or {}
    number = given.get("number") or {"tok_visa": "4242424242424242"}.get(given.get("token") or "", "")
    known = CARDS.get(number)
    if known is None:
        raise declined("Your card number is incorrect.", "incorrect_number", None, param="card[number]")
    return add(world, known, given.get("exp_year") or 2034, given.get("exp_month") or 8, asked.get("metadata"))


def add(world: World, card: TestCard, year: int, month: int, metadata: dict[str, str] | None = None) -> Obj:
    """Keep a card, and what its issuer will answer."""
    method = world.add(
        {
            "id": world.new_id("pm"),
            "object": "payment_method",
            "allow_redisplay": "unspecified",
            "billing_details": {"address": None, "email": None, "name": None, "phone": None, "tax_id": None},
            "card": {
                "brand": card.brand,
                "checks": {"address_line1_check": None, "address_postal_code_check": None, "cvc_check": "pass"},
                "country": "US",
                "display_brand": card.brand,
                "exp_month": month,
                "exp_year": year,
                "fingerprint": f"fp{card.last4}",
                "funding": "credit",
                "generated_from": None,
                "last4": card.last4,
                "networks": {"available": [card.brand], "preferred": None},
                "regulated_status": "unregulated",
                "three_d_secure_usage": {"supported": True},
                "wallet": None,
            },
            "created": world.now,
            "customer": None,
            "livemode": world.live,
            "metadata": merged({}, metadata),
            "type": "card",
            "_when_saved": card.when_saved,
        }
    )
    world.answers[method["id"]] = card.answers
    return method


def attach(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Give a card to a customer; a name of the documentation (``pm_card_visa``) makes a new one."""
    asked = read(form, {"customer": STR}, needs=("customer",))
    customer = world.customer(asked["customer"])
    if ref in NAMED and not world.live:
        method = add(world, CARDS[NAMED[ref]], 2034, 8)
    else:
        method = world.find("payment_method", ref, "payment_method")
    if method["_when_saved"]:
        message, code, decline_code = words_of(world.answers[method["id"]])
        raise declined(message, code, decline_code)
    if method["customer"] not in (None, customer["id"]):
        raise refused("The payment method you provided has already been attached to a customer.")
    method["customer"] = customer["id"]
    world.effect("payment_method.attached", method)
    return method


def detach(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Take a card from its customer, for good."""
    read(form, {})
    method = world.find("payment_method", ref)
    if method["customer"] is None:
        raise refused("The payment method you provided is not attached to a customer so detachment is impossible.")
    owner = world.find("customer", method["customer"])
    if not owner.get("deleted") and owner["invoice_settings"]["default_payment_method"] == ref:
        owner["invoice_settings"]["default_payment_method"] = None
    before = {"customer": method["customer"]}
    method["customer"] = None
    world.effect("payment_method.detached", method, before)
    return method


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change a card's last month or its metadata."""
    asked = read(form, {"card": {"exp_month": INT, "exp_year": INT}, "metadata": META})
    method = world.find("payment_method", ref)
    method["card"] |= asked.get("card") or {}
    method["metadata"] = merged(method["metadata"], asked.get("metadata"))
    world.effect("payment_method.updated", method, {})
    return method


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the cards of a customer."""
    if form.get("customer"):
        world.customer(form["customer"])
    return listed(world, "payment_method", form, "/v1/payment_methods", {"customer": STR, "type": STR})


def list_of_customer(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Return the cards of a customer."""
    asked = read(form, LIST | {"type": STR})
    world.customer(ref, "id")
    url = f"/v1/customers/{ref}/payment_methods"
    return page(world.all("payment_method", customer=ref), asked, url)


def retrieve_of_customer(world: World, form: Mapping[str, Any], ref: str, method_ref: str) -> Obj:
    """Return a card of a customer."""
    read(form, {})
    world.customer(ref, "id")
    method = world.find("payment_method", method_ref)
    if method["customer"] != ref:
        raise invalid(f"No such PaymentMethod: '{method_ref}'", "payment_method", "resource_missing")
    return method


ROUTES = [
    Route("POST", "/v1/payment_methods", create, "payment_method"),
    Route("GET", "/v1/payment_methods", list_all, "payment_method"),
    Route("GET", "/v1/payment_methods/{}", retrieving("payment_method"), "payment_method"),
    Route("POST", "/v1/payment_methods/{}", update, "payment_method"),
    Route("POST", "/v1/payment_methods/{}/attach", attach, "payment_method"),
    Route("POST", "/v1/payment_methods/{}/detach", detach, "payment_method"),
    Route("GET", "/v1/customers/{}/payment_methods", list_of_customer, "payment_method"),
    Route("GET", "/v1/customers/{}/payment_methods/{}", retrieve_of_customer, "payment_method"),
]
