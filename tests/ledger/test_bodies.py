"""How payloads are stored: smaller where that pays, and read back as they were, or not at all."""

import hashlib
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.canonical import canonical_bytes, loads
from agentops.kernel.ids import new_id
from agentops.ledger.append import Event, append_to
from agentops.ledger.bodies import LONGEST, SHORTEST, BadBody, body_of, size_of, stored
from agentops.ledger.models import LedgerEvent, Payload
from agentops.ledger.payloads import Opened, read_payloads
from agentops.ledger.queries import events_of, payload_of
from agentops.ledger.sealing import OVERHEAD

WORDS = canonical_bytes({"text": "The agent may use this tool by itself. " * 40})
NOISE = canonical_bytes({"text": "".join(chr(code) for code in random.Random(1).choices(range(33, 126), k=1_000))})
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))


@given(st.recursive(st.none() | st.booleans() | TEXT, st.lists, max_leaves=20), st.integers(1, 400))
def test_every_value_comes_back_as_it_was(value: object, times: int) -> None:
    body = canonical_bytes([value] * times)
    assert body_of(stored(body)) == body
    assert size_of(stored(body)[:5], whole=len(stored(body))) == len(body)


def test_only_what_gets_smaller_is_deflated() -> None:
    assert len(stored(WORDS)) < len(WORDS) // 4
    assert body_of(memoryview(stored(WORDS))) == WORDS
    assert stored(NOISE) == NOISE
    short = canonical_bytes("a" * (SHORTEST - 3))
    assert stored(short) == short
    assert stored(short + b" ") != short + b" "


@pytest.mark.parametrize(
    "raw",
    [
        b"\x01",
        b"\x01\x00\x00\x02\x00",
        b"\x01\x00\x00\x02\x00no deflate",
        stored(WORDS)[:-3],
        b"\x01" + (len(WORDS) - 1).to_bytes(4, "big") + stored(WORDS)[5:],
        b"\x01" + (len(WORDS) + 1).to_bytes(4, "big") + stored(WORDS)[5:],
        b"\x01" + (LONGEST + 1).to_bytes(4, "big") + stored(WORDS)[5:],
    ],
)
def test_what_was_not_stored_here_is_not_read(raw: bytes) -> None:
    with pytest.raises(BadBody):
        body_of(raw)


def test_no_more_is_inflated_than_the_length_says() -> None:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -12, 5)
    bomb = deflate.compress(b" " * 50_000_000) + deflate.flush()
    with pytest.raises(BadBody, match="another length"):
        body_of(b"\x01" + (1_000).to_bytes(4, "big") + bomb)


@pytest.mark.django_db
def test_digest_is_that_of_the_json_whatever_form_it_is_stored_in() -> None:
    stream = append_to(tenant_id=new_id(), name="agent:x", events=[Event("a", "sweep", payload=loads(WORDS))])
    event, payload = LedgerEvent.objects.get(stream=stream), Payload.objects.get(stream=stream)
    assert len(payload.body) == len(stored(WORDS)) + OVERHEAD < len(WORDS)
    (read,) = read_payloads([(stream, 0, payload.body)])
    assert isinstance(read, Opened)
    assert event.payload_digest is not None
    assert bytes(event.payload_digest) == read.commitment == hashlib.sha256(read.salt + WORDS).digest()
    assert payload_of(stream, 0) == loads(WORDS)
    assert [event.body for event in events_of(stream)] == [WORDS]
