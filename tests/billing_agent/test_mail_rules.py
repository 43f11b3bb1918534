from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentops.registry.preview_parts import Mail as MailPart
from agentops.registry.preview_parts import TextChange
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.effect import NewMail
from billing_agent.connectors.mail_rules import plan_discard, plan_mail, plan_recall
from billing_agent.connectors.port import DiscardMail, RecallMail, WriteMail
from billing_agent.connectors.records import Mail, Template
from tests.billing_agent.subscribers import DELETED, NOW, customer, minutes, refusal, rows, snapshot

TEMPLATE = Template(
    "tpl_due", "Payment due", "Invoice {number}", "Dear {name},\ninvoice {number} is due on {day}.", "alice", 3
)
FIELDS = (("number", "INV-000001"), ("name", "Dana Ash"), ("day", "30 November"))
BODY = "Dear Dana Ash,\ninvoice INV-000001 is due on 30 November."
SENT = Mail("ml_1", "sent", "Invoice INV-000001", BODY, "tpl_due", NOW, NOW + minutes(10), None, 1)
DRAFT = Mail("ml_2", "draft", "Invoice INV-000001", BODY, "tpl_due", NOW, None, None, 1)


def mail(fields: tuple[tuple[str, str], ...] = FIELDS, *, send: bool = True) -> WriteMail:
    return WriteMail("tpl_due", fields, send)


def with_day(text: str) -> tuple[tuple[str, str], ...]:
    return (*FIELDS[:2], ("day", text))


def asked(**fields: Any) -> Any:
    return snapshot(**{"subscription": None, "template": TEMPLATE} | fields)


def test_a_mail_goes_to_the_customers_own_address_and_leaves_after_ten_minutes() -> None:
    effect = plan_mail(asked(), mail())
    ref = effect.result["mail_id"]
    assert ref.startswith("ml_")
    assert effect.new_mail == NewMail(ref, "tpl_due", 3, "Invoice INV-000001", BODY, NOW + minutes(10))
    assert effect.preview.effect == "Send the mail Payment due to Dana Ash at dana@example.com"
    assert effect.preview.target == "customer:cu_dana"
    assert effect.preview.versions == {"customer:cu_dana": 4, "template:tpl_due": 3}
    assert effect.preview.parts == (
        MailPart("the billing desk", ("dana@example.com",), (), "Invoice INV-000001", BODY),
    )
    assert rows(effect) == [
        ("Mail", "", "leaves after 10 minutes; until then it can be recalled"),
        ("{number}", "", "INV-000001"),
        ("{name}", "", "Dana Ash"),
        ("{day}", "", "30 November"),
    ]
    assert effect.result == {
        "mail_id": ref,
        "template_id": "tpl_due",
        "status": "sent",
        "release_at": "2026-11-16T09:40:00.000000Z",
    }


def test_a_draft_leaves_never() -> None:
    effect = plan_mail(asked(), mail(send=False))
    assert effect.new_mail is not None
    assert effect.new_mail.release_at is None
    assert effect.preview.effect == "Keep a draft of the mail Payment due to Dana Ash; nothing is sent"
    assert rows(effect)[0] == ("Mail", "", "kept as a draft")
    assert (effect.result["status"], effect.result["release_at"]) == ("draft", "")


def test_the_preview_is_the_same_later_and_with_a_key() -> None:
    later = asked(now=NOW + timedelta(days=2), key="operation-2")
    assert plan_mail(asked(key=""), mail()).preview == plan_mail(later, mail()).preview


def test_a_value_that_looks_like_a_gap_is_text() -> None:
    effect = plan_mail(asked(), mail(with_day("{name} {other}")))
    assert effect.new_mail is not None
    assert effect.new_mail.body == "Dear Dana Ash,\ninvoice INV-000001 is due on {name} {other}."


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"customer": None}, ("NOT_FOUND", "Nobody with this address is a customer.", "customer_id")),
        ({"customer": DELETED}, ("CONFLICT", "Dana Ash is deleted; nothing new is begun for them.", "customer_id")),
        ({"customer": customer(email=" ")}, ("CONFLICT", "Dana Ash has no e-mail address that can be used.", None)),
        (
            {"customer": customer(email="dana@example.com\nBcc: erin@example.com")},
            ("CONFLICT", "Dana Ash has no e-mail address that can be used.", None),
        ),
        ({"template": None}, ("NOT_FOUND", "There is no such template of this customer.", "template_id")),
        (
            {"template": replace(TEMPLATE, reviewed_by="")},
            ("CONFLICT", "Nobody has reviewed the template Payment due.", "template_id"),
        ),
        (
            {"template": replace(TEMPLATE, body="{name} {number} {day} {not a gap}")},
            ("CONFLICT", "The template Payment due has a brace that belongs to no gap.", "template_id"),
        ),
        (
            {"template": replace(TEMPLATE, subject="{number} " + "x" * 295)},
            ("VALIDATION", "The subject would be longer than 300 characters.", "fields"),
        ),
    ],
)
@pytest.mark.parametrize("send", [True, False])
def test_a_mail_is_refused(fields: dict[str, Any], expected: tuple[str, str, str | None], *, send: bool) -> None:
    assert refusal(lambda: plan_mail(asked(**fields), mail(send=send))) == expected


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (FIELDS[:2], "The template also asks for: day."),
        ((), "The template also asks for: number, name, day."),
        ((*FIELDS, ("link", "x")), "The template asks for these and no others: number, name, day."),
        ((*FIELDS, ("day", "1 December")), "A gap is filled once."),
        ((*FIELDS[:2], ("Day", "1 December")), "The template also asks for: day."),
        (with_day(" "), "The gap day is filled with nothing."),
        (with_day("x" * 301), "The text for day has more than 300 characters."),
    ],
)
def test_every_gap_is_filled_once_and_nothing_else(fields: tuple[tuple[str, str], ...], words: str) -> None:
    assert refusal(lambda: plan_mail(asked(), mail(fields))) == ("VALIDATION", words, "fields")


@pytest.mark.parametrize(
    "character",
    [
        *"\n\r\t\v\f\0\x1b\x7f\x85",
        "\u2028",
        "\u2029",
        *"\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u061c",
        *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
        *"\u034f\u115f\u1160\u17b4\u180e\u2800\u3164\uffa0\ufe0f\U000e0101\U000e0041",
        "\ue000",
        "\ud800",
        "\uffff",
    ],
    ids=ascii,
)
def test_a_value_is_one_line_of_characters_that_can_be_seen(character: str) -> None:
    assert refusal(lambda: plan_mail(asked(), mail(with_day(f"30{character}November")))) == (
        "VALIDATION",
        "The text for day is not one line of characters that can be seen.",
        "fields",
    )


def test_names_and_amounts_of_any_language_are_fine() -> None:
    for text in ("Jürgen Müller-Öztürk", "عمر", "山田太郎", "12.00\u00a0€", "x" * 300):
        effect = plan_mail(asked(), mail(with_day(text)))
        assert effect.new_mail is not None
        assert effect.new_mail.body.endswith(f"is due on {text}.")


@settings(max_examples=150)
@given(st.text(max_size=40))
def test_whatever_is_filled_in_the_mail_keeps_the_lines_of_its_template(text: str) -> None:
    try:
        effect = plan_mail(asked(), mail(with_day(text)))
    except ToolFailure:
        return
    assert effect.new_mail is not None
    assert effect.new_mail.body.splitlines() == ["Dear Dana Ash,", f"invoice INV-000001 is due on {text}."]


def test_a_template_without_gaps_takes_no_fields() -> None:
    plain = asked(template=replace(TEMPLATE, subject="Thank you", body="We got it."))
    assert plan_mail(plain, mail(())).preview.parts[0] == MailPart(
        "the billing desk", ("dana@example.com",), (), "Thank you", "We got it."
    )
    assert refusal(lambda: plan_mail(plain, mail(FIELDS[:1])))[1] == (
        "The template asks for these and no others: none."
    )


def test_a_mail_is_recalled_until_it_leaves() -> None:
    effect = plan_recall(asked(template=None, mail=SENT, now=NOW + minutes(9)), RecallMail("ml_1"))
    assert effect.recalls_mail
    assert effect.preview.effect == "Recall the mail to Dana Ash before it leaves"
    assert effect.preview.versions == {"customer:cu_dana": 4, "mail:ml_1": 1}
    assert effect.preview.parts == (TextChange("Invoice INV-000001", BODY, ""),)
    assert rows(effect) == [("Mail", "waits to leave", "recalled")]
    assert effect.result == {"mail_id": "ml_1", "template_id": "tpl_due", "status": "recalled"}


@pytest.mark.parametrize(
    ("found", "now", "expected"),
    [
        (SENT, NOW + minutes(10), ("CONFLICT", "The mail has left; it could be recalled for 10 minutes.", "mail_id")),
        (replace(SENT, recalled_at=NOW), NOW, ("CONFLICT", "The mail was recalled before.", "mail_id")),
        (DRAFT, NOW, ("CONFLICT", "The mail is a draft, which is discarded and not recalled.", "mail_id")),
        (None, NOW, ("NOT_FOUND", "There is no such mail of this customer.", "mail_id")),
    ],
)
def test_what_has_left_or_is_none_is_not_recalled(found: Mail | None, now: Any, expected: Any) -> None:
    assert refusal(lambda: plan_recall(asked(mail=found, now=now), RecallMail("ml_1"))) == expected


def test_a_draft_is_deleted_also_for_a_deleted_customer() -> None:
    effect = plan_discard(asked(mail=DRAFT, customer=DELETED), DiscardMail("ml_2"))
    assert effect.discards_mail
    assert effect.preview.effect == "Delete the draft of a mail to Dana Ash"
    assert rows(effect) == [("Draft", "Invoice INV-000001", "")]
    assert effect.result == {"mail_id": "ml_2", "template_id": "tpl_due", "status": "discarded"}


def test_only_a_draft_is_deleted() -> None:
    assert refusal(lambda: plan_discard(asked(mail=SENT), DiscardMail("ml_1"))) == (
        "CONFLICT",
        "Only a draft is discarded; a mail that was sent can be recalled until it leaves.",
        "mail_id",
    )
    assert refusal(lambda: plan_discard(asked(mail=None), DiscardMail("ml_1")))[0] == "NOT_FOUND"
