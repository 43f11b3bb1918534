"""Wishes about money (pure): refunds, credits, corrections, invoices that should not be, and charges once more.

What is asked for is checked against what was billed and paid; whether it may be done is for policy and people.
"""

import re
from collections.abc import Sequence
from datetime import timedelta

from agentops.kernel.money import Money
from agentops.registry.offline.amounts import one_amount
from agentops.registry.offline.looking import Unclear
from agentops.registry.offline.outcomes import Change, Outcome
from billing_agent.playbook.choosing import method_for, one_invoice
from billing_agent.playbook.facts import Billed, Charge, Desk, Head, Line
from billing_agent.playbook.questions import attempt_with, card_needed, is_given_up
from billing_agent.playbook.wishes import Wish

CLOSE_TOGETHER = timedelta(days=7)
"""Two invoices over the same amount that were issued within this time may be one thing that was billed twice."""

_TWICE = re.compile(r"\b(?:twice|double|two times|duplicate|second (?:payment|charge)|both times)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\b(?:in full|full(?:y)?|whole|entire|everything|all of it)\b", re.IGNORECASE)
_PROBLEMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (words, re.compile(pattern, re.IGNORECASE))
    for words, pattern in (
        (
            "Arrived damaged",
            r"\b(?:damaged?|broken?|dent(?:ed|s)?|crack(?:ed|s)?|torn|holes?|stain(?:ed|s)?|scratch\w*)\b",
        ),
        ("Faulty", r"\b(?:faulty|defective|(?:did|does)(?:n't| not) work|not working|down|outage|unavailable)\b"),
        ("Missing", r"\b(?:missing|never (?:arrived|came|received|got)|not (?:delivered|received|arrived))\b"),
        ("Not held", r"\b(?:did(?:n't| not) (?:take place|happen)|never (?:took place|happened)|called off)\b"),
        ("Late", r"\b(?:late|delay(?:ed)?|days? after)\b"),
        ("Billed by mistake", r"\b(?:mistake|wrong(?:ly)?|error|incorrect(?:ly)?|overcharged|not ordered|unused)\b"),
    )
)


def problem_in(text: str) -> str:
    """Return what went wrong, in the words of a refund's reason. Raises Unclear when nothing is said."""
    for words, pattern in _PROBLEMS:
        if pattern.search(text):
            return words
    raise Unclear("it is not said what went wrong")


def refund(wish: Wish, desk: Desk) -> list[Outcome]:
    """Give back what was charged twice, or an amount that is named for something that went wrong."""
    if _TWICE.search(wish.all_words):
        return [_second_charge(wish, desk)]
    billed = one_invoice(wish, desk)
    charge = _paid(billed, desk)
    amount = one_amount(wish.words, wish.before) or _whole(wish, charge)
    problem = problem_in(wish.all_words)
    _require(amount, charge.amount.currency)
    if amount.minor > charge.refundable.minor:
        raise Unclear(
            f"{amount} is asked for; of the {charge.amount} that was charged for invoice {billed.head.words}"
            f" {charge.refunded} went back before, and {charge.refundable} can still go back"
        )
    return [_refund(billed, charge, amount, f"{problem}, as the customer writes")]


def _paid(billed: Billed, desk: Desk) -> Charge:
    charge = billed.paid_by
    if charge is None:
        raise Unclear(f"invoice {billed.head.words} was not paid by one charge")
    if charge.refundable.minor < 1:
        disputed = "the charge is disputed" if desk.account().has_dispute else "all of it went back before"
        raise Unclear(f"nothing of the charge for invoice {billed.head.words} can go back: {disputed}")
    return charge


def _whole(wish: Wish, charge: Charge) -> Money:
    if _WHOLE.search(wish.all_words):
        return charge.refundable
    raise Unclear("it is not said how much is asked for")


def _require(amount: Money, currency: str) -> None:
    if amount.currency != currency:
        raise Unclear(f"{amount} is asked for, but it was billed in {currency}")
    if amount.minor < 1:
        raise Unclear("no amount above zero is asked for")


def _refund(billed: Billed, charge: Charge, amount: Money, reason: str) -> Change:
    arguments = {
        "charge_id": charge.id,
        "amount_minor": amount.minor,
        "currency": amount.currency,
        "reason": reason,
    }
    number = billed.head.words
    return Change(
        "refund_charge", arguments, f"the refund for invoice {number}", f"{{amount}} of invoice {number} is refunded."
    )


def _second_charge(wish: Wish, desk: Desk) -> Change:
    """Return the refund of the later of two charges for the same thing."""
    for first, second in _pairs(wish, desk):
        earlier, later = desk.invoice(first), desk.invoice(second)
        if not is_same(earlier, later) or earlier.paid_by is None or later.paid_by is None:
            continue
        if later.paid_by.refundable != later.paid_by.amount or earlier.paid_by.refunded.minor:
            raise Unclear("one of the two charges was given back before, or is disputed")
        reason = f"The same as invoice {earlier.head.words}, and charged a second time"
        return _refund(later, later.paid_by, later.paid_by.amount, reason)
    raise Unclear("the customer writes of two charges; the invoices show none that is the same as another")


def _pairs(wish: Wish, desk: Desk) -> list[tuple[str, str]]:
    """Return the ids of invoices that may be one thing billed twice, each with the later one second."""
    if len(wish.invoices) == 2:
        return [(wish.invoices[0], wish.invoices[1])]
    oldest_first = [head for head in reversed(desk.latest()) if head.status == "paid"]
    return [
        (head.id, other.id)
        for index, head in enumerate(oldest_first)
        for other in oldest_first[index + 1 :]
        if _may_be_one(head, other) and (not wish.invoices or {head.words, other.words} & set(wish.invoices))
    ]


def _may_be_one(head: Head, other: Head) -> bool:
    if head.total != other.total or head.issued_at is None or other.issued_at is None:
        return False
    return abs(other.issued_at - head.issued_at) <= CLOSE_TOGETHER


def is_same(one: Billed, other: Billed) -> bool:
    """Return whether two invoices bill the same things for the same time."""
    return one.head.id != other.head.id and list(map(_said, one.lines)) == list(map(_said, other.lines))


def _said(line: Line) -> tuple[object, ...]:
    return line.description, line.quantity, line.amount_minor, line.starts, line.ends


def credit(wish: Wish, desk: Desk) -> list[Outcome]:
    """Give goodwill for something that went wrong: at most what the latest invoice came to."""
    amount = one_amount(wish.words, wish.before)
    if amount is None:
        raise Unclear("a credit is asked for without an amount")
    _require(amount, desk.account().currency)
    problem = problem_in(wish.all_words)
    latest = desk.latest()
    if not latest or amount.minor > latest[0].total.minor:
        raise Unclear(f"{amount} of credit is more than the customer was billed last")
    arguments = {
        "amount_minor": amount.minor,
        "currency": amount.currency,
        "reason": f"Goodwill. {problem}, as the customer writes",
    }
    return [Change("apply_credit", arguments, "the credit", "{amount} of credit is on the account.")]


def correction(wish: Wish, desk: Desk) -> list[Outcome]:
    """Credit what an invoice bills twice. An invoice that is closed stays as it is."""
    billed = one_invoice(wish, desk)
    twice = _line_twice(billed.lines)
    if not _TWICE.search(wish.all_words) or twice is None:
        raise Unclear(f"invoice {billed.head.words} shows nothing that is billed twice")
    arguments = {
        "amount_minor": twice.amount_minor + twice.tax_minor,
        "currency": billed.head.total.currency,
        "reason": f"Invoice {billed.head.words} bills this twice: {twice.description}"[:500],
        "invoice_id": billed.head.id,
    }
    about = f"the correction of invoice {billed.head.words}"
    return [Change("apply_credit", arguments, about, f"{{amount}} of credit is given for invoice {billed.head.words}.")]


def _line_twice(lines: Sequence[Line]) -> Line | None:
    again = [
        line for index, line in enumerate(lines) if line.amount_minor > 0 and _said(line) in map(_said, lines[:index])
    ]
    return again[0] if len(again) == 1 else None


def void(wish: Wish, desk: Desk) -> list[Outcome]:
    """Take back an open invoice that is the same as another one."""
    billed = one_invoice(wish, desk)
    head = billed.head
    if head.status != "open" or head.left != head.total:
        raise Unclear(f"invoice {head.words} is {head.status} or partly paid, so it cannot be taken back")
    for other in desk.latest():
        if other.id != head.id and other.status != "void" and _may_be_one(head, other):
            original = desk.invoice(other.id)
            if is_same(billed, original):
                arguments = {"invoice_id": head.id, "reason": f"It bills the same as invoice {other.words}."}
                about = f"taking invoice {head.words} back"
                return [Change("void_invoice", arguments, about, f"Invoice {head.words} is taken back.")]
    raise Unclear(f"no other invoice is the same as {head.words}, so it is not clear that it should not be")


def retry(wish: Wish, desk: Desk) -> list[Outcome]:
    """Charge what is left of an open invoice once more, unless its card cannot be charged any more."""
    billed = one_invoice(wish, desk, among_open=True)
    head, account = billed.head, desk.account()
    if head.status != "open":
        raise Unclear(f"invoice {head.words} is {head.status}, so there is nothing to charge")
    method = method_for(wish, account)
    why = is_given_up(billed, method, desk.today)
    if why:
        return [card_needed(billed, method, why, account)]
    return [attempt_with(billed, method)]
