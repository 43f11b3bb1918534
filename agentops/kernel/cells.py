"""Cells of CSV files, which people open with spreadsheets. Pure."""

_CALCULATED = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A cell that begins so is a formula to a spreadsheet (OWASP, CSV injection)."""


def as_text(cell: str) -> str:
    """Return a cell that no spreadsheet calculates: one that looks like a formula gets an apostrophe before it."""
    return f"'{cell}" if cell.lstrip(" ").startswith(_CALCULATED) or cell.startswith(_CALCULATED) else cell
