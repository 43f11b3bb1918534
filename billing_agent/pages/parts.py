"""What several pages of billing share: links to what an agent did, states in words, entries of the books."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.kernel.money import Money
from agentops.registry.call_record import call_record
from agentops.registry.made import Approval, MadeCall
from agentops.registry.pages import Status
from billing_agent import queries
from billing_agent.connectors.origins import origin_of
from billing_agent.pages.history import NOTHING, sentence, signed, standing


@dataclass(frozen=True)
class Made:
    """Who made something. With ``step`` it was an agent's call of that key, else ``words`` say who.

    ``approval`` is the request by which people allowed it, None when it was within the agent's limits.
    """

    step: str = ""
    approval: Approval | None = None
    words: str = ""


class Makers:
    """Finds out who made what has an operation key, for a whole page in two questions."""

    def __init__(self, tenant_id: UUID, keys: Sequence[str]) -> None:
        record = call_record()
        self._calls: Mapping[str, MadeCall] = record.by_key(tenant_id, keys)
        self._approvals: Mapping[str, Approval] = record.approvals(tenant_id, list(self._calls))

    def of(self, key: str) -> Made:
        """Return who made what has this key; nothing is said of what has none."""
        if key in self._calls:
            return Made(step=key, approval=self._approvals.get(key))
        return Made(words=origin_of(key) or (f"operation {key}, of which no call is known" if key else ""))


@dataclass(frozen=True)
class Happening:
    """An entry of the books. ``memo`` is text from outside; ``invoice`` is an id to link to, or empty."""

    at: datetime
    words: str
    memo: str
    invoice: str
    owed: str
    paid: str
    balance: str
    made: Made


def happenings(tenant_id: UUID, rows: Sequence[queries.Booked]) -> list[Happening]:
    """Return entries in words, in their order."""
    entries = [row.entry for row in rows]
    invoices = queries.numbers(tenant_id, entries)
    makers = Makers(tenant_id, [entry.operation_key for entry in entries])
    return [_happening(row, invoices, makers) for row in rows]


def _happening(row: queries.Booked, invoices: Mapping[str, tuple[str, str]], makers: Makers) -> Happening:
    entry = row.entry
    ref, number = invoices.get(queries.about(entry), ("", ""))
    return Happening(
        at=entry.at,
        words=sentence(entry.kind, entry.currency, row.moved, number),
        memo=queries.reason(entry),
        invoice=ref,
        owed=signed(queries.owed_by(row.moved), entry.currency),
        paid=signed(row.moved.get("cash", 0), entry.currency),
        balance=standing(row.owed_minor, entry.currency),
        made=makers.of(entry.operation_key),
    )


def invoice_status(status: str, *, past_due: bool) -> Status:
    """Return where an invoice is in its life."""
    match status:
        case "paid":
            return Status("ok", "paid")
        case "open":
            return Status("stop", "past due") if past_due else Status("notice", "open")
        case "uncollectible":
            return Status("stop", "uncollectible")
        case _:
            return Status("gone", status)


def amounts(minor: Mapping[str, int]) -> str:
    """Return sums of several currencies in one line, a dash for none."""
    told = [str(Money(sum_minor, currency)) for currency, sum_minor in minor.items() if sum_minor]
    return ", ".join(told) or NOTHING
