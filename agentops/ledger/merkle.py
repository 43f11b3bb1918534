"""The Merkle tree over the log, and proofs of what is in it (pure).

The tree and its proofs are those of RFC 6962, section 2.1; verifying follows RFC 9162, sections 2.1.3.2 and 2.1.4.2.
Everything here works on leaf hashes of 32 bytes, which ``ledger.leaf`` makes. A proof is a list of 32-byte hashes.

Proofs are made from roots of perfect subtrees. ``get(level, index)`` returns the root over the 2^level leaves from
``index * 2^level`` on; level 0 is the leaf hashes themselves. It is asked only for subtrees that are full.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence

from agentops.kernel.errors import AgentOpsError

Get = Callable[[int, int], bytes]

NODE_PREFIX = b"\x01"
HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256().digest()
"""The root of the tree without leaves."""

MOST_LEAVES = 2**62
"""Sizes beyond this are refused, which bounds the length of proofs."""


class BadProof(AgentOpsError):
    """A proof that proves nothing: wrong hashes, a wrong length, or sizes and places that do not exist."""

    code = "BAD_PROOF"
    next_step = "Do not trust what was to be proved. Get the proof and the checkpoint again from another place."


def node(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 || left || right)."""
    return hashlib.sha256(NODE_PREFIX + left + right).digest()


def perfect_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over hashes of one level whose number is a power of two. Raises ValueError for other numbers."""
    if not hashes or len(hashes) & (len(hashes) - 1):
        raise ValueError(f"{len(hashes)} hashes make no perfect subtree")
    sha256, prefix = hashlib.sha256, NODE_PREFIX
    while len(hashes) > 1:
        pairs = iter(hashes)
        hashes = [sha256(prefix + left + right).digest() for left, right in zip(pairs, pairs, strict=True)]
    return hashes[0]


def root(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes: MTH of RFC 6962, section 2.1."""
    frontier = Frontier()
    frontier.extend(leaves)
    return frontier.root


class Frontier:
    """The roots of the perfect subtrees that a tree of some size consists of, the largest first: a compact range.

    It takes leaves in their order and knows the root at any moment, with at most 62 hashes kept.
    """

    def __init__(self, size: int = 0, nodes: Iterable[bytes] = ()) -> None:
        """Begin empty, or go on where another one was: with its ``size`` and ``nodes``. Raises BadProof."""
        self._nodes = list(nodes)
        self._size = size
        _require_size(size)
        if len(self._nodes) != size.bit_count():
            raise BadProof(f"a tree of {size} leaves has {size.bit_count()} perfect subtrees, not {len(self._nodes)}")
        _require_hashes(self._nodes)

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._size

    @property
    def nodes(self) -> tuple[bytes, ...]:
        """The roots of the perfect subtrees, the largest first."""
        return tuple(self._nodes)

    @property
    def root(self) -> bytes:
        """The root over all leaves so far."""
        return _joined(self._nodes)

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        size = self._size
        while size & 1:
            leaf = node(self._nodes.pop(), leaf)
            size >>= 1
        self._nodes.append(leaf)
        self._size += 1

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add leaf hashes."""
        for leaf in leaves:
            self.append(leaf)


def parts(size: int) -> list[tuple[int, int]]:
    """Return (level, index) of the perfect subtrees that a tree of ``size`` leaves consists of, the largest first."""
    return _range(0, size)


def root_of(size: int, get: Get) -> bytes:
    """Return the root of the tree of the first ``size`` leaves. Raises BadProof for a size that cannot be."""
    _require_size(size)
    return _joined([get(level, index) for level, index in parts(size)])


def inclusion_proof(index: int, size: int, get: Get) -> list[bytes]:
    """Return PATH(index, D[size]) of RFC 6962, section 2.1.1, from the leaf up.

    Raises BadProof unless ``0 <= index < size``.
    """
    _require_place(index, size)
    path: list[tuple[int, int]] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            path.append((middle, stop))
            stop = middle
        else:
            path.append((start, middle))
            start = middle
    return [_root_between(*sibling, get) for sibling in reversed(path)]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], tree_root: bytes) -> None:
    """Accept that ``leaf`` is the leaf hash at ``index`` of the tree of ``size`` leaves with ``tree_root``, or raise.

    The algorithm is that of RFC 9162, section 2.1.3.2. Raises BadProof.
    """
    _require_place(index, size)
    _require_hashes([leaf, tree_root, *proof])
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise BadProof("the inclusion proof is too long")
        if place & 1 or place == last:
            found = node(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node(found, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise BadProof("the inclusion proof is too short")
    if found != tree_root:
        raise BadProof(f"the inclusion proof for index {index} leads to another root")


def consistency_proof(old: int, new: int, get: Get) -> list[bytes]:
    """Return PROOF(old, D[new]) of RFC 6962, section 2.1.2. It is empty for ``old`` 0 and for equal sizes.

    Raises BadProof unless ``0 <= old <= new``.
    """
    _require_sizes(old, new)
    if old in (0, new):
        return []
    proof: list[tuple[int, int]] = []
    start, stop, known = 0, new, True
    while stop != old:
        middle = start + _split(stop - start)
        if old <= middle:
            proof.append((middle, stop))
            stop = middle
        else:
            proof.append((start, middle))
            start, known = middle, False
    if not known:
        proof.append((start, stop))
    return [_root_between(*part, get) for part in reversed(proof)]


def verify_consistency(old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> None:
    """Accept that the tree of ``new`` leaves begins with the tree of ``old`` leaves, or raise.

    The algorithm is that of RFC 9162, section 2.1.4.2. Raises BadProof.
    """
    _require_sizes(old, new)
    _require_hashes([old_root, new_root, *proof])
    if old == new and old_root != new_root:
        raise BadProof(f"two roots for one size of {old}: the log has forked")
    if old == 0 and old_root != EMPTY_ROOT:
        raise BadProof("the root of an empty tree is another one")
    if old in (0, new):
        if proof:
            raise BadProof("the consistency proof is too long")
        return
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    if not path:
        raise BadProof("the consistency proof is too short")
    _follow(path, old, new, old_root, new_root)


def _follow(path: list[bytes], old: int, new: int, old_root: bytes, new_root: bytes) -> None:
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    before = after = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise BadProof("the consistency proof is too long")
        if place & 1 or place == last:
            before, after = node(sibling, before), node(sibling, after)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            after = node(after, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise BadProof("the consistency proof is too short")
    if before != old_root or after != new_root:
        raise BadProof(f"the tree of {new} leaves does not begin with that of {old}")


def _split(count: int) -> int:
    """Return the largest power of two below ``count``, which is 2 or more."""
    return 1 << ((count - 1).bit_length() - 1)


def _range(start: int, stop: int) -> list[tuple[int, int]]:
    """Return the perfect subtrees that the leaves from ``start`` to ``stop`` consist of.

    ``start`` is a multiple of the largest of them, as it is for every node of a tree.
    """
    found = []
    while start < stop:
        level = (stop - start).bit_length() - 1
        found.append((level, start >> level))
        start += 1 << level
    return found


def _root_between(start: int, stop: int, get: Get) -> bytes:
    return _joined([get(level, index) for level, index in _range(start, stop)])


def _joined(nodes: Sequence[bytes]) -> bytes:
    """Return the root over perfect subtrees, the largest first."""
    if not nodes:
        return EMPTY_ROOT
    found = nodes[-1]
    for left in reversed(nodes[:-1]):
        found = node(left, found)
    return found


def _require_size(size: int) -> None:
    if not 0 <= size <= MOST_LEAVES:
        raise BadProof(f"a tree of {size} leaves cannot be")


def _require_sizes(old: int, new: int) -> None:
    _require_size(new)
    if not 0 <= old <= new:
        raise BadProof(f"a tree of {new} leaves does not begin with one of {old}")


def _require_place(index: int, size: int) -> None:
    _require_size(size)
    if not 0 <= index < size:
        raise BadProof(f"a tree of {size} leaves has no index {index}")


def _require_hashes(hashes: Iterable[bytes]) -> None:
    if any(len(value) != HASH_BYTES for value in hashes):
        raise BadProof(f"a hash that has not {HASH_BYTES} bytes")
