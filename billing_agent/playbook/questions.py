"""Questions (pure): what stands on an invoice, when it is due, why a payment failed, tax, and what is owed."""

import re
from datetime import date

from agentops.registry.offline.looking import Unclear
from agentops.registry.offline.outcomes import Change, Handed, Outcome
from billing_agent.connectors.mail_rules import LONGEST_VALUE
from billing_agent.playbook.answers import Answer, day, letter, reason_words
from billing_agent.playbook.choosing import one_invoice
from billing_agent.playbook.facts import Account, Billed, Desk, Line, Method
from billing_agent.playbook.wishes import Wish

MOST_COPIES = 3
MOST_LISTED = 6
"""So many invoices fit into the gap of a mail."""

_HIGHER = re.compile(r"\b(?:higher|more|increase[ds]?|up|so much|expensive|dearer)\b", re.IGNORECASE)
_CLAIMS_EXEMPT = re.compile(
    r"\b(?:we|i|our \w+) (?:are|am|is|have been)\b.{0,40}\b(?:exempt|charity|non-?profit)\b", re.I | re.S
)
_LOST = "lost_or_stolen"
_EXPIRED = "expired_card"
GIVEN_UP = frozenset({_LOST, _EXPIRED})
"""Why a card is not charged again: the customer is asked for another one."""


def is_given_up(billed: Billed, method: Method, today: date) -> str:
    """Return the decline code for which a card is not charged again, empty when it can be."""
    codes = {charge.decline_code for charge in billed.charges if charge.method_id == method.id}
    if _LOST in codes:
        return _LOST
    return _EXPIRED if method.is_expired(today) else ""


def card_needed(billed: Billed, method: Method, why: str, account: Account) -> Answer:
    """Return the answer that asks for another card."""
    head = billed.head
    words = f"{head.left} of invoice {head.words} cannot be charged to {method.words}: {reason_words(why)}."
    mail = letter(
        "new-card-needed",
        name=account.name,
        amount=str(head.left),
        invoice=head.words,
        method=f"your {method.words}",
        reason=reason_words(why),
    )
    return Answer(words, f"invoice {head.words}", mail)


def declined(wish: Wish, desk: Desk) -> list[Outcome]:
    """Tell why an invoice is not paid and what happens next; what nobody tries any more is also for a person.

    When the customer has another card since, it is charged.
    """
    billed = one_invoice(wish, desk, among_open=True)
    head, account, attempt = billed.head, desk.account(), billed.declined
    if head.status != "open":
        raise Unclear(f"invoice {head.words} is {head.status}, though the text says that it is not paid")
    if attempt is None:
        return [_due(billed, account)]
    method = account.default_method or account.method(attempt.method_id)
    why = is_given_up(billed, method, desk.today) if method is not None else ""
    if method is not None and why:
        return [card_needed(billed, method, why, account)]
    if method is not None and method.id != attempt.method_id:
        return [attempt_with(billed, method)]
    told: list[Outcome] = [_reminder(billed, account, attempt.decline_code)]
    if head.next_attempt_at is None:
        told.append(no_attempt_left(f"the unpaid invoice {head.words}"))
    return told


def attempt_with(billed: Billed, method: Method) -> Change:
    """Return the attempt to charge what is left of an open invoice."""
    head = billed.head
    arguments = {
        "invoice_id": head.id,
        "payment_method_id": method.id,
        "amount_minor": head.left.minor,
        "currency": head.left.currency,
    }
    about = f"another attempt to charge invoice {head.words}"
    return Change("retry_charge", arguments, about, f"{{amount}} for invoice {head.words} is charged, and it is paid.")


def _reminder(billed: Billed, account: Account, decline_code: str) -> Answer:
    head = billed.head
    times = {1: "once", 2: "twice"}.get(head.attempts, f"{head.attempts} times")
    words = f"{head.left} of invoice {head.words} is not paid; it was tried {times}: {reason_words(decline_code)}."
    mail = letter(
        "payment-reminder",
        name=account.name,
        amount=str(head.left),
        invoice=head.words,
        due=day(head.due_at),
        attempts=times,
        reason=reason_words(decline_code),
        next=next_words(head.next_attempt_at),
    )
    return Answer(words, f"invoice {head.words}", mail)


def next_words(moment: date | None) -> str:
    """Return what the customer is told about the next attempt, which there may not be."""
    if moment is None:
        return "Please pay it another way, or add another card; a colleague looks after it."
    return f"We try it again on {day(moment)}."


def no_attempt_left(about: str) -> Handed:
    """Return the hand-over of an invoice that nobody tries to charge any more."""
    return Handed(
        about, "The charge was declined and no other attempt is to come; a person decides what becomes of it."
    )


def due(wish: Wish, desk: Desk) -> list[Outcome]:
    """Tell when an invoice is due and what is left of it."""
    only_open = not wish.invoices and len(desk.account().open_invoices) == 1
    billed = one_invoice(wish, desk, among_open=only_open)
    if billed.head.left.minor < 1:
        return [copy_of(billed, desk.account())]
    return [_due(billed, desk.account())]


def _due(billed: Billed, account: Account) -> Answer:
    head = billed.head
    mail = letter("invoice-due", name=account.name, invoice=head.words, amount=str(head.left), due=day(head.due_at))
    return Answer(f"{head.left} of invoice {head.words} is due on {day(head.due_at)}.", f"invoice {head.words}", mail)


def copy(wish: Wish, desk: Desk) -> list[Outcome]:
    """Send the invoices that are named, otherwise the latest one."""
    named = wish.invoices or tuple(head.id for head in desk.latest()[:1])
    if not named:
        raise Unclear("the customer has no invoice")
    if len(named) > MOST_COPIES:
        raise Unclear(f"more than {MOST_COPIES} invoices are asked for")
    return [copy_of(desk.invoice(each), desk.account()) for each in named]


def copy_of(billed: Billed, account: Account) -> Answer:
    """Return the answer that says what stands on an invoice."""
    head = billed.head
    mail = letter(
        "invoice-copy",
        name=account.name,
        invoice=head.words,
        issued=day(head.issued_at),
        lines=lines_of(billed),
        tax=str(billed.tax),
        total=str(head.total),
        status=_status(billed),
    )
    return Answer(f"Invoice {head.words} over {head.total} is {_status(billed)}.", f"invoice {head.words}", mail)


def lines_of(billed: Billed) -> str:
    """Return the lines of an invoice in one line of text. Raises Unclear when they do not fit into a mail."""
    words = "; ".join(_row(line, billed) for line in billed.lines)
    if len(words) > LONGEST_VALUE:
        raise Unclear(f"invoice {billed.head.words} has more lines than a mail from a template can hold")
    return words


def _row(line: Line, billed: Billed) -> str:
    money = type(billed.head.total)(line.amount_minor, billed.head.total.currency)
    times = f"{line.quantity} × " if line.quantity > 1 else ""
    period = f" ({day(line.starts)} to {day(line.ends)})" if line.starts is not None and line.ends is not None else ""
    return f"{times}{line.description}{period}: {money}"


def _status(billed: Billed) -> str:
    head = billed.head
    return f"open, {head.left} is left to pay until {day(head.due_at)}" if head.left.minor > 0 else head.status


def why(wish: Wish, desk: Desk) -> list[Outcome]:
    """Explain an invoice; when it is said to be higher, by what was billed before it."""
    billed = one_invoice(wish, desk)
    account, head = desk.account(), billed.head
    reason = _before(billed, desk) if _HIGHER.search(wish.all_words) else "The lines above are all that it bills."
    mail = letter(
        "invoice-explained",
        name=account.name,
        invoice=head.words,
        lines=lines_of(billed),
        tax=str(billed.tax),
        total=str(head.total),
        status=_status(billed),
        why=reason,
    )
    return [
        Answer(f"Invoice {head.words} over {head.total}: {lines_of(billed)}. {reason}", f"invoice {head.words}", mail)
    ]


def _before(billed: Billed, desk: Desk) -> str:
    """Return what the regular invoice before this one billed, and what was changed between the two."""
    heads = desk.latest()
    ids = [head.id for head in heads]
    older = heads[ids.index(billed.head.id) + 1 :] if billed.head.id in ids else ()
    changed = ""
    for head in older[:2]:
        found = desk.invoice(head.id)
        if any(line.is_proration for line in found.lines):
            changed = f" In between, on {day(head.issued_at)}, the plan was changed (invoice {head.words})."
        else:
            return f"The one before it, {head.words}, came to {head.total}: {lines_of(found)}.{changed}"
    if changed:
        return changed.strip()
    raise Unclear(f"there is no earlier invoice to compare {billed.head.words} with")


def tax(wish: Wish, desk: Desk) -> list[Outcome]:
    """Tell what tax was billed and why. Whether somebody is exempt who is not on record as such, a person decides."""
    account = desk.account()
    if not account.is_exempt and _CLAIMS_EXEMPT.search(wish.all_words):
        return tax_off(wish, desk)
    billed = one_invoice(wish, desk)
    head = billed.head
    if account.is_exempt and billed.tax.minor:
        raise Unclear(f"the customer is exempt from tax now, and invoice {head.words} bills some")
    reason = (
        "Your account is on record as tax exempt, so no tax is added. This is right, and nothing is billed later."
        if account.is_exempt
        else f"The rate for your account is {account.tax_bp / 100:g} %, and it is added to each line."
    )
    mail = letter("tax-explained", name=account.name, invoice=head.words, tax=str(billed.tax), why=reason)
    return [Answer(f"The tax on invoice {head.words} is {billed.tax}. {reason}", f"invoice {head.words}", mail)]


def tax_off(wish: Wish, desk: Desk) -> list[Outcome]:
    """Hand over whoever says that they are exempt and is not on record as such."""
    if desk.account().is_exempt:
        return tax(wish, desk)
    raise Unclear("the customer is not on record as tax exempt; a person checks the certificate")


def balance(wish: Wish, desk: Desk) -> list[Outcome]:
    """Tell what was billed lately, what is owed, and which credit is left."""
    account, heads = desk.account(), desk.latest()[:MOST_LISTED]
    rows = [f"{head.words} of {day(head.issued_at)}: {head.total}, {head.status}" for head in heads]
    listed = "; ".join(rows) or "none"
    mail = letter(
        "invoices-listed", name=account.name, invoices=listed, owed=str(account.owed), credit=str(account.credit)
    )
    words = f"The latest invoices: {len(heads)}; {account.owed} is owed and {account.credit} of credit is left."
    return [Answer(words, "the account", mail)]
