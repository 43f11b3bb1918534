"""Known secrets leave every value they stand in, however they are written there."""

import base64
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.money import Money
from agentops.registry.tool import Change, Preview
from agentops.safety.scrub import Scrubber, SecretUnfit
from agentops.safety.shapes import REMOVED

SECRET = "tok/4eC39+HqLy-jWD arj"
PREVIEW = Preview(
    "Refund $12 to Ann.", "customer:c-17", (Change("Balance", "1", "2"),), {"order:1": 3}, Money(12, "USD")
)


def split_over(between: str, every: int = 4) -> Callable[[str], str]:
    return lambda text: between.join(text[start : start + every] for start in range(0, len(text), every))


def base64_of(text: str, before: int = 0) -> str:
    return base64.b64encode(b"x" * before + text.encode() + b"yz").decode()


PLAIN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "backwards": lambda text: text[::-1],
    "in lines": split_over("\n"),
    "with dashes": split_over("-", 1),
    "with hidden characters": split_over("\u200b", 2),
    "in an address": quote,
    "in an address, all of it": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "in a form": quote_plus,
    "in an address in an address": lambda text: quote(quote(text)),
    "in JSON": lambda text: json.dumps({"key": text}),
    "in JSON, every letter escaped": lambda text: "".join(
        "".join(f"\\u{unit:04X}" for unit in memoryview(char.encode("utf-16-le")).cast("H")) for char in text
    ),
    "in JSON in JSON": lambda text: json.dumps(json.dumps([text])),
    "as entities": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "as hex entities": lambda text: "".join(f"&#x{ord(char):X};" for char in text),
}
HEX: dict[str, Callable[[str], str]] = {
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "Hex": lambda text: "".join(c.upper() if i % 3 else c for i, c in enumerate(text.encode().hex())),
    "hex with colons": lambda text: text.encode().hex(":"),
    "hex in a longer text": lambda text: f"before {text} after".encode().hex(" ", 4),
}
BASE64: dict[str, Callable[[str], str]] = {
    **{f"base64 at {place}": partial(base64_of, before=place) for place in range(3)},
    "base64 alone": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of addresses": lambda text: base64.urlsafe_b64encode(f"k={text};".encode()).decode().rstrip("="),
    "base64 in lines": lambda text: base64.encodebytes(f"Authorization: Basic {text}:".encode() * 3).decode(),
    "base64 in an address": lambda text: quote(base64_of(text, 1), safe=""),
    "base64 of it backwards": lambda text: base64_of(text[::-1]),
}
WAYS = {**PLAIN, **HEX, **BASE64}

secrets = st.one_of(
    st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60),
    st.text(alphabet=st.characters(codec="utf-8"), min_size=12, max_size=40),
    st.text(alphabet="abcdefABCDEF0123456789_", min_size=8, max_size=80),
)


def fit(value: str) -> Scrubber | None:
    try:
        return Scrubber([value])
    except SecretUnfit:
        return None


def squeezed(text: str) -> str:
    return re.sub(r"[\s\u200b-]", "", text)


def readings(text: str) -> list[str]:
    """What somebody who tries finds in a text: written by other means than those of the code under test."""
    found = [text]
    for decode in (unquote, unquote_plus, lambda one: re.sub(r"&#x?[0-9A-Fa-f]+;", _entity, one), _unescaped):
        found += [decode(one) for one in list(found)]
    for one in list(found):
        found += [_from_hex(run) for run in re.findall(r"(?:[0-9a-fA-F]{2}[ :]?){8,}", one)]
        solid = re.sub(r"\s", "", one).replace("-", "+").replace("_", "/")
        for run in re.findall(r"[A-Za-z0-9+/]{8,}", solid):
            found += [_from_base64(run[start:]) for start in range(4)]
    return [*found, *[one[::-1] for one in found]]


def _entity(match: re.Match[str]) -> str:
    digits = match.group()[2:-1]
    return chr(int(digits[1:], 16) if digits[0] in "xX" else int(digits))


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace('\\"', '"').replace("\\\\", "\\")


def _from_hex(run: str) -> str:
    return bytes.fromhex(re.sub("[ :]", "", run)).decode("utf-8", "replace")


def _from_base64(run: str) -> str:
    return base64.b64decode(run[: len(run) // 4 * 4]).decode("utf-8", "replace")


def gives_away(text: str, secret: str) -> bool:
    return any(secret in one or squeezed(secret) in squeezed(one) for one in readings(text))


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS.keys())
def test_secret_leaves_in_every_form(write: Callable[[str], str]) -> None:
    text = f"The answer: {write(SECRET)} and so on."
    assert Scrubber([SECRET]).text(text)[1] >= 1
    clean, _ = Scrubber([SECRET]).text(text)
    assert REMOVED in clean
    assert not gives_away(clean, SECRET)
    assert (clean[:12], clean[-11:]) == ("The answer: ", " and so on.")


@pytest.mark.parametrize("name", ["as it is", "in an address", "hex", "base64 alone", "with dashes"])
def test_what_stands_around_a_secret_stays_and_places_are_counted(name: str) -> None:
    text = "a ".join(["start ", *[WAYS[name](SECRET)] * 3, " end"])
    assert Scrubber([SECRET]).text(text) == (f"start a {REMOVED}a {REMOVED}a {REMOVED}a  end", 3)


@given(secret=secrets, name=st.sampled_from(sorted(WAYS)), before=st.text(max_size=30), after=st.text(max_size=30))
def test_nothing_that_is_left_decodes_to_the_secret(secret: str, name: str, before: str, after: str) -> None:
    scrubber = fit(secret)
    if scrubber is None:
        return
    clean, count = scrubber.text(f"{before} {WAYS[name](secret)} {after}")
    assert count >= 1
    assert not gives_away(clean.replace(REMOVED, "|"), secret)
    assert scrubber.text(clean) == (clean, 0)


@given(secret=secrets, name=st.sampled_from(sorted(WAYS)), around=st.lists(st.text(max_size=8), max_size=3))
def test_values_of_any_shape_are_scrubbed(secret: str, name: str, around: list[str]) -> None:
    scrubber = fit(secret)
    if scrubber is None:
        return
    written = WAYS[name](secret)
    value: Any = {"a": [*around, {"deep": written}], "b": 5, "c": None, "d": True}
    clean, count = scrubber.value(value)
    assert count >= 1
    assert scrubber.value(clean) == (clean, 0)
    assert not gives_away(json.dumps(clean, ensure_ascii=False).replace(REMOVED, "|"), secret)


@given(value=st.recursive(st.one_of(st.none(), st.booleans(), st.integers(0, 10**6), st.text(max_size=20)), st.lists))
def test_values_without_a_secret_stay_the_same(value: Any) -> None:
    assert Scrubber(["qX7-pL2-vB9-mK4-tR8"]).value(value) == (value, 0)


def test_keys_and_numbers_are_scrubbed() -> None:
    scrubber = Scrubber(["9182736455", "api_key_value_1"])
    value = {"api_key_value_1": 1, "x": 9182736455, "y": [1.5, 91827364550]}
    assert scrubber.value(value) == ({REMOVED: 1, "x": REMOVED, "y": [1.5, f"{REMOVED}0"]}, 3)


def test_two_keys_that_look_alike_afterwards_are_both_kept() -> None:
    value = {"api_key_value_1": 1, REMOVED: 2, "API": 3}
    assert Scrubber(["api_key_value_1"]).value(value) == ({REMOVED: 1, f"{REMOVED}'": 2, "API": 3}, 1)


def test_secret_that_is_spread_over_a_list_takes_the_list_with_it() -> None:
    scrubber = Scrubber(["tok4eC39HqLyjWD"])
    value = {"letters": list("tok4eC39HqLyjWD"), "hex": [byte.to_bytes().hex() for byte in b"tok4eC39HqLyjWD"], "n": 1}
    assert scrubber.value(value) == ({"letters": REMOVED, "hex": REMOVED, "n": 1}, 2)


def test_parts_of_a_secret_that_are_used_alone_are_scrubbed() -> None:
    pair = json.dumps({"id": "key-id-000011112222", "secret": "s3cr3t-s3cr3t-s3cr3t"})
    assert Scrubber([pair]).text("sent s3cr3t-s3cr3t-s3cr3t") == (f"sent {REMOVED}", 1)
    key = "-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49\nAgEGCCqGSM49AwEHBG0w\n-----END KEY-----"
    assert Scrubber([key]).text("line AgEGCCqGSM49AwEHBG0w") == (f"line {REMOVED}", 1)


@pytest.mark.parametrize("short", ["", "1234567", "- - - - - -", "ab cd ef g", "\u200b" * 20, "x" * 65_537])
def test_secret_that_cannot_be_told_from_text_is_refused(short: str) -> None:
    with pytest.raises(SecretUnfit) as raised:
        Scrubber([short])
    assert raised.value.code == "SECRET_UNFIT"
    assert short not in raised.value.in_full or not short


@pytest.mark.parametrize("word", ["secret removed", "[secret removed]", "devomer terces"])
def test_secret_that_is_our_own_words_is_refused(word: str) -> None:
    with pytest.raises(SecretUnfit):
        Scrubber([word])


def test_preview_is_scrubbed_in_every_part() -> None:
    dirty = Preview(f"Use {SECRET}.", f"key:{SECRET}", (Change(SECRET, SECRET, "2"),), {SECRET: 3}, Money(12, "USD"))
    clean, count = Scrubber([SECRET]).preview(dirty)
    changes = (Change(REMOVED, REMOVED, "2"),)
    assert (clean, count) == (Preview(f"Use {REMOVED}.", f"key:{REMOVED}", changes, {REMOVED: 3}, Money(12, "USD")), 5)


def test_preview_without_secrets_is_the_same_object() -> None:
    assert Scrubber([SECRET]).preview(PREVIEW)[0] is PREVIEW


def test_preview_over_which_a_secret_is_spread_says_nothing() -> None:
    dirty = Preview("Pay.", "customer:c-17", (Change("q7", "Zx", "9k"), Change("Lm", "2v", "B4")), {}, Money(12, "USD"))
    clean = Scrubber(["q7Zx9kLm2vB4"]).preview(dirty)
    assert clean == (Preview(REMOVED, REMOVED, (), {}, Money(12, "USD")), 1)


@pytest.mark.parametrize("unit", ["t", "to", "tok4eC39HqLyjW", "%7", "\\u00", "&#4", "tok4eC39HqLyjWD ", "4", "-", "é"])
def test_work_grows_with_the_text_and_no_faster(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in characters that the views are made of, which do not depend on the machine."""
    assert _characters_read(unit, 4_000, monkeypatch) <= 4.2 * _characters_read(unit, 1_000, monkeypatch)


def _characters_read(unit: str, times: int, monkeypatch: pytest.MonkeyPatch) -> int:
    from agentops.safety import views  # noqa: PLC0415 - patched here

    read = 0
    only = views.View._only

    def counted(self: views.View, keep: list[bool]) -> views.View:
        nonlocal read
        read += len(keep)
        return only(self, keep)

    with monkeypatch.context() as patch:
        patch.setattr(views.View, "_only", counted)
        Scrubber(["tok4eC39HqLyjWD"]).text(unit * times + " tok4eC39HqLyjWD")
    return read
