r"""Signed notes: a text, and Ed25519 signatures under it by anybody whose key has a name (pure).

The form is that of C2SP's signed-note: the text, a blank line, and a line for each signature, which is an em dash, the
key's name, and base64 of the key's id (4 bytes) and the signature. A key's id is the first four bytes of SHA-256(name
|| "\n" || type || public key); the type is one byte, 0x01 for Ed25519 (signed-note) and 0x04 for Ed25519 cosignatures
with a time (tlog-cosignature). Keys are written as in Go's golang.org/x/mod/sumdb/note: ``name+id+base64`` (vkey) and
``PRIVATE+KEY+name+id+base64`` (skey), with the type in front of the key's 32 bytes.

A signature by an unknown key is ignored. One that names a known key and is not that key's makes the note forged.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from agentops.kernel.errors import AgentOpsError

ED25519 = 1
COSIGNATURE = 4
"""The types of keys."""

MOST_BYTES = 1_000_000
MOST_SIGNATURES = 100
MOST_NAME = 255
KEY_BYTES = 32
SIGNATURE_BYTES = 64
_ID_BYTES = 4
_TIME_BYTES = 8
_DASH = "\u2014"
_PRIVATE = "PRIVATE+KEY+"
_HEX_ID = re.compile(r"[0-9a-f]{8}")


class BadNote(AgentOpsError):
    """Something is no signed note, or no key: it cannot be read, or is longer than anything honest."""

    code = "BAD_NOTE"
    next_step = "Get it again from where it was made."


class ForgedNote(AgentOpsError):
    """A note is not signed by the key that it must be signed by, or a signature is not what it says."""

    code = "FORGED_NOTE"
    next_step = "Do not trust the note. Compare the public key with the one its owner publishes."


@dataclass(frozen=True)
class Signature:
    """One line under a note. ``blob`` is what follows the key's id: for a cosignature its time, then the signature."""

    name: str
    key_id: bytes
    blob: bytes

    def line(self) -> str:
        """Return the line as it stands in a note, with its newline."""
        return f"{_DASH} {self.name} {base64.b64encode(self.key_id + self.blob).decode()}\n"


@dataclass(frozen=True)
class Note:
    """A text that ends in a newline, and what stands under it. Nothing is verified yet."""

    text: str
    signatures: tuple[Signature, ...]

    def encoded(self) -> bytes:
        """Return the note as bytes."""
        return (self.text + "\n" + "".join(one.line() for one in self.signatures)).encode()

    def with_signatures(self, more: Iterable[Signature]) -> "Note":
        """Return the same text with further signatures."""
        return Note(self.text, (*self.signatures, *more))


@dataclass(frozen=True)
class PublicKey:
    """Who may have signed: a name, the type, and the 32 bytes of an Ed25519 key. Raises BadNote for anything else."""

    name: str
    key: bytes
    kind: int = ED25519

    def __post_init__(self) -> None:
        _require_name(self.name)
        if self.kind not in (ED25519, COSIGNATURE) or len(self.key) != KEY_BYTES:
            raise BadNote(f"the key of {self.name} is no Ed25519 key")

    @property
    def key_id(self) -> bytes:
        r"""The first 4 bytes of SHA-256(name || "\n" || type || key), from signed-note."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.key).digest()[:_ID_BYTES]

    def vkey(self) -> str:
        """Return the key as text, the way it is published."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(bytes([self.kind]) + self.key).decode()}"

    @classmethod
    def from_vkey(cls, text: str) -> Self:
        """Read a published key. Raises BadNote."""
        name, key_id, kind, key = _key_parts(text.strip(), "public key")
        found = cls(name, key, kind)
        if found.key_id != key_id:
            raise BadNote(f"the public key of {name} has another id than it says")
        return found


@dataclass(frozen=True)
class SigningKey:
    """Who signs. ``seed`` is the 32 bytes of a private Ed25519 key, which never show in a representation."""

    name: str
    seed: bytes = field(repr=False)
    kind: int = ED25519

    def __post_init__(self) -> None:
        if len(self.seed) != KEY_BYTES:
            raise BadNote(f"the private key of {self.name} has not {KEY_BYTES} bytes")
        _require_name(self.name)

    @property
    def public(self) -> PublicKey:
        """The key that verifies what this one signs."""
        return PublicKey(self.name, self._private().public_key().public_bytes_raw(), self.kind)

    def skey(self) -> str:
        """Return the private key as text, the way it is kept in a file."""
        secret = base64.b64encode(bytes([self.kind]) + self.seed).decode()
        return f"{_PRIVATE}{self.name}+{self.public.key_id.hex()}+{secret}"

    @classmethod
    def from_skey(cls, text: str) -> Self:
        """Read a private key. Raises BadNote, whose message never holds the key."""
        text = text.strip()
        if not text.startswith(_PRIVATE):
            raise BadNote("the private key does not begin with PRIVATE+KEY+")
        name, key_id, kind, seed = _key_parts(text[len(_PRIVATE) :], "private key")
        found = cls(name, seed, kind)
        if found.public.key_id != key_id:
            raise BadNote(f"the private key of {name} has another id than it says")
        return found

    def sign(self, text: str, *, unix_time: int = 0) -> Signature:
        """Return the signature of a note's text; ``unix_time``, in seconds, is what a cosignature says it was made at.

        Raises BadNote when ``text`` cannot stand in a note.
        """
        _require_text(text)
        stamp = b"" if self.kind == ED25519 else unix_time.to_bytes(_TIME_BYTES, "big")
        message = text.encode() if self.kind == ED25519 else cosigned_message(text, unix_time)
        return Signature(self.name, self.public.key_id, stamp + self._private().sign(message))

    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)


def cosigned_message(text: str, unix_time: int) -> bytes:
    """Return what a cosignature signs, as tlog-cosignature has it: two lines in front of the checkpoint's text."""
    return f"cosignature/v1\ntime {unix_time}\n{text}".encode()


def sign_note(text: str, keys: Iterable[SigningKey]) -> Note:
    """Return ``text`` signed by every key, in their order. Raises BadNote when it cannot stand in a note."""
    return Note(text, tuple(key.sign(text) for key in keys))


def parse_note(data: bytes) -> Note:
    """Read a note, hostile or not. Raises BadNote."""
    if len(data) > MOST_BYTES:
        raise BadNote(f"the note has more than {MOST_BYTES} bytes")
    try:
        whole = data.decode()
    except UnicodeDecodeError:
        raise BadNote("the note is no UTF-8") from None
    _require_printable(whole)
    # Signature lines are never empty, so the last blank line is where the text ends.
    end = whole.rfind("\n\n")
    if end < 0 or not whole.endswith("\n") or end + 2 == len(whole):
        raise BadNote("the note has no signatures")
    text, under = whole[: end + 1], whole[end + 2 : -1]
    _require_text(text)
    return Note(text, parse_signatures(under))


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Read signature lines, at least one, without the newline of the last. Raises BadNote."""
    rows = lines.split("\n", MOST_SIGNATURES)
    if len(rows) > MOST_SIGNATURES:
        raise BadNote(f"the note has more than {MOST_SIGNATURES} signatures")
    return tuple(_signature(row) for row in rows)


def verify_note(note: Note, keys: Iterable[PublicKey]) -> tuple[PublicKey, ...]:
    """Return those of ``keys`` that signed the note, each once and in their order; at least one did.

    Raises ForgedNote when none did, or when a signature names one of them and is not its.
    """
    signed = []
    for key in keys:
        mine = [one for one in note.signatures if (one.name, one.key_id) == (key.name, key.key_id)]
        for one in mine:
            _require_genuine(note.text, one, key)
        if mine and key not in signed:
            signed.append(key)
    if not signed:
        raise ForgedNote("none of the known keys signed the note")
    return tuple(signed)


def cosigned_at(signature: Signature) -> int:
    """Return the time of a cosignature, in seconds since 1970. Raises BadNote when it is none."""
    if len(signature.blob) != _TIME_BYTES + SIGNATURE_BYTES:
        raise BadNote(f"the signature of {signature.name} is no cosignature")
    return int.from_bytes(signature.blob[:_TIME_BYTES], "big")


def _require_genuine(text: str, signature: Signature, key: PublicKey) -> None:
    made, message = signature.blob, text.encode()
    if key.kind == COSIGNATURE:
        message = cosigned_message(text, cosigned_at(signature))
        made = made[_TIME_BYTES:]
    try:
        Ed25519PublicKey.from_public_bytes(key.key).verify(made, message)
    except (InvalidSignature, ValueError):
        raise ForgedNote(f"a signature of the note is not by {key.name}, as it says") from None


def _signature(row: str) -> Signature:
    parts = row.split(" ")
    if len(parts) != 3 or parts[0] != _DASH:
        raise BadNote("a line under the note is no signature")
    _require_name(parts[1])
    blob = _decoded(parts[2], "signature")
    if len(blob) <= _ID_BYTES:
        raise BadNote("a signature of the note is too short")
    return Signature(parts[1], blob[:_ID_BYTES], blob[_ID_BYTES:])


def _key_parts(text: str, what: str) -> tuple[str, bytes, int, bytes]:
    if len(text) > MOST_NAME + 100:
        raise BadNote(f"the {what} is too long")
    parts = text.split("+", 2)
    if len(parts) != 3 or _HEX_ID.fullmatch(parts[1]) is None:
        raise BadNote(f"the {what} is not written as name+id+base64")
    blob = _decoded(parts[2], what)
    if len(blob) != 1 + KEY_BYTES or blob[0] not in (ED25519, COSIGNATURE):
        raise BadNote(f"the {what} of {parts[0]} is no Ed25519 key")
    return parts[0], bytes.fromhex(parts[1]), blob[0], blob[1:]


def _decoded(text: str, what: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadNote(f"a {what} is no base64") from None
    if base64.b64encode(found).decode() != text:
        raise BadNote(f"a {what} is base64 that somebody changed")
    return found


def _require_name(name: str) -> None:
    if not 0 < len(name) <= MOST_NAME or "+" in name or any(c.isspace() or ord(c) < 32 for c in name):
        raise BadNote("a key's name is empty, too long, or has a space or a plus sign in it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise BadNote("a key's name is no Unicode text") from None


def _require_text(text: str) -> None:
    if not text.endswith("\n"):
        raise BadNote("the note's text does not end in a newline")
    _require_printable(text)


def _require_printable(text: str) -> None:
    if any(c < " " and c != "\n" for c in text):
        raise BadNote("the note has control characters in it")
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise BadNote("the note is no Unicode text") from None
    if len(encoded) > MOST_BYTES:
        raise BadNote(f"the note has more than {MOST_BYTES} bytes")
