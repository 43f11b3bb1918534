"""The tree: the test vectors of Certificate Transparency, and an implementation by others beside ours."""

import hashlib
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proofbundle import merkle as other

from agentops.ledger.merkle import (
    EMPTY_ROOT,
    BadProof,
    Frontier,
    consistency_proof,
    inclusion_proof,
    node,
    parts,
    perfect_root,
    root,
    root_of,
    verify_consistency,
    verify_inclusion,
)

MOST = 300
VECTORS = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSION = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}


def leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


KNOWN = [leaf(data) for data in VECTORS]
DATA = [str(n).encode() for n in range(MOST)]
LEAVES = [leaf(data) for data in DATA]


def known(level: int, index: int) -> bytes:
    return perfect_root(KNOWN[index << level : (index + 1) << level])


@cache
def get(level: int, index: int) -> bytes:
    """A subtree that is not full has no root here: ``perfect_root`` refuses it."""
    return perfect_root(LEAVES[index << level : (index + 1) << level])


@cache
def root_at(size: int) -> bytes:
    return root(LEAVES[:size])


@st.composite
def places(draw: st.DrawFn) -> tuple[int, int]:
    size = draw(st.integers(1, MOST))
    return draw(st.integers(0, size - 1)), size


@st.composite
def growths(draw: st.DrawFn) -> tuple[int, int]:
    new = draw(st.integers(1, MOST))
    return draw(st.integers(1, new)), new


def test_roots_are_those_of_certificate_transparency() -> None:
    assert [root(KNOWN[:size]).hex() for size in range(9)] == ROOTS
    assert [root_of(size, known).hex() for size in range(9)] == ROOTS


@pytest.mark.parametrize(("place", "proof"), INCLUSION.items())
def test_inclusion_proofs_are_those_of_certificate_transparency(place: tuple[int, int], proof: list[str]) -> None:
    index, size = place
    made = inclusion_proof(index, size, known)
    assert [value.hex() for value in made] == proof
    verify_inclusion(KNOWN[index], index, size, made, bytes.fromhex(ROOTS[size]))


@pytest.mark.parametrize(("sizes", "proof"), CONSISTENCY.items())
def test_consistency_proofs_are_those_of_certificate_transparency(sizes: tuple[int, int], proof: list[str]) -> None:
    old, new = sizes
    made = consistency_proof(old, new, known)
    assert [value.hex() for value in made] == proof
    verify_consistency(old, new, made, bytes.fromhex(ROOTS[old]), bytes.fromhex(ROOTS[new]))


def test_roots_of_all_sizes_are_those_of_the_other_implementation() -> None:
    frontier = Frontier()
    for size in range(MOST + 1):
        expected = other.merkle_tree_hash(DATA[:size])
        assert (frontier.size, frontier.root, root_at(size), root_of(size, get)) == (size, *[expected] * 3)
        if size < MOST:
            frontier.append(LEAVES[size])


@settings(max_examples=300)
@given(places())
def test_inclusion_proofs_are_those_of_the_other_implementation(place: tuple[int, int]) -> None:
    index, size = place
    made = inclusion_proof(index, size, get)
    assert made == other.inclusion_proof(DATA[:size], index)
    assert other.verify_inclusion(DATA[index], index, size, made, root_at(size))


@settings(max_examples=300)
@given(growths())
def test_consistency_proofs_are_those_of_the_other_implementation(sizes: tuple[int, int]) -> None:
    old, new = sizes
    made = consistency_proof(old, new, get)
    assert made == other.consistency_proof(DATA[:new], old)
    assert other.verify_consistency(old, new, made, root_at(old), root_at(new))


def test_every_proof_up_to_seventy_leaves_verifies() -> None:
    for size in range(71):
        for index in range(size):
            verify_inclusion(LEAVES[index], index, size, inclusion_proof(index, size, get), root_at(size))
        for old in range(size + 1):
            verify_consistency(old, size, consistency_proof(old, size, get), root_at(old), root_at(size))


@settings(max_examples=300)
@given(places(), st.data())
def test_inclusion_proof_of_something_else_is_refused(place: tuple[int, int], data: st.DataObject) -> None:
    index, size = place
    proof = inclusion_proof(index, size, get)
    claimed = _spoilt(proof, data)
    if claimed == proof:
        at = data.draw(st.integers(0, size - 1).filter(lambda other_index: other_index != index)) if size > 1 else None
        if at is None:
            return
        with pytest.raises(BadProof):
            verify_inclusion(LEAVES[index], at, size, proof, root_at(size))
        return
    with pytest.raises(BadProof):
        verify_inclusion(LEAVES[index], index, size, claimed, root_at(size))


@settings(max_examples=300)
@given(growths(), st.data())
def test_consistency_proof_of_something_else_is_refused(sizes: tuple[int, int], data: st.DataObject) -> None:
    old, new = sizes
    proof = consistency_proof(old, new, get)
    claimed = _spoilt(proof, data)
    old_root, new_root = root_at(old), root_at(new)
    if claimed == proof:
        old_root = leaf(old_root)
    with pytest.raises(BadProof):
        verify_consistency(old, new, claimed, old_root, new_root)


def _spoilt(proof: list[bytes], data: st.DataObject) -> list[bytes]:
    """Return the proof with one hash changed, left out or too much; sometimes as it was."""
    ways = ["as it was", "longer"] + (["changed", "shorter", "short hash"] if proof else [])
    way = data.draw(st.sampled_from(ways))
    at = data.draw(st.integers(0, len(proof) - 1)) if proof else 0
    if way == "longer":
        return [*proof[:at], bytes(32), *proof[at:]]
    if way == "changed":
        return [*proof[:at], leaf(proof[at]), *proof[at + 1 :]]
    if way == "shorter":
        return [*proof[:at], *proof[at + 1 :]]
    if way == "short hash":
        return [*proof[:at], proof[at][:31], *proof[at + 1 :]]
    return proof


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0), (0, 2**62 + 1)])
def test_place_that_cannot_be_has_no_proof(index: int, size: int) -> None:
    with pytest.raises(BadProof):
        inclusion_proof(index, size, get)
    with pytest.raises(BadProof):
        verify_inclusion(LEAVES[0], index, size, [], root_at(1))


@pytest.mark.parametrize(("old", "new"), [(-1, 3), (4, 3), (1, 2**62 + 1)])
def test_sizes_that_cannot_be_have_no_proof(old: int, new: int) -> None:
    with pytest.raises(BadProof):
        consistency_proof(old, new, get)
    with pytest.raises(BadProof):
        verify_consistency(old, new, [], root_at(1), root_at(3))


def test_two_roots_for_one_size_are_a_fork() -> None:
    with pytest.raises(BadProof, match="forked"):
        verify_consistency(3, 3, [], root_at(3), root_at(4))


def test_empty_tree_begins_every_other_one() -> None:
    verify_consistency(0, 5, [], EMPTY_ROOT, root_at(5))
    with pytest.raises(BadProof):
        verify_consistency(0, 5, [root_at(1)], EMPTY_ROOT, root_at(5))
    with pytest.raises(BadProof):
        verify_consistency(0, 5, [], root_at(1), root_at(5))


def test_frontier_goes_on_from_what_another_one_kept() -> None:
    first = Frontier()
    first.extend(LEAVES[:123])
    assert first.nodes == tuple(get(level, index) for level, index in parts(123))
    second = Frontier(first.size, first.nodes)
    second.extend(LEAVES[123:])
    assert (second.size, second.root) == (MOST, root_at(MOST))
    with pytest.raises(BadProof):
        Frontier(123, first.nodes[1:])
    with pytest.raises(BadProof):
        Frontier(1, [bytes(31)])


def test_subtree_that_is_not_perfect_has_no_root() -> None:
    assert perfect_root(LEAVES[:2]) == node(*LEAVES[:2])
    for count in (0, 3, 6):
        with pytest.raises(ValueError, match="no perfect subtree"):
            perfect_root(LEAVES[:count])
