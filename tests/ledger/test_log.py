"""Reads of the log: heads of any size, proofs, and what is said about hashes that are not there."""

import hashlib
from typing import Any

import pytest
from django.db import connection, transaction

from agentops.kernel.ids import new_id
from agentops.ledger.chain import GENESIS, links
from agentops.ledger.copying import copied_entries, copied_subtrees
from agentops.ledger.log import (
    LogIncomplete,
    TreeHead,
    chain_at,
    consistency,
    inclusion,
    index_of,
    leaf_hashes,
    log_size,
    subtree_roots,
    tree_head,
)
from agentops.ledger.merkle import EMPTY_ROOT, BadProof, root, verify_consistency, verify_inclusion
from tests.factories.ledger_log import committed_events, sequence_until, write_events

SIZE = 700
EDGES = (0, 1, 2, 127, 128, 255, 256, 257, 511, 512, 513, 699)


@pytest.fixture
def leaves(transactional_db: None) -> list[bytes]:
    """A log of SIZE entries; its leaf hashes."""
    for number in range(7):
        write_events(f"agent:{number}", 100)
    sequence_until(SIZE)
    return [leaf for _, _, leaf in committed_events()]


@pytest.mark.django_db
def test_log_without_entries_has_the_empty_tree() -> None:
    assert tree_head() == TreeHead(0, EMPTY_ROOT, GENESIS)
    assert (log_size(), leaf_hashes(0, 0), consistency(0, 0)) == (0, [], [])
    assert index_of(new_id(), 0) is None


def test_heads_of_all_times_are_those_of_the_leaves(leaves: list[bytes]) -> None:
    chain = links(GENESIS, leaves)
    assert tree_head() == TreeHead(SIZE, root(leaves), chain[-1])
    assert leaf_hashes(250, 260) == leaves[250:260]
    assert subtree_roots(1, 0, 2) == [root(leaves[:256]), root(leaves[256:512])]
    for size in EDGES[1:]:
        assert tree_head(size) == TreeHead(size, root(leaves[:size]), chain[size - 1])


def test_proofs_from_the_tables_verify(leaves: list[bytes]) -> None:
    for size in EDGES[1:]:
        for index in {0, size // 2, size - 1}:
            verify_inclusion(leaves[index], index, size, inclusion(index, size), root(leaves[:size]))
        for old in EDGES:
            if old <= size:
                verify_consistency(old, size, consistency(old, size), root(leaves[:old]), root(leaves[:size]))
    with pytest.raises(BadProof):
        inclusion(5, 5)
    with pytest.raises(BadProof):
        consistency(6, 5)


def test_hash_that_the_log_does_not_have_is_not_made_up(leaves: list[bytes]) -> None:
    for ask in (
        lambda: tree_head(SIZE + 1),
        lambda: chain_at(SIZE + 1),
        lambda: leaf_hashes(SIZE - 1, SIZE + 1),
        lambda: leaf_hashes(-1, 1),
        lambda: subtree_roots(1, 0, 3),
        lambda: inclusion(0, SIZE + 1),
        lambda: consistency(1, SIZE + 1),
    ):
        with pytest.raises(LogIncomplete):
            ask()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM ledger_entry WHERE index = 600")
    with pytest.raises(LogIncomplete, match="of the leaf hashes from 512 to 700 the log has 187"):
        tree_head()


def test_proof_takes_few_queries(leaves: list[bytes], django_assert_max_num_queries: Any) -> None:
    """Of each level of tiles, those of the place, of its neighbour and of the right edge."""
    with django_assert_max_num_queries(5):
        inclusion(300, SIZE)


_MANY = """
INSERT INTO ledger_event (stream, position, at, tenant_id, type, actor, refs, facts, leaf_hash)
SELECT %s, n, now(), %s, 'test.written', 'test', '{}', '{}', sha256(n::text::bytea) FROM generate_series(0, %s) n"""


@pytest.mark.django_db(transaction=True)
def test_second_level_of_tiles_is_used() -> None:
    size = 65_536 + 300
    with connection.cursor() as cursor:
        cursor.execute(_MANY, [new_id(), new_id(), size - 1])
    sequence_until(size)
    leaves = [hashlib.sha256(str(n).encode()).digest() for n in range(size)]
    assert subtree_roots(2, 0, 1) == [root(leaves[:65_536])]
    head = tree_head()
    assert (head.size, head.root) == (size, root(leaves))
    for index in (0, 300, 65_535, 65_536, size - 1):
        verify_inclusion(leaves[index], index, size, inclusion(index, size), head.root)
    for old in (1, 255, 65_535, 65_536, 65_537):
        verify_consistency(old, size, consistency(old, size), root(leaves[:old]), head.root)


def test_rows_are_copied_in_the_format_of_postgresql(transactional_db: None) -> None:
    """As the server itself writes them."""
    stream, leaf, chain, found = new_id(), bytes(range(32)), bytes(range(1, 33)), bytes(range(2, 34))
    entries = copied_entries(2**40, [(stream.bytes, 2**30, leaf)], [chain])
    subtrees = copied_subtrees([(7, 2**50, found)])
    with transaction.atomic(), connection.cursor() as cursor:
        for table, rows in (("ledger_entry", entries), ("ledger_subtree", subtrees)):
            with cursor.copy(f"COPY {table} FROM STDIN BINARY") as copy:
                copy.write(rows)
            with cursor.copy(f"COPY {table} TO STDOUT BINARY") as copy:
                assert b"".join(map(bytes, copy)) == rows
        transaction.set_rollback(True)
