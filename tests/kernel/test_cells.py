"""Whatever stands in a cell, no spreadsheet calculates it."""

from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.cells import as_text


@given(st.text(max_size=20))
def test_no_cell_begins_a_formula(cell: str) -> None:
    shown = as_text(cell)
    assert shown in (cell, f"'{cell}")
    assert not shown.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
