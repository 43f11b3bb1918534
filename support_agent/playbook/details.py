"""The particulars inside a wish (pure): addresses, ways to pay, reasons."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Address:
    """A postal address as the tools take it."""

    address1: str
    address2: str
    city: str
    state: str
    country: str
    zip: str

    def as_arguments(self) -> dict[str, str]:
        """Return the tool arguments."""
        return {
            "address1": self.address1,
            "address2": self.address2,
            "city": self.city,
            "state": self.state,
            "country": self.country,
            "zip": self.zip,
        }

    def __str__(self) -> str:
        street = f"{self.address1}, {self.address2}" if self.address2 else self.address1
        return f"{street}, {self.city}, {self.state} {self.zip}"


_STREET = (
    r"(?P<address1>\d{1,6}[A-Za-z]?\s+(?:[A-Z0-9][\w.'-]*\s+){1,4}?"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Lane|Ln|Boulevard|Blvd|Way|Court|Ct|Place|Pl|Terrace|Square|Sq"
    r"|Highway|Hwy|Circle|Trail|Parkway|Row)\b\.?)"
)
_UNIT = r"(?:,?\s+(?P<address2>(?:Suite|Ste|Apartment|Apt|Unit|Floor|Room|#)\.?\s?[\w-]{1,10}))?"
_WRITTEN = re.compile(
    rf"{_STREET}{_UNIT},?\s+(?P<city>[A-Z][A-Za-z.' -]{{1,40}}?),?\s+(?P<state>[A-Z]{{2}})\b,?\s+"
    r"(?P<zip>\d{5}(?:-\d{4})?)\b"
)
_FIELD = re.compile(
    r"['\"]?\b(address1|address2|city|state|country"
    r"|zip)\b['\"]?\s*[:=]\s*['\"]([^'\"{}]{0,200})['\"]"
)


def addresses_in(text: str) -> tuple[Address, ...]:
    """Return the full addresses in ``text``: written on one line, or as named fields in quotes."""
    fields = dict(_FIELD.findall(text))
    if {"address1", "city", "state", "zip"} <= set(fields):
        return (_address(fields),)
    return tuple(dict.fromkeys(_address(match.groupdict()) for match in _WRITTEN.finditer(text)))


def _address(fields: dict[str, str]) -> Address:
    return Address(
        address1=fields["address1"].strip(),
        address2=(fields.get("address2") or "").strip(),
        city=fields["city"].strip(),
        state=fields["state"].strip(),
        country=(fields.get("country") or "USA").strip(),
        zip=fields["zip"].strip(),
    )


STATES = {
    "alabama": "AL", "arizona": "AZ", "california": "CA", "colorado": "CO", "connecticut": "CT", "florida": "FL",
    "georgia": "GA", "illinois": "IL", "indiana": "IN", "kansas": "KS", "kentucky": "KY", "louisiana": "LA",
    "maine": "ME", "maryland": "MD", "massachusetts": "MA", "michigan": "MI", "minnesota": "MN", "missouri": "MO",
    "montana": "MT", "nevada": "NV", "new mexico": "NM", "new york": "NY", "north carolina": "NC", "ohio": "OH",
    "oklahoma": "OK", "oregon": "OR", "pennsylvania": "PA", "tennessee": "TN", "texas": "TX", "utah": "UT",
    "vermont": "VT", "virginia": "VA", "washington": "WA", "wisconsin": "WI",
}  # fmt: skip


@dataclass(frozen=True)
class PayMethod:
    """A way to pay that is on record. ``balance_minor`` is None unless it is a gift card."""

    id: str
    kind: str
    brand: str
    last_four: str
    balance_minor: int | None
    currency: str = ""

    def __str__(self) -> str:
        if self.kind == "gift_card":
            return "your gift card"
        if self.kind == "paypal":
            return "your PayPal account"
        brand = self.brand.title() or "credit card"
        return f"your {brand if brand.lower().endswith('card') else f'{brand} card'} ending in {self.last_four}"


_METHOD_WORDS = {
    "gift_card": re.compile(r"\bgift ?cards?\b|\bGC\b|\bstore card\b", re.IGNORECASE),
    "paypal": re.compile(r"\bpay ?pal\b", re.IGNORECASE),
    "credit_card": re.compile(r"\b(?:credit|debit) card\b", re.IGNORECASE),
}
_BRANDS = {"visa": r"\bvisa\b", "mastercard": r"\bmaster ?card\b|\bmc\b", "amex": r"\bamex\b|\bamerican express\b"}


def methods_named(text: str, methods: Iterable[PayMethod]) -> tuple[PayMethod, ...]:
    """Return the methods that ``text`` can mean: by id, else by last digits, else by kind or brand."""
    known = tuple(methods)
    by_id = tuple(method for method in known if re.search(rf"\b{re.escape(method.id)}\b", text))
    if by_id:
        return by_id
    by_digits = tuple(method for method in known if method.last_four and re.search(rf"\b{method.last_four}\b", text))
    if by_digits:
        return by_digits
    return tuple(method for method in known if _is_named(text, method))


def names_unknown_method(text: str, methods: Iterable[PayMethod]) -> bool:
    """Return whether ``text`` names a kind or brand of payment that the customer does not have."""
    spoken = any(pattern.search(text) for pattern in _METHOD_WORDS.values()) or any(
        re.search(pattern, text, re.IGNORECASE) for pattern in _BRANDS.values()
    )
    return spoken and not methods_named(text, methods)


def _is_named(text: str, method: PayMethod) -> bool:
    brand = _BRANDS.get(method.brand.lower())
    if brand and re.search(brand, text, re.IGNORECASE):
        return True
    pattern = _METHOD_WORDS.get(method.kind)
    return pattern is not None and pattern.search(text) is not None


_MISTAKE = re.compile(
    r"\b(?:by (?:mistake|accident)|mistaken(?:ly)?|accidental(?:ly)?|wrong (?:item|order|size|one)|twice)\b", re.I
)


def cancel_reason_in(text: str) -> str:
    """Return one of the two reasons that an order can be cancelled for; a mistake has to be said."""
    return "ordered by mistake" if _MISTAKE.search(text) else "no longer needed"


_PROBLEMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("charged twice", re.compile(r"\b(?:charged|billed)\b.{0,40}\b(?:twice|double|two times)\b"
                                 r"|\bdouble[- ]?(?:charge|billed)|\bduplicate (?:charge|payment)", re.I)),
    ("arrived damaged", re.compile(r"\b(?:damaged?|broken?|broke|crack(?:ed|s)?|shattered|torn|dent(?:ed)?"
                                   r"|scratch(?:ed|es)?|smashed|chipped|leak(?:s|ing|ed)?)\b", re.I)),
    ("is faulty", re.compile(r"\b(?:faulty|defective|stopped working|(?:does|did)(?:n't| not) work|not working"
                             r"|dead on arrival)\b", re.I)),
    ("is missing", re.compile(r"\b(?:missing|never (?:arrived|came|received)|not (?:in the (?:box|parcel"
                              r"|package))|(?:was|were)n't in)\b", re.I)),
    ("arrived late", re.compile(r"\b(?:late|delay(?:ed)?|days? after)\b", re.I)),
    ("is not as described", re.compile(r"\bnot as (?:described|advertised)\b|\bwrong (?:item|colou?r|size)\b", re.I)),
)  # fmt: skip


def problem_in(text: str) -> str:
    """Return what went wrong, in the words that go into a refund's reason; empty when nothing is said."""
    return next((words for words, pattern in _PROBLEMS if pattern.search(text)), "")


KEEPS_ALL = re.compile(
    r"\b(?:everything|all (?:of )?(?:it|them|items|things|of the items|my items)|(?:whole|entire|complete"
    r"|full) (?:order|thing|purchase))\b",
    re.I,
)
EXCEPT = re.compile(r"\b(?:except|but|apart from|other than|excluding)\b(?: for)?", re.I)
BOTH = re.compile(r"\b(?:both|all|two|three|each|every)\b", re.I)
