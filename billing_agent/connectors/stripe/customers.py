"""Stripe's customers and payment methods as records. Pure."""

from collections.abc import Sequence
from decimal import Decimal

from billing_agent.connectors.records import Customer, Method
from billing_agent.connectors.stripe.objects import Obj, known_moment, metadata_of, ref_of, versioned

TAX_RATE = "tax_rate"
"""The metadata of a customer that names the tax rate (``txr_…``) which is added to what the desk bills."""
_BRANDS = {"amex": "American Express", "diners": "Diners Club", "jcb": "JCB", "unionpay": "UnionPay"}


def customer_of(obj: Obj, methods: Sequence[Obj], rate: Obj | None) -> Customer:
    """Return a customer who is not deleted. ``rate`` is the tax rate that the metadata name."""
    default = ref_of((obj.get("invoice_settings") or {}).get("default_payment_method"))
    return versioned(
        Customer(
            ref=obj["id"],
            name=(obj.get("name") or obj.get("email") or obj["id"])[:200],
            email=(obj.get("email") or "")[:254],
            currency=currency_of(obj),
            country=(obj.get("address") or {}).get("country") or "",
            tax_bp=0 if rate is None else int(Decimal(str(rate["percentage"])) * 100),
            tax_exempt=obj.get("tax_exempt") in ("exempt", "reverse"),
            methods=tuple(method_of(each, default) for each in methods),
            created_at=known_moment(obj["created"]),
            deleted_at=None,
            version=0,
        )
    )


def currency_of(obj: Obj) -> str:
    """Return the currency that a customer is billed in, empty when they were never billed and no metadata name one."""
    return str(obj.get("currency") or metadata_of(obj).get("currency") or "").upper()


def method_of(obj: Obj, default: str) -> Method:
    """Return a payment method. What its issuer will answer is not known beforehand."""
    kind = obj["type"]
    details = obj.get(kind) or {}
    expires = None
    if details.get("exp_year") and details.get("exp_month"):
        expires = (details["exp_year"], details["exp_month"])
    brand = details.get("brand") or details.get("bank_name") or ""
    return versioned(
        Method(
            ref=obj["id"],
            kind="card" if kind == "card" else "bank",
            brand=_BRANDS.get(brand, brand[:1].upper() + brand[1:])[:40],
            last_four=details.get("last4") or "",
            expires=expires,
            declines_with="",
            is_default=obj["id"] == default,
            version=0,
        )
    )
