"""Sealing payloads and wrapping keys: what opens, and that nothing else does."""

import base64
import hashlib
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from agentops.ledger.bodies import size_of
from agentops.ledger.sealing import (
    OVERHEAD,
    BadMasterKey,
    BadSeal,
    DataKey,
    KeyName,
    commitment,
    is_sealed,
    key_id_of,
    master_keys,
    seal,
    unseal,
    unwrap,
    wrap,
)

SECRET = bytes(range(32))
KEY = DataKey(UUID(int=1), AESGCM(SECRET))
STREAM = UUID(int=9)
SALT, NONCE = b"s" * 32, b"n" * 12
NAME = KeyName(UUID(int=1), UUID(int=2), "customer:C-1", "session", "2026Q4")
ONE, TWO = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))


def sealed(inner: bytes = b"{}", position: int = 3) -> bytes:
    return seal(KEY, STREAM, position, inner, salt=SALT, nonce=NONCE)


def test_layout_is_the_documented_one() -> None:
    raw = sealed(b'{"a":1}')
    assert (raw[0], raw[1:17], raw[17:29]) == (2, KEY.id.bytes, NONCE)
    place = b"agentops payload\x00" + STREAM.bytes + (3).to_bytes(8, "big")
    assert AESGCM(SECRET).decrypt(NONCE, raw[29:], place) == SALT + b'{"a":1}'
    assert len(raw) == len(b'{"a":1}') + OVERHEAD
    assert (is_sealed(raw), key_id_of(raw), size_of(raw)) == (True, KEY.id, 7)
    assert b'{"a"' not in raw


@given(st.binary(max_size=2_000), st.integers(0, 2**31 - 1))
def test_what_was_sealed_opens_at_its_place(inner: bytes, position: int) -> None:
    assert unseal(KEY, STREAM, position, memoryview(sealed(inner, position))) == (SALT, inner)


@given(st.integers(0, 8 * len(sealed()) - 1))
def test_no_bit_can_be_changed(bit: int) -> None:
    raw = bytearray(sealed())
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadSeal):
        unseal(KEY, STREAM, 3, bytes(raw))


@pytest.mark.parametrize("raw", [b"", b"\x02", sealed()[:40], sealed()[:-1], sealed() + b"x", b"{}"])
def test_what_is_cut_or_longer_does_not_open(raw: bytes) -> None:
    with pytest.raises(BadSeal):
        unseal(KEY, STREAM, 3, raw)


def test_a_body_opens_nowhere_else_and_with_no_other_key() -> None:
    for key, stream, position in (
        (KEY, UUID(int=8), 3),
        (KEY, STREAM, 4),
        (DataKey(KEY.id, AESGCM(b"x" * 32)), STREAM, 3),
        (DataKey(UUID(int=5), AESGCM(SECRET)), STREAM, 3),
    ):
        with pytest.raises(BadSeal):
            unseal(key, stream, position, sealed())


def test_commitment_is_salted_and_a_plain_body_has_its_digest() -> None:
    assert commitment(b"", b"{}") == hashlib.sha256(b"{}").digest()
    assert commitment(SALT, b"{}") == hashlib.sha256(SALT + b"{}").digest()


@pytest.mark.parametrize("field", ["id", "tenant_id", "subject", "retention", "period"])
def test_a_wrapped_key_opens_under_its_own_name_only(field: str) -> None:
    master = master_keys(ONE)[0]
    wrapped = wrap(master, NAME, SECRET, nonce=NONCE)
    assert SECRET not in wrapped
    assert unwrap(master, NAME, memoryview(wrapped)) == SECRET
    other: Any = UUID(int=7) if field.endswith("id") else "other"
    with pytest.raises(BadSeal):
        unwrap(master, replace(NAME, **{field: other}), wrapped)
    with pytest.raises(BadSeal):
        unwrap(master_keys(TWO)[0], NAME, wrapped)
    with pytest.raises(BadSeal):
        unwrap(master, NAME, wrapped[:7])


def test_parts_of_a_name_cannot_be_shifted_into_each_other() -> None:
    assert replace(NAME, subject="a", retention="bc").bound != replace(NAME, subject="ab", retention="c").bound


def test_the_first_of_several_master_keys_wraps() -> None:
    one, two = master_keys(f"# old one below\n{TWO}\n\n {ONE} \n")
    assert (one.id, two.id) == (master_keys(TWO)[0].id, master_keys(ONE)[0].id)
    assert [key.id for key in master_keys(f"{ONE},{TWO}")] == [two.id, one.id]
    urlsafe = base64.urlsafe_b64encode(b"\xfb\xff" * 16).decode()
    assert master_keys(urlsafe)[0].id == master_keys(base64.b64encode(b"\xfb\xff" * 16).decode())[0].id
    assert master_keys("") == []


@pytest.mark.parametrize("text", ["nonsense!", base64.b64encode(b"short").decode(), f"{ONE}\n{ONE}", "é" * 44])
def test_what_is_no_master_key_is_refused_without_being_told(text: str) -> None:
    with pytest.raises(BadMasterKey) as caught:
        master_keys(text)
    assert text not in caught.value.in_full
