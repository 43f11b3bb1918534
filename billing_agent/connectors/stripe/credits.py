"""Credit of a customer: what is left of which entry of their balance. Pure.

A balance below zero is credit. Stripe keeps one sum and does not say what is left of which entry; it is used from the
oldest on, so what is left belongs to the newest ones. One that was taken back took what was left of itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentops.kernel.money import Money
from billing_agent.connectors.records import Credit
from billing_agent.connectors.stripe.amounts import from_stripe, minor
from billing_agent.connectors.stripe.objects import Obj, known_moment, metadata_of, versioned

REVERSES = "agentops_reverses"
GIVEN = "agentops_given"
REASON = "reason"
LONGEST_REASON = 500


@dataclass(frozen=True)
class Balance:
    """A customer's credit. ``credits`` are all that were read, the newest first."""

    credits: tuple[Credit, ...]

    @property
    def left(self) -> tuple[Credit, ...]:
        """The credits of which something is left, the oldest first."""
        return tuple(reversed([credit for credit in self.credits if credit.left_minor > 0]))

    def credit(self, ref: str) -> Credit | None:
        """Return the credit of that id, used up or not."""
        return next((credit for credit in self.credits if credit.ref == ref), None)


def balance_of(balance: int, currency: str, newest_first: Sequence[Obj]) -> Balance:
    """Return the credits of a customer whose ``balance`` Stripe tells, from the entries in that currency."""
    entries = [entry for entry in newest_first if entry["currency"].upper() == currency]
    taken_back = {metadata_of(entry)[REVERSES]: entry["created"] for entry in entries if REVERSES in metadata_of(entry)}
    rest, found = max(-balance, 0), []
    for entry in entries:
        if entry["amount"] >= 0:
            continue
        left = 0 if entry["id"] in taken_back else min(-entry["amount"], rest)
        rest -= left
        found.append(_credit(entry, left, taken_back.get(entry["id"])))
    return Balance(tuple(found))


def _credit(entry: Obj, left: int, reversed_at: int | None) -> Credit:
    currency, told = entry["currency"], metadata_of(entry)
    given = told.get(GIVEN, "")
    amount = from_stripe(-entry["amount"], currency)
    return versioned(
        Credit(
            ref=entry["id"],
            # A credit of which an open invoice took a part at once was larger than what is on the balance.
            amount=Money(int(given), amount.currency) if given.isdigit() else amount,
            left_minor=minor(left, currency),
            reason=(told.get(REASON) or entry.get("description") or entry["type"])[:LONGEST_REASON],
            at=known_moment(entry["created"]),
            reversed_at=None if reversed_at is None else known_moment(reversed_at),
            version=0,
        )
    )


def credit_of_note(note: Obj) -> Credit:
    """Return a credit that an open invoice took whole: a credit note, of which nothing is left."""
    told = metadata_of(note)
    return versioned(
        Credit(
            ref=note["id"],
            amount=from_stripe(note["amount"], note["currency"]),
            left_minor=0,
            reason=(told.get(REASON) or note.get("memo") or "credit note")[:LONGEST_REASON],
            at=known_moment(note["created"]),
            reversed_at=None,
            version=0,
        )
    )
