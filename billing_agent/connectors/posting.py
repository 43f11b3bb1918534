"""Entries of the books as values: the accounts, what happens to them, and lines that sum to zero. Pure."""

from collections.abc import Mapping
from enum import StrEnum

from billing_agent.connectors.effect import Posted

MOST_MEMO = 300


class Account(StrEnum):
    """The accounts of the books, as ``models.Account`` has them. A debit is positive, a credit negative."""

    CASH = "cash"
    RECEIVABLE = "receivable"
    REVENUE = "revenue"
    TAX = "tax"
    CUSTOMER_CREDIT = "customer_credit"
    GOODWILL = "goodwill"
    REFUNDS = "refunds"
    DISPUTED = "disputed"
    WRITTEN_OFF = "written_off"


class EntryKind(StrEnum):
    """What happened, as ``models.EntryKind`` has it."""

    INVOICE = "invoice"
    VOID = "void"
    CHARGE = "charge"
    REFUND = "refund"
    CREDIT = "credit"
    CREDIT_REVERSED = "credit_reversed"
    CREDIT_USED = "credit_used"
    DISPUTE = "dispute"
    DISPUTE_WON = "dispute_won"
    DISPUTE_LOST = "dispute_lost"
    WRITE_OFF = "write_off"
    OPENING = "opening"


def posted(
    kind: EntryKind, currency: str, record_ref: str, postings: Mapping[Account, int], *, memo: str = ""
) -> tuple[Posted, ...]:
    """Return the entry of ``postings`` in minor units, without lines of zero; none when nothing moves.

    The memo is cut to the length that the books hold.

    Raises ValueError when the lines do not sum to zero.
    """
    if sum(postings.values()) != 0:
        raise ValueError(f"the lines of an entry sum to zero, not those of {kind} {record_ref}")
    moved = {account.value: minor for account, minor in postings.items() if minor}
    return (Posted(kind.value, currency, record_ref, moved, memo[:MOST_MEMO]),) if moved else ()
