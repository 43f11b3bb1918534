"""Durations, sizes and sums in the words that screens use. Pure."""

_NARROW = "\u00a0"
"""A number and its unit stay on one line."""


def duration_words(seconds: float) -> str:
    """Elapsed time in at most two units: "0.4 s", "14 m 08 s", "2 h 14 m", "3 d 4 h".

    Negative values (clocks that disagree) count as zero.
    """
    seconds = max(seconds, 0.0)
    if seconds < 59.95:
        return f"{seconds:.1f}{_NARROW}s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}{_NARROW}d {hours}{_NARROW}h"
    if hours:
        return f"{hours}{_NARROW}h {minutes:02}{_NARROW}m"
    return f"{minutes}{_NARROW}m {rest:02}{_NARROW}s"


def time_left_words(seconds: float) -> str:
    """What remains until a deadline, rounded down so that nobody is promised more: "18 min", "3 h 28 m"."""
    minutes = int(max(seconds, 0.0)) // 60
    if minutes < 1:
        return "under a minute" if seconds > 0 else "time is up"
    if minutes < 60:
        return f"{minutes}{_NARROW}min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}{_NARROW}h {minutes:02}{_NARROW}m"
    days, hours = divmod(hours, 24)
    return f"{days}{_NARROW}d {hours}{_NARROW}h"


def bytes_words(count: int) -> str:
    """An exact size: "412 bytes", "84,210 bytes"."""
    return f"{count:,}{_NARROW}{'byte' if count == 1 else 'bytes'}"


def cost_words(micro_usd: int) -> str:
    """The price of model calls, from millionths of a US dollar: "$0.0135", "$12.40", "–" for nothing.

    Four decimals below ten cents, two above: a step costs fractions of a cent. What is too small for
    four decimals is shown as such, never as zero.
    """
    if micro_usd == 0:
        return "–"
    if micro_usd < 50:
        return "<\u2060$0.0001"
    if micro_usd < 100_000:
        return f"${micro_usd / 1_000_000:.4f}"
    return f"${micro_usd / 1_000_000:,.2f}"
