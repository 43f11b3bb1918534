"""Three accounts of the same calls compared: the ledger, the billing system's log, and the books. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentops.kernel.money import Money
from agentops.registry.made import MadeCall, Stand
from agentops.registry.reconcile import Difference, Gap
from billing_agent.connectors.effects import Move, TookEffect


@dataclass(frozen=True)
class Accounts:
    """What is known of each idempotency key; ``booked`` are the amounts of its entries, ``pages`` show them."""

    calls: Mapping[str, MadeCall]
    effects: Mapping[str, TookEffect]
    booked: Mapping[str, Sequence[Move]]
    pages: Mapping[str, str]


def booked_move(kind: str, currency: str, moved: Mapping[str, int]) -> Move | None:
    """Return what an entry moved, as the system's log says it. ``moved`` are its lines in minor units, by account.

    None for an entry that follows from another one of its call, such as credit that was used on an invoice.
    """
    accounts = _SAYS.get(kind)
    if accounts is None:
        return None
    return Move(kind, Money(abs(sum(moved.get(account, 0) for account in accounts)), currency))


_SAYS: Mapping[str, tuple[str, ...]] = {
    "charge": ("cash",),
    "refund": ("cash",),
    "credit": ("customer_credit",),
    "invoice": ("receivable",),
    "void": ("revenue", "tax"),
    "write_off": ("written_off",),
}


def compare(accounts: Accounts) -> list[Difference]:
    """Return where the three differ, by key. What runs at this moment is left alone."""
    keys = sorted({*accounts.calls, *accounts.effects, *accounts.booked})
    return [difference for key in keys for difference in _of(key, accounts)]


def _of(key: str, accounts: Accounts) -> Iterator[Difference]:
    call, effect = accounts.calls.get(key), accounts.effects.get(key)
    booked, url = accounts.booked.get(key, ()), accounts.pages.get(key, "")
    if call is not None and call.stand is Stand.UNDER_WAY:
        return
    if call is not None and call.stand is Stand.UNKNOWN:
        seen = "nothing under its key" if effect is None else f"this: {_told(effect)}"
        words = f"Nobody knows yet whether {_asked(call)} took effect. The billing system has {seen}."
        yield Difference(Gap.UNKNOWN_OUTCOME, words, key, url)
        return
    if effect is None:
        if call is not None:
            words = f"{_asked(call)} is done by the ledger, and the billing system has nothing under its key."
            yield Difference(Gap.CALL_WITHOUT_EFFECT, words, key, url)
        if booked:
            words = f"The books have {_sums(booked)} under a key of which the billing system has no operation."
            yield Difference(Gap.ENTRY_WITHOUT_OPERATION, words, key, url)
        return
    if call is None and effect.for_call:
        words = f"The billing system did this, and the ledger has no call for it: {_told(effect)}."
        yield Difference(Gap.EFFECT_WITHOUT_CALL, words, key, url)
    if call is not None:
        yield from _as_asked(call, effect, url)
    if effect.in_books:
        yield from _as_booked(effect, booked, url)


def _as_asked(call: MadeCall, effect: TookEffect, url: str) -> Iterator[Difference]:
    if call.money is None or not call.money.minor or effect.declined:
        return
    if all(move.amount != call.money for move in effect.moves):
        words = f"The ledger says {_asked(call)}; the billing system moved {_sums(effect.moves)}."
        yield Difference(Gap.AMOUNTS_DIFFER, words, call.key, url)


def _as_booked(effect: TookEffect, booked: Sequence[Move], url: str) -> Iterator[Difference]:
    if Counter(effect.moves) == Counter(booked):
        return
    if not booked:
        words = f"The billing system moved {_sums(effect.moves)}, and the books have no entry for it."
        yield Difference(Gap.EFFECT_WITHOUT_ENTRY, words, effect.key, url)
        return
    words = f"The billing system moved {_sums(effect.moves)}; the books say {_sums(booked)}."
    yield Difference(Gap.AMOUNTS_DIFFER, words, effect.key, url)


def _asked(call: MadeCall) -> str:
    return call.tool if call.money is None else f"{call.tool} of {call.money}"


def _told(effect: TookEffect) -> str:
    declined = ", which was declined" if effect.declined else ""
    return f"{effect.action}{declined}" if not effect.moves else f"{effect.action}, {_sums(effect.moves)}"


def _sums(moves: Sequence[Move]) -> str:
    return ", ".join(f"{move.kind} {move.amount}" for move in moves) or "nothing"
