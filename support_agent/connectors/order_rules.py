"""Changes of a pending order, and of the customer's own address. Pure."""

from dataclasses import asdict

from agentops.kernel.money import Money
from agentops.registry.tool import Change, Preview
from support_agent.connectors.item_rules import Swaps, swap_items, swapped
from support_agent.connectors.plan import (
    Plan,
    Snapshot,
    conflict,
    invalid,
    known_customer,
    known_order,
    own_method,
    require_state,
    settle,
    target_of,
    versions_of,
)
from support_agent.connectors.port import (
    CancelOrder,
    ChangeCustomerAddress,
    ChangeItems,
    ChangeOrderAddress,
    ChangePayment,
)
from support_agent.connectors.records import (
    PAYMENT,
    REFUND,
    Address,
    Entry,
    Line,
    Method,
    Order,
    OrderState,
)

CANCEL_REASONS = ("no longer needed", "ordered by mistake")


def plan_cancel(snapshot: Snapshot, write: CancelOrder) -> Plan:
    """Plan the cancellation of a pending order; what is left of each payment goes back to its method."""
    customer = known_customer(snapshot)
    order = known_order(snapshot)
    if write.reason not in CANCEL_REASONS:
        raise invalid(f"The reason is one of: {', '.join(CANCEL_REASONS)}.", "reason")
    require_state(order, OrderState.PENDING, "cancelled")
    refunds = _refunds_of(order)
    methods = [own_method(customer, entry.method_ref) for entry in refunds]
    balances: dict[str, int] = {}
    changes = [Change("Status", order.status, OrderState.CANCELLED)]
    for entry, method in zip(refunds, methods, strict=True):
        moved, shown = settle(method, order.money(entry.amount_minor))
        balances |= moved
        changes += [Change(f"Refund to {method.words}", "", str(order.money(entry.amount_minor))), *shown]
    total = order.money(sum(entry.amount_minor for entry in refunds))
    to = " and ".join(
        f"{order.money(entry.amount_minor)} to {method.words}" for entry, method in zip(refunds, methods, strict=True)
    )
    return Plan(
        preview=Preview(
            effect=f"Cancel order {order.ref} of {customer.name} and refund {to or 'nothing'}",
            target=target_of(customer),
            changes=(*changes, Change("Reason", "", write.reason)),
            versions=versions_of(order=order, methods=methods),
            money=total if total.minor else None,
        ),
        result={
            "order_id": order.ref,
            "status": OrderState.CANCELLED.value,
            "currency": order.currency,
            "refunds": [{"payment_method_id": e.method_ref, "amount_minor": e.amount_minor} for e in refunds],
        },
        order={"status": OrderState.CANCELLED.value, "cancel_reason": write.reason},
        entries=refunds,
        balances=balances,
    )


def _refunds_of(order: Order) -> tuple[Entry, ...]:
    left = order.kept.minor
    refunds = []
    for method_ref, kept in order.kept_by_method().items():
        amount = min(kept, left)
        if amount > 0:
            refunds.append(Entry(REFUND, amount, method_ref))
            left -= amount
    return tuple(refunds)


def plan_change_items(snapshot: Snapshot, write: ChangeItems) -> Plan:
    """Plan other items for a pending order, once; the price difference is settled at once."""
    customer = known_customer(snapshot)
    order = known_order(snapshot)
    method = own_method(customer, write.method_ref)
    require_state(order, OrderState.PENDING, "given other items")
    swaps = swap_items(order, write.item_refs, write.new_item_refs, snapshot.variants)
    if -swaps.difference.minor > order.kept.minor:
        raise conflict(
            f"The new items cost {Money(-swaps.difference.minor, order.currency)} less, but only {order.kept} can still"
            f" be refunded on order {order.ref}.",
            "new_item_ids",
        )
    balances, shown = settle(method, Money(-swaps.difference.minor, order.currency))
    kind = PAYMENT if swaps.difference.minor > 0 else REFUND
    return Plan(
        preview=Preview(
            effect=(
                f"Change order {order.ref} of {customer.name}: {swapped(swaps)}; {settlement(swaps.difference, method)}"
            ),
            target=target_of(customer),
            changes=(
                *(swap.change(order) for swap in swaps.pairs),
                _total_change(order, swaps),
                Change("Status", order.status, OrderState.ITEM_MODIFIED),
                *shown,
            ),
            versions=versions_of(order=order, methods=[method], variants=snapshot.variants.values()),
            money=Money(-swaps.difference.minor, order.currency) if swaps.difference.minor < 0 else None,
        ),
        result={
            "order_id": order.ref,
            "status": OrderState.ITEM_MODIFIED.value,
            "payment_method_id": method.ref,
            "difference_minor": swaps.difference.minor,
            "currency": order.currency,
        },
        order={"status": OrderState.ITEM_MODIFIED.value},
        lines=tuple(new for old, new in zip(order.lines, swaps.lines, strict=True) if new != old),
        entries=(Entry(kind, abs(swaps.difference.minor), method.ref),),
        balances=balances,
    )


def settlement(difference: Money, method: Method) -> str:
    """Return who pays whom, for the end of a sentence; positive is what the customer still pays."""
    if difference.minor > 0:
        return f"take {difference} from {method.words}"
    if difference.minor < 0:
        return f"refund {Money(-difference.minor, difference.currency)} to {method.words}"
    return "the price stays the same"


def _total_change(order: Order, swaps: Swaps) -> Change:
    return Change("Price of all items", str(order.money(_total(order.lines))), str(order.money(_total(swaps.lines))))


def _total(lines: tuple[Line, ...]) -> int:
    return sum(line.price_minor for line in lines)


def plan_change_payment(snapshot: Snapshot, write: ChangePayment) -> Plan:
    """Plan another single method for a pending order: pay the whole with it, give the first one back."""
    customer = known_customer(snapshot)
    order = known_order(snapshot)
    method = own_method(customer, write.method_ref)
    require_state(order, OrderState.PENDING, "paid another way")
    if len(order.entries) != 1 or order.entries[0].kind != PAYMENT:
        raise conflict(f"Order {order.ref} was not paid in one payment, so it cannot be paid another way.", "order_id")
    paid = order.entries[0]
    if paid.method_ref == method.ref:
        raise conflict(f"Order {order.ref} is already paid with the {method.words}.", "payment_method_id")
    former = own_method(customer, paid.method_ref)
    amount = order.money(paid.amount_minor)
    taken, taken_shown = settle(method, Money(-amount.minor, amount.currency))
    given, given_shown = settle(former, amount)
    return Plan(
        preview=Preview(
            effect=(
                f"Pay order {order.ref} of {customer.name} with {method.words} instead of {former.words}:"
                f" take {amount} and refund {amount}"
            ),
            target=target_of(customer),
            changes=(Change("Paid with", former.words, method.words), *taken_shown, *given_shown),
            versions=versions_of(order=order, methods=[method, former]),
        ),
        result={
            "order_id": order.ref,
            "payment_method_id": method.ref,
            "amount_minor": amount.minor,
            "currency": amount.currency,
        },
        entries=(Entry(PAYMENT, amount.minor, method.ref), Entry(REFUND, amount.minor, former.ref)),
        balances=taken | given,
    )


def plan_change_order_address(snapshot: Snapshot, write: ChangeOrderAddress) -> Plan:
    """Plan another delivery address for a pending order."""
    customer = known_customer(snapshot)
    order = known_order(snapshot)
    require_state(order, OrderState.PENDING, "sent elsewhere")
    return Plan(
        preview=Preview(
            effect=f"Send order {order.ref} of {customer.name} to {write.address}",
            target=target_of(customer),
            changes=(_address_change("Delivery address", order.address, write.address),),
            versions=versions_of(order=order),
        ),
        result={
            "order_id": order.ref,
            "address": asdict(write.address),
            "former_address": asdict(order.address),
        },
        order=asdict(write.address),
    )


def plan_change_customer_address(snapshot: Snapshot, write: ChangeCustomerAddress) -> Plan:
    """Plan another default address for the customer; orders keep theirs."""
    customer = known_customer(snapshot)
    return Plan(
        preview=Preview(
            effect=f"Change the default address of {customer.name} to {write.address}",
            target=target_of(customer),
            changes=(_address_change("Default address", customer.address, write.address),),
            versions=versions_of(customer=customer),
        ),
        result={
            "customer_id": customer.ref,
            "address": asdict(write.address),
            "former_address": asdict(customer.address),
        },
        customer=asdict(write.address),
    )


def _address_change(label: str, before: Address, after: Address) -> Change:
    return Change(label, str(before), str(after))
