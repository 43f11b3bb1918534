"""What gives itself away by its shape: keys, tokens and card numbers, and hardly anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.safety.scrub import Scrubber
from agentops.safety.shapes import REMOVED, hide_shapes, may_hold

TOKEN = "aB3" * 12
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
FOUND = {
    f"key: {PEM} end": f"key: {REMOVED} end",
    "-----BEGIN PRIVATE KEY-----\nMIIEow": REMOVED,
    "id AKIAIOSFODNN7EXAMPLE.": f"id {REMOVED}.",
    "id ASIAIOSFODNN7EXAMPLE.": f"id {REMOVED}.",
    f"Authorization: Bearer {TOKEN}": f"Authorization: Bearer {REMOVED}",
    f"authorization: bearer {TOKEN}==": f"authorization: bearer {REMOVED}",
    f"AUTHORIZATION: BEARER {TOKEN}": f"AUTHORIZATION: BEARER {REMOVED}",
    f"token {JWT}!": f"token {REMOVED}!",
    f"ghp_{TOKEN} ghs_{TOKEN}": f"{REMOVED} {REMOVED}",
    f"github_pat_{TOKEN}{TOKEN}": REMOVED,
    "xoxb-123456789012-abcdef": REMOVED,
    f"sk_live_{TOKEN}": REMOVED,
}
CARDS = {
    "4111 1111 1111 1111": "[card ending 1111]",
    "4111111111111111": "[card ending 1111]",
    "card 5555-5555-5555-4444, thanks": "card [card ending 4444], thanks",
    "on 2026 4111111111111111 12": "on 2026 [card ending 1111] 12",
    "378282246310005 and 6011111111111117": "[card ending 0005] and [card ending 1117]",
    "30569309025904, 3530111333300000": "[card ending 5904], [card ending 0000]",
}
KEPT = [
    "The bearer of this letter, bearer bonds-and-other-instruments-of-credit",
    "AKIA is a prefix, ASIA a continent, PRIVATE KEY a word, eyJ nothing, xox hugs",
    "4111 1111 1111 1112",  # the check digit is wrong
    "1111111111111117",  # no issuer
    "order 411111111111, 12 digits",
    "a4111111111111111f",  # in the middle of a hash
    "2026-11-01 12:00 2026-11-02 13:00",
    "019ad1a0-0000-7000-8000-000000000001",
    "1766000000000",
    "https://example.com/eyJ/x.eyJ",
]


@pytest.mark.parametrize(("text", "clean"), [*FOUND.items(), *CARDS.items()])
def test_shapes_are_hidden(text: str, clean: str) -> None:
    assert may_hold(text.encode())
    hidden, count = hide_shapes(text)
    assert (hidden, count) == (clean, clean.count("["))
    assert Scrubber().value({"a": [text]}) == ({"a": [clean]}, count)


@pytest.mark.parametrize("text", KEPT)
def test_ordinary_text_stays(text: str) -> None:
    assert Scrubber().value([text]) == ([text], 0)


def test_card_number_that_is_a_number_is_hidden() -> None:
    assert Scrubber().value({"card": 4111111111111111, "id": 1766000000000}) == (
        {"card": "[card ending 1111]", "id": 1766000000000},
        1,
    )


@given(st.text(max_size=40), st.sampled_from(sorted({**FOUND, **CARDS})), st.text(max_size=40))
def test_the_quick_look_misses_nothing(before: str, shape: str, after: str) -> None:
    text = before + shape + after
    if hide_shapes(text)[1]:
        assert may_hold(text.encode("utf-8", "surrogatepass"))
