"""Entries of the books as sentences for people. Pure."""

from collections.abc import Mapping

from agentops.kernel.money import Money

NOTHING = "–"


MINUS = "\u2212"

_SENTENCES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "invoice": ("Billed {sum} by {bill}", ("receivable",)),
    "void": ("Took {bill} back, which was over {sum}", ("revenue", "tax")),
    "charge": ("Paid {sum} for {bill}", ("cash",)),
    "refund": ("Refunded {sum} of what was paid for {bill}", ("cash",)),
    "credit": ("Gave credit of {sum}", ("customer_credit",)),
    "credit_reversed": ("Took back credit of {sum}", ("customer_credit",)),
    "credit_used": ("Used credit of {sum} on {bill}", ("customer_credit",)),
    "dispute": ("The bank took back {sum} that was paid for {bill}: a dispute", ("disputed",)),
    "dispute_won": ("Won the dispute over {sum} that was paid for {bill}", ("disputed",)),
    "dispute_lost": ("Lost the dispute over {sum} that was paid for {bill}", ("disputed",)),
    "write_off": ("Wrote off {sum} of {bill}", ("written_off",)),
    "opening": ("Opening balance", ()),
}
"""What happened, and the accounts whose lines say over how much."""


def sentence(kind: str, currency: str, moved: Mapping[str, int], about: str) -> str:
    """Return what an entry tells. ``moved`` are its lines in minor units, ``about`` the invoice it is about, if any."""
    words, accounts = _SENTENCES[kind]
    amount = Money(abs(sum(moved.get(account, 0) for account in accounts)), currency)
    return words.format(sum=amount, bill=f"invoice {about}" if about else "no invoice")


def signed(minor: int, currency: str) -> str:
    """Return a change with its sign, a dash for none."""
    if not minor:
        return NOTHING
    return f"{'+' if minor > 0 else MINUS}{Money(abs(minor), currency)}"


def standing(minor: int, currency: str) -> str:
    """Return what a customer owes, or has as credit, in words."""
    if not minor:
        return str(Money(0, currency))
    return f"owes {Money(minor, currency)}" if minor > 0 else f"{Money(-minor, currency)} credit"
