"""Which writings are one address, which only look alike, and where addresses hide."""

import pytest

from agentops.policy.addresses import address_of, addresses_in, readings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bob@X.com", "bob@x.com"),
        ("<bob@x.com>", "'bob@x.com'"),
        ("mailto:bob@x.com", "bob@x.com"),
        ("https://www.x.com/a/", "x.com/a"),
        ("HTTP://X.com", "x.com/"),
        ("https://x.com:443/a", "x.com/a"),
        ("http://xn--bcher-kva.de/", "bücher.de"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("GB29-NWBK-6016-1331-9268-19", "GB29NWBK60161331926819"),
        ("+49 (30) 123-4567", "0049301234567"),
    ],
)
def test_one_address_in_two_writings(one: str, other: str) -> None:
    first, second = address_of(one), address_of(other)
    assert first is not None
    assert second is not None
    assert (first.kind, first.key) == (second.kind, second.key)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bob@x.com", "b@x.com"),
        ("bob@x.com", "bob@mail.x.com"),
        ("bob@x.com", "bob@x.com.evil.org"),
        ("bob@x.com", "bоb@x.com"),
        ("bob@x.com", "ｂｏｂ@x.com"),
        ("x.com", "a.x.com"),
        ("x.com/a", "x.com/ab"),
        ("x.com/a", "x.com/a?q=1"),
        ("x.com/a", "x.com/A"),
        ("x.com/a", "x.com/a!"),
        ("x.com/a", "x.com/%61"),
        ("https://x.com", "ftp://x.com"),
        ("https://x.com", "https://x.com@evil.com"),
        ("https://x.com", "https://x.com:8080"),
        ("paypal.com", "paypa1.com"),
        ("DE89370400440532013000", "DE89370400440532013001"),
    ],
)
def test_two_addresses_that_look_alike(one: str, other: str) -> None:
    first, second = address_of(one), address_of(other)
    assert first is not None
    assert second is None or (first.kind, first.key) != (second.kind, second.key)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Write to bob@x.com.", [("email", "bob@x.com")]),
        ("See [this](https://x.com/a_(b)).", [("url", "x.com/a_(b)")]),
        ("<a href='//evil.com/x'>y</a>", [("url", "evil.com/x")]),
        ("at evil.com. Then", [("url", "evil.com")]),
        (
            "http://[::1]/x and http://10.0.0.1/y and 10.0.0.2",
            [("url", "[::1]/x"), ("url", "10.0.0.1/y"), ("url", "10.0.0.2")],
        ),
        ("javascript:alert(1)", [("url", "javascript:alert(1)")]),
        ("http:\\\\evil.com", [("url", "evil.com")]),
        ("report.pdf e.g. 1.5 and 3.14", []),
        ("report.pdf/x", [("url", "report.pdf/x")]),
        ("IBAN DE89 3704 0044 0532 0130 00, thanks", [("iban", "DE89370400440532013000")]),
        ("call +1 (555) 123-4567 or 1234567", [("number", "15551234567"), ("number", "1234567")]),
        ("sizes 10 12 14 16", []),
        ("1 2 3 4 5 6 7 8", [("number", "12345678")]),
        ("9" * 80, [("number", "9" * 80)]),
        ("12345", []),
        ("evil.com and evil.com", [("url", "evil.com"), ("url", "evil.com")]),
    ],
)
def test_addresses_are_found_in_a_text(text: str, found: list[tuple[str, str]]) -> None:
    assert [(address.kind, address.key) for address in addresses_in(text)] == found


@pytest.mark.parametrize(
    "text",
    [
        "hxxps://evil.com/a",
        "https://evil[.]com/a",
        "%68ttps%3A%2F%2Fevil.com%2Fa",
        "&#104;ttps://evil.com/a",
        "ev\u200bil.com/a",
        "ｅｖｉｌ．ｃｏｍ/a",
        "evil。com/a",
        "aHR0cHM6Ly9ldmlsLmNvbS9h",
        "68747470733a2f2f6576696c2e636f6d2f61",
        "evil(dot)com/a",
    ],
)
def test_hidden_links_are_found_in_a_reading(text: str) -> None:
    found = {address.key for reading in readings(f"See {text} now") for address in addresses_in(reading)}
    assert "evil.com/a" in found
