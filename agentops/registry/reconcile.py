"""How a role tells where three accounts of the same calls differ: ledger, its own books, and the vendor's log. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Gap(StrEnum):
    """Kinds of differences."""

    UNKNOWN_OUTCOME = "unknown_outcome"
    CALL_WITHOUT_EFFECT = "call_without_effect"
    EFFECT_WITHOUT_CALL = "effect_without_call"
    AMOUNTS_DIFFER = "amounts_differ"
    EFFECT_WITHOUT_ENTRY = "effect_without_entry"
    ENTRY_WITHOUT_OPERATION = "entry_without_operation"
    UNBALANCED = "unbalanced"

    @property
    def label(self) -> str:
        """What it is, for a heading."""
        return _LABELS[self]


_LABELS = {
    Gap.UNKNOWN_OUTCOME: "Outcome unknown",
    Gap.CALL_WITHOUT_EFFECT: "Call without effect",
    Gap.EFFECT_WITHOUT_CALL: "Effect without a call",
    Gap.AMOUNTS_DIFFER: "Amounts differ",
    Gap.EFFECT_WITHOUT_ENTRY: "Effect without an entry in the books",
    Gap.ENTRY_WITHOUT_OPERATION: "Entry without an operation",
    Gap.UNBALANCED: "Books and records disagree",
}


@dataclass(frozen=True)
class Difference:
    """One place where they differ, in one sentence. ``key`` is the call's, empty when it is about no call.

    ``url`` is a page of the role that shows the record, empty when there is none.
    """

    gap: Gap
    words: str
    key: str = ""
    url: str = ""


@dataclass(frozen=True)
class Reconciliation:
    """What was compared, how many calls, effects and entries of the books, and what differs."""

    calls: int
    effects: int
    entries: int
    differences: tuple[Difference, ...]
