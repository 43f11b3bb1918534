"""The one place that turns a write into its plan. Pure; used for previews and for the write itself."""

from typing import assert_never

from support_agent.connectors import money_rules, order_rules, return_rules, ticket_rules
from support_agent.connectors.plan import Plan, Snapshot
from support_agent.connectors.port import (
    CancelOrder,
    ChangeCustomerAddress,
    ChangeItems,
    ChangeOrderAddress,
    ChangePayment,
    CreditCustomer,
    DiscardDraft,
    DraftReply,
    EscalateTicket,
    ExchangeItems,
    RecallReply,
    RefundOrder,
    RestoreStatus,
    ReturnItems,
    SendReply,
    StopPayout,
    UpdateTicket,
    Write,
)


def plan(snapshot: Snapshot, write: Write) -> Plan:  # noqa: C901, PLR0912 - one line a kind of write
    """Return what ``write`` comes to on the records of ``snapshot``. Raises ToolFailure when it is refused."""
    match write:
        case DraftReply():
            return ticket_rules.plan_draft(snapshot, write)
        case SendReply():
            return ticket_rules.plan_reply(snapshot, write)
        case UpdateTicket():
            return ticket_rules.plan_update(snapshot, write)
        case EscalateTicket():
            return ticket_rules.plan_escalation(snapshot, write)
        case RecallReply():
            return ticket_rules.plan_recall(snapshot, write)
        case DiscardDraft():
            return ticket_rules.plan_discard(snapshot, write)
        case RestoreStatus():
            return ticket_rules.plan_restore(snapshot, write)
        case RefundOrder():
            return money_rules.plan_refund(snapshot, write)
        case CreditCustomer():
            return money_rules.plan_credit(snapshot, write)
        case StopPayout():
            return money_rules.plan_stop(snapshot, write)
        case CancelOrder():
            return order_rules.plan_cancel(snapshot, write)
        case ChangeItems():
            return order_rules.plan_change_items(snapshot, write)
        case ChangeOrderAddress():
            return order_rules.plan_change_order_address(snapshot, write)
        case ChangePayment():
            return order_rules.plan_change_payment(snapshot, write)
        case ChangeCustomerAddress():
            return order_rules.plan_change_customer_address(snapshot, write)
        case ReturnItems():
            return return_rules.plan_return(snapshot, write)
        case ExchangeItems():
            return return_rules.plan_exchange(snapshot, write)
        case _:
            assert_never(write)
