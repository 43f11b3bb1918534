"""The one place that turns a write into its effect. Pure; used for previews and for the write itself."""

from typing import assert_never

from billing_agent.connectors import (
    case_rules,
    charge_rules,
    credit_rules,
    invoice_rules,
    mail_rules,
    plan_change_rules,
    subscription_rules,
)
from billing_agent.connectors.checks import require_open_books
from billing_agent.connectors.effect import Effect, Snapshot
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    CloseCase,
    DiscardMail,
    DropPlanChange,
    EscalateCase,
    GenerateInvoice,
    KeepSubscription,
    PauseSubscription,
    RecallMail,
    RefundCharge,
    ReopenCase,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteMail,
    WriteOffInvoice,
)


def plan(snapshot: Snapshot, write: Write) -> Effect:
    """Return what ``write`` comes to on the records of ``snapshot``.

    Raises ToolFailure when it is refused, CONFLICT for an entry in books that are closed.
    """
    effect = _planned(snapshot, write)
    if effect.entries:
        require_open_books(snapshot.closed_through, snapshot.now.date())
    return effect


def _planned(snapshot: Snapshot, write: Write) -> Effect:  # noqa: C901, PLR0912 - one line a kind of write
    match write:
        case ApplyCredit():
            return credit_rules.plan_credit(snapshot, write)
        case ReverseCredit():
            return credit_rules.plan_reversal(snapshot, write)
        case RetryCharge():
            return charge_rules.plan_retry(snapshot, write)
        case RefundCharge():
            return charge_rules.plan_refund(snapshot, write)
        case GenerateInvoice():
            return invoice_rules.plan_invoice(snapshot, write)
        case VoidInvoice():
            return invoice_rules.plan_void(snapshot, write)
        case WriteOffInvoice():
            return invoice_rules.plan_write_off(snapshot, write)
        case ChangePlan():
            return plan_change_rules.plan_change(snapshot, write)
        case DropPlanChange():
            return plan_change_rules.plan_drop_change(snapshot, write)
        case PauseSubscription():
            return subscription_rules.plan_pause(snapshot, write)
        case ResumeSubscription():
            return subscription_rules.plan_resume(snapshot, write)
        case CancelSubscription():
            return subscription_rules.plan_cancel(snapshot, write)
        case KeepSubscription():
            return subscription_rules.plan_keep(snapshot, write)
        case WriteMail():
            return mail_rules.plan_mail(snapshot, write)
        case RecallMail():
            return mail_rules.plan_recall(snapshot, write)
        case DiscardMail():
            return mail_rules.plan_discard(snapshot, write)
        case CloseCase():
            return case_rules.plan_close(snapshot, write)
        case ReopenCase():
            return case_rules.plan_reopen(snapshot, write)
        case EscalateCase():
            return case_rules.plan_escalation(snapshot, write)
        case _:
            assert_never(write)
