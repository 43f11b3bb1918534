"""What is done about a case in a fault drill, how the way to the billing system fails, and what the person says (pure).

A script is the subject of its case. Its steps name the records of that case, which are made for it (``desk``). An
amount tells the person what to say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentops.kernel.crashpoints import CrashPoint
from agentops.registry.drill import Verdict

OPEN_MINOR, LARGE_MINOR, PAID_MINOR = 1_100, 6_600, 3_300
"""What stands on the invoices of a case, tax included. The large one asks, and so does every refund."""
REJECTED, IGNORED, ASKED_ABOUT, EDITED, CHANGED_TO = 666, 777, 555, 888, 270
_SAID = {
    REJECTED: Verdict.REJECTED,
    IGNORED: Verdict.IGNORED,
    ASKED_ABOUT: Verdict.ASKED,
    EDITED: Verdict.EDITED,
}
_USD = {"currency": "USD"}
CASE = "{}"
"""Stands in a text for the case's id."""


def verdict_on(tool: str, arguments: Mapping[str, Any]) -> Verdict:
    """Return what the person does about a call, which its amount says."""
    return _SAID.get(arguments.get("amount_minor", 0), Verdict.APPROVED)


def edited(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the person makes of a call that they change."""
    return {**arguments, "amount_minor": CHANGED_TO}


@dataclass(frozen=True)
class Step:
    """A call. ``{}`` in a text stands for the case's id; ``wish`` asks for it in the words of a request."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    wish: str = ""

    def of(self, case: str) -> dict[str, Any]:
        """Return the arguments for a case."""
        filled: dict[str, Any] = _filled(self.arguments, case)
        return filled


def _filled(value: Any, case: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled(each, case) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_filled(each, case) for each in value]
    return value.replace(CASE, case) if isinstance(value, str) else value


@dataclass(frozen=True)
class Script:
    """Steps, and by tool how the way to the billing system fails, a word for each attempt.

    ``busy`` and ``down``: not now · ``refused``: no · ``broken_before`` and ``broken_after``: no answer, without and
    with an effect.
    """

    steps: tuple[Step, ...]
    faults: Mapping[str, str] = field(default_factory=dict)

    def request(self, case: str) -> str:
        """Return the text of the case."""
        return " ".join(f"Please {step.wish.replace(CASE, case)}." for step in self.steps if step.wish)


def _credit(minor: int, invoice: str = "") -> Step:
    named = {"invoice_id": f"in_{{}}_{invoice}"} if invoice else {}
    where = f" on in_{{}}_{invoice}" if invoice else ""
    arguments = {"amount_minor": minor, **_USD, "reason": "Late reply", **named}
    return Step("apply_credit", arguments, f"apply a credit of {_dollars(minor)}{where}")


def _refund(minor: int) -> Step:
    arguments = {"charge_id": "ch_{}", "amount_minor": minor, **_USD, "reason": "Not held"}
    return Step("refund_charge", arguments, f"refund {_dollars(minor)} of ch_{{}}")


def _charge(invoice: str, minor: int, card: str = "pays") -> Step:
    arguments = {"invoice_id": f"in_{{}}_{invoice}", "payment_method_id": f"pm_{{}}_{card}", "amount_minor": minor}
    return Step("retry_charge", {**arguments, **_USD}, f"retry in_{{}}_{invoice} with pm_{{}}_{card}")


def _bill(minor: int) -> Step:
    items = ({"description": "Workshop", "quantity": 1, "unit_minor": minor},)
    arguments = {"items": items, **_USD, "memo": "", "due_days": 14}
    return Step("generate_invoice", arguments, f"issue an invoice for 1 workshop at {_dollars(minor)}")


def _plan(plan: str, when: str = "now") -> Step:
    arguments = {"subscription_id": "sub_{}", "plan_id": plan, "quantity": 1, "when": when}
    return Step("change_plan", arguments, f"upgrade sub_{{}} to 1 {plan}")


def _dollars(minor: int) -> str:
    return f"${minor // 100}.{minor % 100:02}"


def _mail(tool: str) -> Step:
    return Step(tool, {"template_id": "thanks", "fields": ({"name": "case", "value": "{}"},)})


_LOOK = Step("lookup_customer_360")
_SEE_OPEN, _SEE_LARGE, _SEE_PAID = (
    Step("explain_invoice", {"invoice_id": f"in_{{}}_{name}"}) for name in ("open", "large", "paid")
)
_PLANS = Step("list_plans")
_TELL = _mail("send_email")
_DRAFT = _mail("draft_email")
_VOID = Step("void_invoice", {"invoice_id": "in_{}_open", "reason": "Twice"}, "void in_{}_open")
_WRITE_OFF = Step("write_off_invoice", {"invoice_id": "in_{}_open", "reason": "Insolvent"}, "write off in_{}_open")
_PAUSE = Step("pause_subscription", {"subscription_id": "sub_{}"}, "pause sub_{}")
_CANCEL = Step("cancel_subscription", {"subscription_id": "sub_{}", "reason": "Too dear"}, "cancel sub_{}")
_END = Step("end_subscription_now", {"subscription_id": "sub_{}", "reason": "Too dear"}, "cancel sub_{} now")
_CLOSE = Step("close_case", {"note": "Done."})
_CHARGE_OPEN = _charge("open", OPEN_MINOR)

SCRIPTS: Mapping[str, Script] = {
    "credit": Script((_LOOK, _credit(900), _TELL)),
    "credit_on_invoice": Script((_LOOK, _SEE_OPEN, _credit(500, "open"), _TELL, _CLOSE)),
    "credit_asks": Script((_LOOK, _credit(7_000), _TELL)),
    "charge": Script((_LOOK, _SEE_OPEN, _CHARGE_OPEN, _TELL)),
    "charge_asks": Script((_LOOK, _SEE_LARGE, _charge("large", LARGE_MINOR), _TELL)),
    "declined": Script((_LOOK, _SEE_OPEN, _charge("open", OPEN_MINOR, "declines"), _CHARGE_OPEN)),
    "refunds": Script((_LOOK, _SEE_PAID, _refund(700), _refund(900), _TELL)),
    "refund_rejected": Script((_SEE_PAID, _refund(REJECTED))),
    "refund_expired": Script((_SEE_PAID, _refund(IGNORED))),
    "refund_asked": Script((_SEE_PAID, _refund(ASKED_ABOUT), _TELL)),
    "refund_edited": Script((_SEE_PAID, _refund(EDITED), _TELL)),
    "refund_broken": Script((_SEE_PAID, _refund(400), _TELL), {"refund_charge": "broken_after"}),
    "bill": Script((_LOOK, _bill(1_200), _SEE_OPEN, _CHARGE_OPEN, _DRAFT)),
    "void": Script((_LOOK, _SEE_OPEN, _VOID, _TELL)),
    "write_off": Script((_LOOK, _SEE_OPEN, _WRITE_OFF, _CLOSE)),
    "upgrade": Script((_LOOK, _PLANS, _plan("business"), _CANCEL)),
    "later": Script((_LOOK, _PLANS, _plan("business", "next_period"), _CANCEL)),
    "end_now": Script((_LOOK, _PAUSE, _END, _TELL)),
    "busy": Script((_LOOK, _credit(700), _TELL), {"apply_credit": "busy", "send_email": "down"}),
    "broken": Script((_LOOK, _credit(800), _TELL), {"apply_credit": "broken_before", "send_email": "broken_after"}),
    "charge_broken": Script((_LOOK, _SEE_OPEN, _CHARGE_OPEN), {"retry_charge": "broken_after"}),
    "credit_back": Script((_LOOK, _credit(600), _TELL), {"send_email": "refused"}),
    "credit_back_busy": Script((_LOOK, _credit(600), _TELL), {"send_email": "refused", "reverse_credit": "busy down"}),
    "credit_stuck": Script((_LOOK, _credit(300), _TELL), {"send_email": "refused", "reverse_credit": "refused"}),
    "bill_back": Script((_LOOK, _bill(1_000), _SEE_OPEN, _CHARGE_OPEN), {"retry_charge": "refused"}),
    "bill_back_broken": Script(
        (_LOOK, _bill(1_000), _SEE_OPEN, _CHARGE_OPEN), {"retry_charge": "refused", "void_invoice": "broken_after"}
    ),
    "plan_back": Script((_LOOK, _PLANS, _plan("business", "next_period"), _CANCEL), {"cancel_subscription": "refused"}),
    "pause_back": Script((_LOOK, _PAUSE, _END), {"end_subscription_now": "refused"}),
}

_ANY = (
    "credit",
    "credit_on_invoice",
    "charge",
    "declined",
    "refunds",
    "bill",
    "void",
    "write_off",
    "upgrade",
    "later",
    "end_now",
)
_WRITES = ("credit", "credit_on_invoice", "charge", "declined", "bill", "broken", "charge_broken", "refund_broken")
_ASKS = ("refunds", "refund_rejected", "refund_expired", "refund_asked", "refund_edited", "credit_asks", "charge_asks")
_APPROVED = ("refunds", "refund_asked", "refund_broken", "credit_asks", "charge_asks", "end_now", "void")
_TAKES_BACK = ("credit_back", "bill_back", "bill_back_broken", "plan_back", "pause_back")
_P = CrashPoint
_REACHED_BY: Mapping[CrashPoint, tuple[str, ...]] = {
    _P.INTENT_COMMITTING: _WRITES,
    _P.INTENT_COMMITTED: _WRITES,
    _P.VENDOR_CALLING: _WRITES,
    _P.VENDOR_RETURNED: _WRITES,
    _P.RESULT_COMMITTED: _WRITES,
    _P.REQUEST_COMMITTING: _ASKS,
    _P.REQUEST_COMMITTED: _ASKS,
    _P.DECISION_COMMITTING: _ASKS,
    _P.QUESTION_ANSWERED: ("refund_asked",),
    _P.ANSWER_COMMITTING: ("refund_asked",),
    _P.WOKEN_AFTER_APPROVAL: _APPROVED,
    _P.RECOVERY_ASKED: ("busy", "broken", "charge_broken", "refund_broken"),
    _P.SLEEP_COMMITTED: ("busy", "broken", "credit_back_busy"),
    _P.SWEEP_WAKING: ("busy", "broken", "credit_back_busy"),
    _P.COMPENSATION_BEGUN: (*_TAKES_BACK, "credit_stuck"),
    _P.UNDO_RETURNED: _TAKES_BACK,
    _P.UNDO_RECORDED: _TAKES_BACK,
}


def scripts_for(point: CrashPoint) -> tuple[str, ...]:
    """Return the scripts whose sessions lead past the point; any session does past those that are not named."""
    return _REACHED_BY.get(point, _ANY)


def steps_of(script: str, case: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield tool and arguments of each step."""
    return ((step.tool, step.of(case)) for step in SCRIPTS[script].steps)
