"""How payloads are sealed, and how the keys that seal them are wrapped (pure).

AES-256-GCM (NIST SP 800-38D). A sealed body is 0x02, the id of its data key (16 bytes), the nonce (12), and the
ciphertext of salt (32) and body as ``ledger.bodies`` stores it, with the tag (16). Stream and position are additional
data: a body that was moved to another event does not open. No JSON text begins with 0x02, and no deflated body either,
so sealed and plain rows lie side by side.

The commitment is SHA-256 over salt and canonical JSON. Without the salt nobody can try what the body may have been, so
what is left when the key is gone tells nothing. A plain body has no salt: its commitment is its SHA-256.

Nonces are random. Of one key 2^32 may be used (section 8.3); a key lasts a quarter.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agentops.kernel.errors import AgentOpsError

KEY_BYTES, SALT_BYTES, NONCE_BYTES, TAG_BYTES = 32, 32, 12, 16
SEALED = 2
_KEY_ID = slice(1, 17)
_NONCE = slice(17, 17 + NONCE_BYTES)
_HEADER = 17 + NONCE_BYTES
OVERHEAD = _HEADER + SALT_BYTES + TAG_BYTES
"""By so many bytes is a sealed body longer than the one in it."""

MOST_MASTERS = 16
_MASTER_LABEL = b"agentops master key\x00"
_WRAP_LABEL = b"agentops data key\x00"
_BODY_LABEL = b"agentops payload\x00"


class BadSeal(AgentOpsError):
    """Something sealed does not open with its key: it was changed, or belongs elsewhere."""

    code = "BAD_SEAL"
    next_step = "Run the ledger's verification: the row is not what was recorded."


class BadMasterKey(AgentOpsError):
    """What is to be a master key is none."""

    code = "BAD_MASTER_KEY"
    next_step = "Make one with manage.py vault keygen: 32 bytes as base64, one key a line."


@dataclass(frozen=True)
class DataKey:
    """A key that seals payloads. The secret itself is only inside ``cipher``."""

    id: UUID
    cipher: AESGCM = field(repr=False)


@dataclass(frozen=True)
class MasterKey:
    """A key that wraps data keys. ``id`` is derived from it and tells nothing of it."""

    id: str
    cipher: AESGCM = field(repr=False)


@dataclass(frozen=True)
class KeyName:
    """What a data key is for. A wrapped key only opens under its own name."""

    id: UUID
    tenant_id: UUID
    subject: str
    retention: str
    period: str

    @property
    def bound(self) -> bytes:
        """The name as bytes, one form for one name."""
        parts = (self.subject.encode(), self.retention.encode(), self.period.encode())
        lengths = b"".join(len(part).to_bytes(4, "big") for part in parts)
        return _WRAP_LABEL + self.id.bytes + self.tenant_id.bytes + lengths + b"".join(parts)


def commitment(salt: bytes, body: bytes) -> bytes:
    """Return the 32 bytes that stand for a payload in its event; ``body`` is canonical JSON."""
    return hashlib.sha256(salt + body).digest()


def seal(key: DataKey, stream: UUID, position: int, inner: bytes, *, salt: bytes, nonce: bytes) -> bytes:
    """Return ``inner``, a body as it is stored, sealed for its place. ``salt`` and ``nonce`` are fresh and random."""
    if len(salt) != SALT_BYTES or len(nonce) != NONCE_BYTES:
        raise ValueError("a salt has 32 bytes and a nonce 12")
    sealed = key.cipher.encrypt(nonce, salt + inner, _place(stream, position))
    return b"".join((bytes((SEALED,)), key.id.bytes, nonce, sealed))


def is_sealed(raw: bytes | memoryview) -> bool:
    """Return whether a stored body is sealed; its first byte tells."""
    return bytes(raw[:1]) == bytes((SEALED,))


def key_id_of(raw: bytes | memoryview) -> UUID:
    """Return the id of the key that a sealed body needs. Raises BadSeal."""
    if not is_sealed(raw) or len(raw) < OVERHEAD:
        raise BadSeal("a sealed body that is cut short")
    return UUID(bytes=bytes(raw[_KEY_ID]))


def unseal(key: DataKey, stream: UUID, position: int, raw: bytes | memoryview) -> tuple[bytes, bytes]:
    """Return salt and body of a sealed body. Raises BadSeal for another key, another place, or changed bytes."""
    raw = bytes(raw)
    if key_id_of(raw) != key.id:
        raise BadSeal("a body that another key seals")
    try:
        opened = key.cipher.decrypt(raw[_NONCE], raw[_HEADER:], _place(stream, position))
    except InvalidTag:
        raise BadSeal(f"the payload of {stream}:{position} does not open") from None
    return opened[:SALT_BYTES], opened[SALT_BYTES:]


def _place(stream: UUID, position: int) -> bytes:
    return _BODY_LABEL + stream.bytes + position.to_bytes(8, "big")


def wrap(master: MasterKey, name: KeyName, secret: bytes, *, nonce: bytes) -> bytes:
    """Return a data key's secret as its row holds it: the nonce, and the secret sealed under the master key."""
    if len(secret) != KEY_BYTES or len(nonce) != NONCE_BYTES:
        raise ValueError("a key has 32 bytes and a nonce 12")
    return nonce + master.cipher.encrypt(nonce, secret, name.bound)


def unwrap(master: MasterKey, name: KeyName, wrapped: bytes | memoryview) -> bytes:
    """Return the secret of a wrapped data key. Raises BadSeal for another master key, or another name."""
    wrapped = bytes(wrapped)
    try:
        secret = master.cipher.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], name.bound)
    except (InvalidTag, ValueError):
        raise BadSeal(f"the key {name.id} does not unwrap") from None
    if len(secret) != KEY_BYTES:
        raise BadSeal(f"the key {name.id} has another length")
    return secret


def master_keys(text: str) -> Sequence[MasterKey]:
    """Return the master keys that a setting or a file holds, the first of which wraps. Raises BadMasterKey.

    One key a line, or separated by commas: 32 bytes as base64. Lines that begin with ``#`` are remarks.
    """
    lines = (line.strip() for part in text.splitlines() for line in _uncommented(part).split(","))
    keys = [_master_key(line) for line in lines if line]
    if len(keys) > MOST_MASTERS:
        raise BadMasterKey(f"There are more than {MOST_MASTERS} master keys.")
    if len({key.id for key in keys}) != len(keys):
        raise BadMasterKey("A master key stands there twice.")
    return keys


def _uncommented(line: str) -> str:
    return "" if line.lstrip().startswith("#") else line


def _master_key(text: str) -> MasterKey:
    try:
        secret = base64.b64decode(text.translate({ord("-"): "+", ord("_"): "/"}), validate=True)
    except (binascii.Error, ValueError):
        raise BadMasterKey("A master key is no base64.") from None
    if len(secret) != KEY_BYTES:
        raise BadMasterKey(f"A master key has {len(secret)} bytes, not {KEY_BYTES}.")
    return MasterKey(hashlib.sha256(_MASTER_LABEL + secret).hexdigest()[:16], AESGCM(secret))
