"""Names that people can say."""

import re

from agentops.kernel.ids import new_id, short_ref


def test_a_short_name_is_said_in_letters_and_stays_that_of_its_id() -> None:
    key = new_id()
    assert short_ref("INC", key) == short_ref("INC", key)
    names = {short_ref("INC") for _ in range(2_000)}
    assert len(names) == 2_000
    assert all(re.fullmatch(r"INC-[A-HJ-NP-R]{10}", name) for name in names)
