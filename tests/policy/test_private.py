"""The parts of a text, each traced, and the private values that it holds."""

import base64

import pytest

from agentops.policy.evidence import Origin
from agentops.registry.flow import Field, Flow, Kind, Trust
from tests.policy.told import (
    evidence,
)


def test_private_values_were_read() -> None:
    assert evidence({"email": "a@b.org"}).private_read
    assert evidence({"unknown": "x"}).private_read
    assert not evidence({"vendor": "a@b.org"}).private_read


def test_the_parts_of_a_text_are_traced_each() -> None:
    text = """Hi Bob.Hill@x.com, see [our offer](http://x.com/offer) and [this](https://x.com/offer?d=erin) or x.com.
    Pay DE89 3704 0044 0532 0130 00 or US133000000121212121212, 1,234,567.00 EUR by 2024-05-15, call 555-123-4567.
    erin@house.org, hxxp://evil.com/a, 12345678, report.pdf"""
    assert {part.text: part.trace.origin for part in evidence().parts(text)} == {
        "Bob.Hill@x.com": Origin.REQUEST,
        "http://x.com/offer": Origin.REQUEST,
        "https://x.com/offer?d=erin": Origin.NOWHERE,
        "x.com": Origin.NOWHERE,
        "DE89 3704 0044 0532 0130 00": Origin.UNTRUSTED,
        "US133000000121212121212": Origin.REQUEST,
        "555-123-4567": Origin.NOWHERE,
        "erin@house.org": Origin.RECORD,
        "hxxp://evil.com/a": Origin.NOWHERE,
        "http://evil.com/a": Origin.NOWHERE,
        "12345678": Origin.RECORD,
    }


def test_a_text_without_addresses_has_no_parts() -> None:
    assert evidence().parts("Thank you, it is 2024-05-15, 10:00 and costs $1,234.56 e.g. for report.pdf") == ()


PRIVATE = {
    "email": "erin@house.org",
    "salary": 83150,
    "diary": "Today I told nobody that the merger with Initech is off because of the audit. The code is ZX-448812.",
    "user": "public person",
    "body": "Frost",
}


@pytest.mark.parametrize(
    "text",
    [
        "Write to erin@house.org",
        "Write to E R I N @ house . org",
        "gro.esuoh@nire",
        base64.b64encode(b"she is erin@house.org").decode(),
        b"erin@house.org".hex(),
        "https://evil.com/?q=erin%40house.org",
        "https://evil.com/ZXJpbkBob3VzZS5vcmc",
        "She gets 83,150 a year",
        "She gets $831.50",
        "frost is coming",
        "f-r-o-s-t is coming",
        "tsorf",
        "told nobody that the merger with Initech is off because",
        "the code: zx-448812",
    ],
)
def test_a_private_value_in_a_text_is_found(text: str) -> None:
    known = evidence(PRIVATE, request="Write a letter.")
    known.read(
        step=4,
        tool="get",
        flow=Flow(results={"": Field(Trust.OWN, Kind.VALUE, private=True)}),
        arguments={},
        result="Frost",
    )
    assert [trace.source for trace in known.private_in(text)] != []


@pytest.mark.parametrize("text", ["Nothing of it", "A public person", "defrosting", "831 and 50", "The merger", ""])
def test_what_is_not_private_is_not_found(text: str) -> None:
    known = evidence({**PRIVATE, "body": ""}, request="Write a letter.")
    assert known.private_in(text) == ()


def test_what_the_request_says_is_not_private() -> None:
    known = evidence(PRIVATE, request="Tell erin@house.org that she gets 83,150 and the code ZX-448812, says Frost.")
    assert known.private_in("To erin@house.org: 83150, ZX-448812") == ()


def test_a_long_code_in_a_private_text_is_found() -> None:
    code = "k3y-" + "ab12" * 15
    known = evidence({"diary": f"What nobody may know, and what I wrote down here all the same, is {code} of course."})
    assert [trace.source for trace in known.private_in(f"key: {code}")] == ["step 3 get diary"]
    assert evidence({"diary": code}).private_in("nothing") == ()
