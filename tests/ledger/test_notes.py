"""Signed notes: known vectors, several keys, and whatever a stranger sends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.ledger.notes import (
    COSIGNATURE,
    MOST_BYTES,
    BadNote,
    ForgedNote,
    Note,
    PublicKey,
    Signature,
    SigningKey,
    cosigned_at,
    parse_note,
    sign_note,
    verify_note,
)

# The example in the documentation of golang.org/x/mod/sumdb/note.
VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
LINE = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"

LOG = SigningKey("log.example", bytes(range(32)))
NEXT = SigningKey("log.example", bytes(range(1, 33)))
WITNESS = SigningKey("witness.example", bytes(32), COSIGNATURE)
NOTE = sign_note("first\n\nsecond — line\n", [LOG, NEXT])


def test_known_note_is_verified_and_made() -> None:
    note = parse_note(f"{TEXT}\n{LINE}".encode())
    assert verify_note(note, [PublicKey.from_vkey(VKEY)]) == (PublicKey.from_vkey(VKEY),)
    assert sign_note(TEXT, [SigningKey.from_skey(SKEY)]).encoded() == f"{TEXT}\n{LINE}".encode()


def test_keys_are_written_as_they_are_read() -> None:
    assert PublicKey.from_vkey(VKEY).vkey() == VKEY
    assert SigningKey.from_skey(f"{SKEY}\n").skey() == SKEY
    assert SigningKey.from_skey(SKEY).public.vkey() == VKEY
    assert SigningKey.from_skey(WITNESS.skey()) == WITNESS
    assert PublicKey.from_vkey(WITNESS.public.vkey()).kind == COSIGNATURE


def test_private_key_shows_nowhere() -> None:
    assert repr(SigningKey.from_skey(SKEY)) == "SigningKey(name='PeterNeumann', kind=1)"
    with pytest.raises(BadNote) as caught:
        SigningKey.from_skey(SKEY.replace("c74f", "c74e"))
    assert SKEY[-20:] not in caught.value.in_full


def test_several_signatures_and_unknown_ones() -> None:
    note = parse_note(NOTE.with_signatures([WITNESS.sign(NOTE.text, unix_time=1_700_000_000)]).encoded())
    everyone = [LOG.public, NEXT.public, WITNESS.public]
    assert verify_note(note, everyone) == tuple(everyone)
    assert verify_note(note, [NEXT.public]) == (NEXT.public,)
    assert cosigned_at(note.signatures[2]) == 1_700_000_000
    with pytest.raises(ForgedNote):
        verify_note(note, [PublicKey.from_vkey(VKEY)])


def test_cosignature_covers_its_time() -> None:
    made = WITNESS.sign(NOTE.text, unix_time=1_700_000_000)
    later = Signature(made.name, made.key_id, (1_700_000_001).to_bytes(8, "big") + made.blob[8:])
    with pytest.raises(ForgedNote):
        verify_note(Note(NOTE.text, (later,)), [WITNESS.public])


def test_one_false_signature_by_a_known_key_spoils_the_note() -> None:
    false = Signature(NEXT.name, NEXT.public.key_id, bytes(64))
    with pytest.raises(ForgedNote):
        verify_note(NOTE.with_signatures([false]), [LOG.public, NEXT.public])
    assert verify_note(NOTE.with_signatures([false]), [LOG.public]) == (LOG.public,)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\n\n",
        b"text\n",
        b"text\n\n",
        b"text\n\n\n",
        b"text\xff\n\n" + LINE.encode(),
        b"te\x00xt\n\n" + LINE.encode(),
        b"te\rxt\n\n" + LINE.encode(),
        b"text\n\n" + LINE.encode()[:-1],
        b"text\n\n" + LINE.encode() + b"more\n",
        b"text\n\n" + LINE.encode().replace(b"PeterNeumann", b"Peter+Neumann"),
        b"text\n\n" + LINE.encode().replace(b"PeterNeumann", b""),
        b"text\n\n" + LINE.encode().replace("—".encode(), b"-"),
        "text\n\n— x AAAA\n".encode(),
        "text\n\n— x AAAAAAA\n".encode(),
        b"text\n\n" + LINE.encode() * 101,
        b"x" * MOST_BYTES + b"\n\n" + LINE.encode(),
    ],
)
def test_what_is_no_note_is_refused(data: bytes) -> None:
    with pytest.raises(BadNote):
        parse_note(data)


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        "a+b",
        "a b+c74f20a3+AAAA",
        VKEY[:-1],
        VKEY.replace("c74f", "C74F"),
        VKEY.replace("Peter", "Petra"),
        "+" * 999,
    ],
)
def test_what_is_no_key_is_refused(vkey: str) -> None:
    with pytest.raises(BadNote):
        PublicKey.from_vkey(vkey)


@given(st.data())
def test_a_changed_note_is_never_taken_for_the_one_that_was_signed(data: st.DataObject) -> None:
    whole = bytearray(NOTE.encoded())
    at = data.draw(st.integers(0, len(whole) - 1))
    match data.draw(st.sampled_from(["replace", "insert", "delete"])):
        case "replace":
            whole[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
        case "insert":
            whole.insert(at, data.draw(st.integers(0, 255)))
        case _:
            del whole[at]
    try:
        note = parse_note(bytes(whole))
        verify_note(note, [LOG.public, NEXT.public])
    except (BadNote, ForgedNote):
        return
    assert note.text == NOTE.text


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_whatever_is_sent_ends_in_a_typed_error(data: bytes) -> None:
    with pytest.raises((BadNote, ForgedNote)):
        verify_note(parse_note(data), [LOG.public])
