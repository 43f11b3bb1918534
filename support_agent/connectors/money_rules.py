"""Refunds of orders and goodwill credits. Pure."""

from datetime import timedelta

from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change, Preview
from support_agent.connectors.plan import (
    Plan,
    Snapshot,
    conflict,
    invalid,
    known_customer,
    known_order,
    missing,
    own_method,
    settle,
    target_of,
    versions_of,
)
from support_agent.connectors.port import CreditCustomer, RefundOrder, StopPayout
from support_agent.connectors.records import REFUND, Entry, Method, Order, Payout

STOP_WINDOW = timedelta(hours=24)


def plan_refund(snapshot: Snapshot, write: RefundOrder) -> Plan:
    """Plan a refund to a method that paid for the order, or to one of the customer's gift cards.

    Raises ToolFailure when that is more than was paid less what went back so far, in all or, off gift
    cards, to that method.
    """
    customer = known_customer(snapshot)
    order = known_order(snapshot)
    method = own_method(customer, write.method_ref)
    _require_amount(write.amount)
    if write.amount.currency != order.currency:
        raise invalid(f"Order {order.ref} was paid in {order.currency}, not {write.amount.currency}.", "currency")
    _require_refundable(order, method, write.amount)
    balances, changes = settle(method, write.amount)
    refunded = order.money(order.refunded.minor + write.amount.minor)
    left = order.money(order.kept.minor - write.amount.minor)
    return Plan(
        preview=Preview(
            effect=f"Refund {write.amount} to {customer.name} for order {order.ref}, to {method.words}",
            target=target_of(customer),
            changes=(*changes, Change("Reason", "", write.reason)),
            versions=versions_of(order=order, methods=[method]),
            money=write.amount,
            parts=(
                Amount.of(
                    "Refund",
                    write.amount,
                    (
                        (f"Refunded on order {order.ref}", order.refunded, refunded),
                        ("Can still be refunded", order.kept, left),
                    ),
                ),
            ),
        ),
        result={
            "order_id": order.ref,
            "payment_method_id": method.ref,
            "amount_minor": write.amount.minor,
            "currency": order.currency,
            "refunded_minor": refunded.minor,
            "refundable_minor": left.minor,
            "payout_id": snapshot.key,
        },
        entries=(Entry(REFUND, write.amount.minor, method.ref),),
        balances=balances,
        settles_at=snapshot.now + STOP_WINDOW,
    )


def _require_refundable(order: Order, method: Method, amount: Money) -> None:
    if order.kept.minor <= 0:
        raise conflict(f"Everything that was paid for order {order.ref} has been given back already.", "order_id")
    if amount.minor > order.kept.minor:
        raise conflict(
            f"Of what was paid for order {order.ref}, only {order.kept} can still be refunded.", "amount_minor"
        )
    if method.is_gift_card:
        return
    through = order.money(order.kept_by_method().get(method.ref, 0))
    if through.minor <= 0:
        raise conflict(
            f"Order {order.ref} was not paid with the {method.words}; refund to what paid for it or to a gift card.",
            "payment_method_id",
        )
    if amount.minor > through.minor:
        raise conflict(
            f"Only {through} of order {order.ref} was paid with the {method.words} and not given back.", "amount_minor"
        )


def plan_credit(snapshot: Snapshot, write: CreditCustomer) -> Plan:
    """Plan a goodwill credit to a gift card of the customer, in the card's currency."""
    customer = known_customer(snapshot)
    method = own_method(customer, write.method_ref)
    _require_amount(write.amount)
    if not method.is_gift_card:
        raise invalid(f"Credit goes to a gift card; this is the {method.words}.", "payment_method_id")
    balances, changes = settle(method, write.amount)
    return Plan(
        preview=Preview(
            effect=f"Credit {write.amount} to {customer.name}, to {method.words}",
            target=target_of(customer),
            changes=(*changes, Change("Reason", "", write.reason)),
            versions=versions_of(methods=[method]),
            money=write.amount,
            parts=(Amount.of("Credit", write.amount),),
        ),
        result={
            "payment_method_id": method.ref,
            "amount_minor": write.amount.minor,
            "currency": write.amount.currency,
            "balance_minor": balances[method.ref],
            "payout_id": snapshot.key,
        },
        balances=balances,
        settles_at=snapshot.now + STOP_WINDOW,
    )


def plan_stop(snapshot: Snapshot, write: StopPayout) -> Plan:
    """Plan the stop of a refund or credit before it is paid out.

    Raises ToolFailure when it is paid out or stopped already, and when the gift card no longer holds the amount.
    """
    customer, payout = known_customer(snapshot), snapshot.payout
    method = customer.method(payout.method_ref) if payout is not None else None
    order = snapshot.order
    if payout is None or method is None or (payout.order_ref and order is None):
        raise missing("payout_id")
    _require_stoppable(snapshot, payout)
    _, changes = settle(method, Money(-payout.amount.minor, payout.amount.currency))
    told = {
        "payout_id": payout.ref,
        "payment_method_id": method.ref,
        "amount_minor": payout.amount.minor,
        "currency": payout.amount.currency,
    }
    if order is not None:
        told["order_id"] = order.ref
        changes = (*_unrefunded(order, payout.amount), *changes)
    return Plan(
        preview=Preview(
            effect=f"Stop the {payout.words}, before it is paid out to {customer.name}",
            target=target_of(customer),
            changes=(*changes, Change(f"Ticket {payout.ticket_ref}", "", "goes to a person")),
            versions=versions_of(order=order, methods=[method]),
        ),
        result=told,
        stops=payout.ref,
    )


def _require_stoppable(snapshot: Snapshot, payout: Payout) -> None:
    if payout.stopped_at is not None:
        raise conflict(f"The {payout.words} was stopped before.", "payout_id")
    if payout.settles_at <= snapshot.now:
        hours = STOP_WINDOW // timedelta(hours=1)
        raise conflict(f"The {payout.words} has been paid out; it could be stopped for {hours} hours.", "payout_id")


def _unrefunded(order: Order, amount: Money) -> tuple[Change, ...]:
    refunded = order.money(order.refunded.minor - amount.minor)
    left = order.money(order.kept.minor + amount.minor)
    return (
        Change(f"Refunded on order {order.ref}", str(order.refunded), str(refunded)),
        Change("Can still be refunded", str(order.kept), str(left)),
    )


def _require_amount(amount: Money) -> None:
    if amount.minor < 1:
        raise invalid("The amount must be at least one minor unit.", "amount_minor")
