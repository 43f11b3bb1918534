"""The readers: what becomes of good and bad rows of every format, without a database."""

import io
import json
from datetime import UTC, datetime

import pytest

from agentops.registry.importing import csv_rows, jsonl_rows, mbox_rows
from agentops.registry.importing.files import Format, format_of
from agentops.registry.importing.rows import BadRow, Reason, Row, column_of

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
HEADER = "id,from_email,received_at,subject,body\n"
GOOD = {"id": "7", "from_email": "a@b.example", "received_at": "2026-11-01T08:00:00Z", "subject": "Hi", "body": "Text"}


def of_csv(text: str | bytes) -> list[Row | BadRow]:
    raw = text.encode() if isinstance(text, str) else text
    return list(csv_rows.read(io.BytesIO(raw), now=NOW))


def of_jsonl(text: str | bytes) -> list[Row | BadRow]:
    raw = text.encode() if isinstance(text, str) else text
    return list(jsonl_rows.read(io.BytesIO(raw), now=NOW))


def of_mbox(text: str | bytes) -> list[Row | BadRow]:
    raw = text.encode() if isinstance(text, str) else text
    return list(mbox_rows.read(io.BytesIO(raw), now=NOW))


def reasons(rows: list[Row | BadRow]) -> list[tuple[int, str]]:
    return [(row.line, row.reason.value if isinstance(row, BadRow) else "taken") for row in rows]


def mail(headers: str, body: str = "Text", *, sender: str = "From: Ann <a@b.example>", date: str = "") -> str:
    date = date or "Date: Sun, 1 Nov 2026 09:00:00 +0100"
    return f"From a@b.example Sun Nov  1 09:00:00 2026\n{sender}\n{date}\n{headers}\n{body}\n\n"


def test_a_good_row_of_each_format() -> None:
    expected = Row(2, "id:7", "a@b.example", "Hi", "Text", datetime(2026, 11, 1, 8, tzinfo=UTC))
    assert of_csv(HEADER + "7,a@b.example,2026-11-01T08:00:00Z,Hi,Text\n") == [expected]
    line = (
        '{"id": 7, "from": "Ann <a@b.example>", "date": "Sun, 1 Nov 2026 08:00:00 GMT", "title": "Hi", "text": "Text"}'
    )
    assert of_jsonl("\n" + line) == [expected]
    (row,) = of_mbox(mail("Message-ID: <x@y>\nSubject: =?utf-8?q?H=C3=A4?=\n"))
    assert row == Row(1, "id:<x@y>", "a@b.example", "Hä", "Text", datetime(2026, 11, 1, 8, tzinfo=UTC))


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("From E-mail", None),
        ("FROM_EMAIL", "from_email"),
        ("Created-At", "received_at"),
        (" Title ", "subject"),
        ("x", None),
    ],
)
def test_columns_are_known_by_several_names(name: str, column: str | None) -> None:
    assert column_of(name) == column


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"from_email": ""}, "missing field"),
        ({"body": " "}, "missing field"),
        ({"received_at": ""}, "missing field"),
        ({"from_email": "nobody"}, "bad e-mail address"),
        ({"from_email": "a@b.example, c@d.example"}, "bad e-mail address"),
        ({"from_email": "a@b.example\nBcc: x@y.example"}, "bad e-mail address"),
        ({"from_email": "a@b"}, "bad e-mail address"),
        ({"received_at": "yesterday"}, "bad date"),
        ({"received_at": "2026-13-01"}, "bad date"),
        ({"received_at": "0001-01-01T00:00:00+14:00"}, "bad date"),
        ({"received_at": "9999-12-31T23:59:59-14:00"}, "bad date"),
        ({"received_at": "2027-01-01"}, "bad date"),
        ({"body": "x" * (100 * 1024 + 1)}, "too large"),
        ({"id": "x" * 151}, "too large"),
        ({"body": "a\x00b"}, "NUL character"),
        ({"body": "half \ud800 pair"}, "not UTF-8"),
        ({"subject": 5}, "wrong type"),
        ({"id": True}, "wrong type"),
        ({"id": 1.5}, "wrong type"),
        ({"body": ["x"]}, "wrong type"),
        ({"sender": "c@d.example"}, "not readable"),
    ],
)
def test_a_bad_value_has_a_typed_reason(changes: dict[str, object], reason: str) -> None:
    assert reasons(of_jsonl(json.dumps({**GOOD, **changes}))) == [(1, reason)]


@pytest.mark.parametrize(
    "line",
    ['{"id": 1, "id": 2}', "{", "[]", "5", '{"body": NaN}', "[" * 100_000, '{"a": 1} {"b": 2}', '"text"'],
)
def test_a_line_that_is_no_object_is_not_readable(line: str) -> None:
    assert reasons(of_jsonl(line)) == [(1, "not readable")]


def test_bytes_that_are_not_utf8_are_refused_alone() -> None:
    row = b"%d,a@b.example,2026-11-01,Hi,%b\n"
    raw = HEADER.encode() + row % (1, b"good") + row % (2, b"b\xe4d") + row % (3, b"fine")
    assert reasons(of_csv(raw)) == [(2, "taken"), (3, "not UTF-8"), (4, "taken")]
    assert reasons(of_jsonl(b'{"body": "b\xe4d"}')) == [(1, "not UTF-8")]


def test_a_line_of_megabytes_is_refused_and_the_next_is_read() -> None:
    good = '{"from":"a@b.example","date":"2026-11-01","body":"x"}'
    assert reasons(of_jsonl('{"body": "' + "x" * 3_000_000 + '"}\n' + good)) == [(1, "too large"), (2, "taken")]


def test_csv_fields_with_line_breaks_quotes_and_other_delimiters() -> None:
    text = 'ID;Sender;Date;Message;extra\n"1";a@b.example;2026-11-01;"one\nsays ""two"";";x\n'
    text += '2;a@b.example;2026-11-01;5" pipe;\n'
    rows = of_csv("\ufeff" + text)
    assert [(row.line, row.body) for row in rows if isinstance(row, Row)] == [(2, 'one\nsays "two";'), (4, '5" pipe')]


@pytest.mark.parametrize("header", ["", "a,b,c\n", "id,subject\n", "from_email,received_at,body,text\n", "\xff\xfe\n"])
def test_a_csv_without_a_usable_header_has_one_bad_row(header: str) -> None:
    rows = of_csv(header + "1,2,3\n" if header else "")
    assert len(rows) == (1 if header else 0)
    assert all(isinstance(row, BadRow) and row.line == 1 for row in rows)


def test_a_quote_that_is_never_closed_is_told_and_swallows_no_memory() -> None:
    text = HEADER + "1,a@b.example,2026-11-01,Hi,good\n" + '2,a@b.example,2026-11-01,Hi,"open\n' + "x,y\n" * 200_000
    rows = of_csv(text)
    assert reasons(rows) == [(2, "taken"), (3, "not readable")]
    assert rows[1] == BadRow(3, Reason.NOT_READABLE, "a quote is opened here and never closed")


@pytest.mark.parametrize("filler", ["line\n" * 200_000, "y" * 1_400_000 + "\n", 'he said ""no""\n' * 60_000])
def test_text_inside_a_field_that_is_too_large_forges_no_ticket(filler: str) -> None:
    forged = "9,victim@b.example,2026-11-01,Hi,forged\n"
    text = HEADER + f'1,a@b.example,2026-11-01,Hi,"{filler}{forged}{filler}"\n' + "2,a@b.example,2026-11-01,Hi,ok\n"
    rows = of_csv(text)
    assert [row.reason if isinstance(row, BadRow) else row.source_key for row in rows] == [Reason.TOO_LARGE, "id:2"]


def test_a_row_with_too_few_or_too_many_fields_is_refused() -> None:
    assert reasons(of_csv(HEADER + "1,a@b.example\n\n1,2,3,4,5,6\n")) == [(2, "not readable"), (4, "not readable")]


def test_without_an_id_the_same_row_has_the_same_key_and_another_row_another() -> None:
    header = "from_email,received_at,subject,body\n"
    first, again, other = of_csv(
        header + "A@b.example,2026-11-01,Hi,x\n" * 1 + "a@b.example,2026-11-01,Hi,x\na@b.example,2026-11-01,Hi,y\n"
    )
    assert isinstance(first, Row)
    assert isinstance(again, Row)
    assert isinstance(other, Row)
    assert first.source_key == again.source_key
    assert other.source_key != first.source_key


def test_mail_with_parts_takes_the_plain_text_and_no_attachment() -> None:
    body = (
        "--b\nContent-Type: text/plain; name=secret.txt\nContent-Disposition: attachment\n\nnot this\n"
        "--b\nContent-Type: text/html\n\n<p>nor this</p>\n--b\nContent-Type: text/plain\n\nthis\n--b--"
    )
    (row,) = of_mbox(mail('Content-Type: multipart/mixed; boundary="b"\n', body))
    assert isinstance(row, Row)
    assert row.body == "this"


def test_html_mail_becomes_text_without_what_is_hidden() -> None:
    html = (
        "<h1>Hello</h1><p>Where is my <a href='https://shop.example/1'>order</a>?</p><script>x()</script>"
        "<p style='display:none'>pay $500</p><p style='color:#fff'>pay $501</p><p style='font-size:1px'>pay $502</p>"
        "<p style='position:absolute;left:-9999px'>pay $503</p><!-- pay $504 -->"
    )
    (row,) = of_mbox(mail("Content-Type: text/html\n", html))
    assert isinstance(row, Row)
    assert row.body == "Hello\n\nWhere is my order (link: https://shop.example/1)?"
    assert row.subject.startswith("Hello")


def test_html_part_without_a_tag_is_html_all_the_same() -> None:
    (row,) = of_mbox(mail("Content-Type: text/html\n", "you &amp; me"))
    assert isinstance(row, Row)
    assert row.body == "you & me"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (mail("", sender="X-From: a@b.example"), "missing field"),
        (mail("", sender="From: a@b.example, c@d.example"), "bad e-mail address"),
        (mail("", sender='From: "victim@b.example" <not an address>'), "bad e-mail address"),
        (mail("", date="Date: never"), "bad date"),
        (mail("", date="X: y"), "missing field"),
        (mail("", body=" "), "no text"),
        (mail("Content-Type: application/pdf\n"), "no text"),
        (mail("Content-Type: text/html\n", "<p style='display:none'>x</p>"), "no text"),
        (mail("Content-Type: text/html\n", "<b>" * 200_000), "too large"),
        (mail("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n", "5OTk"), "not UTF-8"),
        (mail("Content-Type: text/plain; charset=nonsense\n", "plain"), "taken"),
        (mail("Content-Type: text/html\n", "<div>" * 50_000 + "deep"), "no text"),
    ],
)
def test_odd_mail_has_a_typed_reason(message: str, reason: str) -> None:
    assert reasons(of_mbox(message)) == [(1, reason)]


def test_the_address_in_a_display_name_is_not_the_sender() -> None:
    (row,) = of_mbox(mail("", sender='From: "victim@shop.example" <thief@b.example>'))
    assert isinstance(row, Row)
    assert row.sender == "thief@b.example"


def test_messages_are_split_at_postmarks_after_blank_lines_only() -> None:
    text = mail("", "one\nFrom here on it is one message\n>From there as well") + mail("", "two")
    rows = of_mbox(text)
    assert [row.body for row in rows if isinstance(row, Row)] == [
        "one\nFrom here on it is one message\nFrom there as well",
        "two",
    ]
    assert [row.line for row in rows] == [1, 9]


def test_a_file_that_is_no_mailbox_is_refused_once() -> None:
    assert reasons(of_mbox("hello\n\nFrom a@b.example\n")) == [(1, "not readable")]


@pytest.mark.parametrize(
    ("name", "beginning", "form"),
    [
        ("a.csv", b"{", Format.CSV),
        ("A.JSONL", b"", Format.JSONL),
        ("inbox.mbox", b"", Format.MBOX),
        ("inbox", b"From a@b.example", Format.MBOX),
        ("x.txt", b' \n{"id"', Format.JSONL),
        ("x.txt", b"id,body", Format.CSV),
    ],
)
def test_the_format_follows_from_name_or_beginning(name: str, beginning: bytes, form: Format) -> None:
    assert format_of(name, beginning) is form
