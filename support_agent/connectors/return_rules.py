"""Returns and exchanges of delivered orders: requested now, settled when the parcel arrives. Pure."""

from agentops.kernel.money import Money
from agentops.registry.tool import Change, Preview
from support_agent.connectors.item_rules import chosen_lines, named, swap_items, swapped
from support_agent.connectors.order_rules import settlement
from support_agent.connectors.plan import (
    Plan,
    Snapshot,
    conflict,
    known_customer,
    known_order,
    own_method,
    require_state,
    settle,
    target_of,
    versions_of,
)
from support_agent.connectors.port import ExchangeItems, ReturnItems
from support_agent.connectors.records import Method, Order, OrderState


def plan_return(snapshot: Snapshot, write: ReturnItems) -> Plan:
    """Plan a return; the refund goes to a method that paid for the order or to a gift card of the customer."""
    customer = known_customer(snapshot)
    order = known_order(snapshot)
    method = own_method(customer, write.method_ref)
    require_state(order, OrderState.DELIVERED, "returned")
    _require_refund_method(order, method)
    lines = chosen_lines(order, write.item_refs)
    refund = order.money(min(sum(line.price_minor for line in lines), order.kept.minor))
    items = sorted(write.item_refs)
    return Plan(
        preview=Preview(
            effect=(
                f"Accept the return of {named(lines)} from order {order.ref} of {customer.name};"
                f" {refund} goes to {method.words} when the items arrive"
            ),
            target=target_of(customer),
            changes=(
                *(
                    Change(f"Item {line.number}", line.words, f"to be returned, {order.money(line.price_minor)}")
                    for line in lines
                ),
                Change("Status", order.status, OrderState.RETURN_REQUESTED),
                Change("Refund on arrival", "", f"{refund} to {method.words}"),
            ),
            versions=versions_of(order=order, methods=[method]),
            money=refund if refund.minor else None,
        ),
        result={
            "order_id": order.ref,
            "status": OrderState.RETURN_REQUESTED.value,
            "item_ids": items,
            "payment_method_id": method.ref,
            "refund_minor": refund.minor,
            "currency": order.currency,
        },
        order={
            "status": OrderState.RETURN_REQUESTED.value,
            "return_items": items,
            "return_payment_method_ref": method.ref,
        },
    )


def _require_refund_method(order: Order, method: Method) -> None:
    if order.kept.minor <= 0:
        raise conflict(f"Everything that was paid for order {order.ref} has been given back already.", "order_id")
    if not method.is_gift_card and order.kept_by_method().get(method.ref, 0) <= 0:
        raise conflict(
            f"Order {order.ref} was not paid with the {method.words};"
            " the refund goes to what paid for it or to a gift card.",
            "payment_method_id",
        )


def plan_exchange(snapshot: Snapshot, write: ExchangeItems) -> Plan:
    """Plan an exchange; a gift card must hold the difference now, although it is taken later."""
    customer = known_customer(snapshot)
    order = known_order(snapshot)
    method = own_method(customer, write.method_ref)
    require_state(order, OrderState.DELIVERED, "exchanged")
    swaps = swap_items(order, write.item_refs, write.new_item_refs, snapshot.variants)
    settle(method, Money(-swaps.difference.minor, order.currency))
    back = Money(-swaps.difference.minor, order.currency)
    items, new_items = sorted(write.item_refs), sorted(write.new_item_refs)
    return Plan(
        preview=Preview(
            effect=(
                f"Accept the exchange of {swapped(swaps)} from order {order.ref} of {customer.name};"
                f" when the items arrive, {settlement(swaps.difference, method)}"
            ),
            target=target_of(customer),
            changes=(
                *(swap.change(order) for swap in swaps.pairs),
                Change("Status", order.status, OrderState.EXCHANGE_REQUESTED),
                Change("Settlement on arrival", "", settlement(swaps.difference, method)),
            ),
            versions=versions_of(order=order, methods=[method], variants=snapshot.variants.values()),
            money=back if back.minor > 0 else None,
        ),
        result={
            "order_id": order.ref,
            "status": OrderState.EXCHANGE_REQUESTED.value,
            "item_ids": items,
            "new_item_ids": new_items,
            "payment_method_id": method.ref,
            "difference_minor": swaps.difference.minor,
            "currency": order.currency,
        },
        order={
            "status": OrderState.EXCHANGE_REQUESTED.value,
            "exchange_items": items,
            "exchange_new_items": new_items,
            "exchange_payment_method_ref": method.ref,
            "exchange_difference_minor": swaps.difference.minor,
        },
    )
