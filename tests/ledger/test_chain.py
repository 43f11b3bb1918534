"""The chain: its rule, written out once more."""

import hashlib

from agentops.ledger.chain import GENESIS, link, links


def test_links_follow_the_rule() -> None:
    leaves = [hashlib.sha256(str(n).encode()).digest() for n in range(3)]
    first = hashlib.sha256(bytes((2,)) + bytes(32) + leaves[0]).digest()
    second = hashlib.sha256(bytes((2,)) + first + leaves[1]).digest()
    third = hashlib.sha256(bytes((2,)) + second + leaves[2]).digest()
    assert links(GENESIS, leaves) == [first, second, third]
    assert links(first, leaves[1:]) == [second, third]
    assert (link(GENESIS, leaves[0]), links(GENESIS, [])) == (first, [])
