"""Which letter tells of what was done (pure), by what really happened: a person may have altered a call."""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.kernel.money import Money
from agentops.registry.offline.attempts import TO_BE_CORRECTED, Attempt
from agentops.registry.offline.ending import Work
from agentops.registry.planner import ObservationStatus
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.mail_rules import gaps_of
from billing_agent.connectors.records import Template
from billing_agent.playbook.answers import Answer, Letter, day, letter, reason_words
from billing_agent.playbook.facts import Account, Desk, moment
from billing_agent.playbook.plan_wishes import NOW
from billing_agent.playbook.questions import GIVEN_UP, next_words

Told = Mapping[str, Any]


def letters_of(work: Work, desk: Desk) -> tuple[Letter, ...]:
    """Return the letters of a session's end, in the order of the wishes, each once."""
    found = [_of_attempt(attempt, desk) for attempt in work.attempts]
    found += [outcome.letter for outcome in work.others if isinstance(outcome, Answer)]
    return tuple(dict.fromkeys(each for each in found if each is not None))


def fits(mail: Letter, templates: tuple[Template, ...]) -> bool:
    """Return whether there is a reviewed template of that id with exactly these gaps."""
    template = next((each for each in templates if each.ref == mail.template_id), None)
    try:
        return template is not None and set(gaps_of(template)) == {name for name, _ in mail.fields}
    except ToolFailure:
        return False


def _of_attempt(attempt: Attempt, desk: Desk) -> Letter | None:
    seen = attempt.seen
    if seen is None:
        return None
    account = desk.account()
    if seen.status is ObservationStatus.REJECTED and attempt.rejected_for not in TO_BE_CORRECTED:
        return letter("not-done", name=account.name, about=attempt.change.about)
    if seen.status is not ObservationStatus.OK:
        return None
    return _WRITERS[seen.tool](desk, account, seen.arguments, seen.result)


def _money(told: Told) -> str:
    return str(Money(told["amount_minor"], told["currency"]))


def _number(desk: Desk, account: Account, invoice_id: str) -> str:
    """Return what people call an invoice, from what was looked up."""
    heads = (*account.open_invoices, *desk.seen())
    return next((head.words for head in heads if head.id == invoice_id), invoice_id)


def _plan(desk: Desk, account: Account, subscription_id: str) -> str:
    return next((each.words for each in account.subscriptions if each.id == subscription_id), "your subscription")


def _refunded(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    number = next(
        (head.words for head in desk.seen() if told["charge_id"] in desk.charges_of(head.id)), told["charge_id"]
    )
    method = account.words_of(told["payment_method_id"])
    return letter("refund-made", name=account.name, amount=_money(told), invoice=number, method=method)


def _credited(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    if not told.get("invoice_id"):
        return letter("goodwill-given", name=account.name, amount=_money(told))
    number = _number(desk, account, told["invoice_id"])
    return letter("credit-given", name=account.name, amount=_money(told), invoice=number)


def _charged(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    facts = {
        "name": account.name,
        "amount": _money(told),
        "invoice": _number(desk, account, told["invoice_id"]),
        "method": account.words_of(told["payment_method_id"]),
    }
    if told["status"] == "succeeded":
        return letter("payment-received", **facts)
    reason = reason_words(told["decline_code"])
    if told["decline_code"] in GIVEN_UP:
        return letter("new-card-needed", **facts, reason=reason)
    following = moment(told["next_attempt_at"])
    more = next_words(following)
    return letter("payment-declined", **facts, reason=reason, next=more)


def _voided(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    number, amount = _number(desk, account, told["invoice_id"]), str(Money(told["total_minor"], told["currency"]))
    return letter("invoice-voided", name=account.name, invoice=number, amount=amount)


def _changed(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    former = _plan(desk, account, told["subscription_id"])
    name = next((plan.name for plan in desk.plans() if plan.id == asked["plan_id"]), asked["plan_id"])
    wanted = f"{asked['quantity']} × {name}" if asked["quantity"] > 1 else name
    if asked["when"] != NOW:
        return letter(
            "plan-changes-later", name=account.name, former=former, plan=wanted, day=day(moment(told["changes_at"]))
        )
    return letter("plan-changed", name=account.name, plan=wanted, former=former, difference=_difference(told))


def _difference(told: Told) -> str:
    currency = told["currency"]
    if told["credited_minor"]:
        return f"For the time that is left, {Money(told['credited_minor'], currency)} is credited to your account."
    if told["invoiced_minor"]:
        return f"For the rest of the period, {Money(told['invoiced_minor'], currency)} is invoiced."
    return "Nothing is charged for it."


def _cancelled(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    plan = _plan(desk, account, told["subscription_id"])
    return letter("subscription-ends", name=account.name, plan=plan, day=day(moment(told["cancel_at"])))


def _ended(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    return letter("subscription-ended", name=account.name, plan=_plan(desk, account, told["subscription_id"]))


def _paused(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    resumes = moment(told["resumes_at"])
    until = f"until {day(resumes)}" if resumes is not None else "until you tell us to go on"
    return letter(
        "subscription-paused", name=account.name, plan=_plan(desk, account, told["subscription_id"]), until=until
    )


def _goes_on(desk: Desk, account: Account, asked: Told, told: Told) -> Letter:
    return letter("subscription-goes-on", name=account.name, plan=_plan(desk, account, told["subscription_id"]))


_WRITERS: Mapping[str, Callable[[Desk, Account, Told, Told], Letter]] = {
    "refund_charge": _refunded,
    "apply_credit": _credited,
    "retry_charge": _charged,
    "void_invoice": _voided,
    "change_plan": _changed,
    "cancel_subscription": _cancelled,
    "end_subscription_now": _ended,
    "pause_subscription": _paused,
    "resume_subscription": _goes_on,
    "keep_subscription": _goes_on,
}
