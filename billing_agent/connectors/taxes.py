"""Tax of what is billed and in what is given back, in whole minor units. Pure."""

BASIS_POINTS = 10_000


def half_even(numerator: int, denominator: int) -> int:
    """Return the quotient as the nearest whole number, of two that are as near the even one.

    ``denominator`` is positive; ``numerator`` may be negative.
    """
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))


def line_tax(amount_minor: int, rate_bp: int) -> int:
    """Return the tax that is added to a line of ``amount_minor``, negative for a line that gives back."""
    return half_even(amount_minor * rate_bp, BASIS_POINTS)


def refund_tax(amount_minor: int, *, refunded_minor: int, tax_minor: int, total_minor: int) -> int:
    """Return the tax in a refund of ``amount_minor`` when ``refunded_minor`` went back before.

    ``tax_minor`` and ``total_minor`` are those of the invoice. The tax of all refunds is rounded, and what the earlier
    ones gave back is taken off, so that the parts of a refund come to the tax of the whole.
    """
    if total_minor <= 0:
        return 0
    after = half_even(tax_minor * (refunded_minor + amount_minor), total_minor)
    return after - half_even(tax_minor * refunded_minor, total_minor)
