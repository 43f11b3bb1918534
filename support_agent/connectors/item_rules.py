"""Which items of an order a call names, and what replacing them costs. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agentops.kernel.money import Money
from agentops.registry.tool import Change
from support_agent.connectors.plan import conflict, invalid
from support_agent.connectors.records import Line, Order, Variant


@dataclass(frozen=True)
class Swap:
    """One item in the place of another, on the same line."""

    before: Line
    after: Line

    def change(self, order: Order) -> Change:
        """Return the swap as a line of a before/after table."""
        sides = [f"{line.words}, {order.money(line.price_minor)}" for line in (self.before, self.after)]
        return Change(f"Item {self.before.number}", *sides)


@dataclass(frozen=True)
class Swaps:
    """All swaps of a call in order, the lines as they then stand, and what the customer owes for it."""

    pairs: tuple[Swap, ...]
    lines: tuple[Line, ...]
    difference: Money


def chosen_lines(order: Order, item_refs: Sequence[str]) -> list[Line]:
    """Return the lines that ``item_refs`` name; an item named twice is two lines.

    Raises ToolFailure VALIDATION when the order does not hold an item that often.
    """
    held = Counter(line.variant_ref for line in order.lines)
    for ref, times in Counter(item_refs).items():
        if not held[ref]:
            raise invalid(f"Order {order.ref} holds no item {ref}.", "item_ids")
        if times > held[ref]:
            raise invalid(f"Order {order.ref} holds item {ref} {held[ref]} times, not {times} times.", "item_ids")
    wanted = Counter(item_refs)
    chosen = []
    for line in order.lines:
        if wanted[line.variant_ref]:
            wanted[line.variant_ref] -= 1
            chosen.append(line)
    return chosen


def swap_items(
    order: Order, item_refs: Sequence[str], new_refs: Sequence[str], variants: Mapping[str, Variant]
) -> Swaps:
    """Replace ``item_refs`` pairwise by ``new_refs``, each on the first line that holds the old item then.

    Raises ToolFailure when the lists differ in length, an item is not in the order, or a new item is
    of another product, of another currency or out of stock.
    """
    if len(item_refs) != len(new_refs):
        raise invalid("Give exactly one new item for each item.", "new_item_ids")
    chosen_lines(order, item_refs)
    lines = list(order.lines)
    pairs = []
    for old, new in zip(item_refs, new_refs, strict=True):
        index = next(place for place, line in enumerate(lines) if line.variant_ref == old)
        swap = Swap(lines[index], _replaced(order, lines[index], new, variants.get(new)))
        lines[index] = swap.after
        pairs.append(swap)
    difference = sum(line.price_minor for line in lines) - sum(line.price_minor for line in order.lines)
    return Swaps(tuple(pairs), tuple(lines), order.money(difference))


def _replaced(order: Order, line: Line, ref: str, variant: Variant | None) -> Line:
    if variant is None or variant.product_ref != line.product_ref:
        raise invalid(
            f"Item {ref} is not a {line.name}; an item can only become another of its product.", "new_item_ids"
        )
    if variant.price.currency != order.currency:
        raise conflict(f"Item {ref} is priced in {variant.price.currency}, not {order.currency}.", "new_item_ids")
    if not variant.available:
        raise conflict(f"Item {ref}, {variant.words}, is out of stock.", "new_item_ids")
    return replace(line, variant_ref=ref, price_minor=variant.price.minor, options=variant.options)


def named(lines: Sequence[Line]) -> str:
    """Return the items for a sentence: by name when they are few, by number when they are many."""
    if len(lines) > 3:
        return f"{len(lines)} items"
    return " and ".join(line.words for line in lines)


def swapped(swaps: Swaps) -> str:
    """Return the swaps for a sentence."""
    if len(swaps.pairs) > 2:
        return f"{len(swaps.pairs)} items"
    return " and ".join(f"{swap.before.words} for {swap.after.words}" for swap in swaps.pairs)
