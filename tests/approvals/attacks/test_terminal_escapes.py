"""Terminal escapes: named on pages, and neither they nor anything else from outside is in mail and chat."""

import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core import mail as outbox
from django.test import Client
from django.utils import timezone

from agentops.registry.preview_parts import Command, Mail, TextChange
from approvals.models import ApprovalQueue, ApprovalRequest, Notice
from approvals.notices import slack
from approvals.notices.mail import send_mail
from approvals.notices.words import item_of
from tests.approvals.conftest import Stage, page_url, queue_url
from tests.factories.pages import page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

ESCAPES = {
    "clear the screen": "\x1b[2J\x1b[H",
    "colour like the ground": "\x1b[8;30;40m",
    "change the title": "\x1b]0;Approved\x07",
    "hyperlink": "\x1b]8;;https://evil.example\x1b\\shop.example\x1b]8;;\x1b\\",
    "eight bit": "\x9b2J",
    "back space": "Pay 900\x08\x08\x08100",
    "carriage return": "Pay 900 to eve\rPay 100 to ann",
    "device control": "\x90q#0\x9c",
    "bell and delete": "\x07\x7f",
}
CONTROLS = {chr(n) for n in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}


def attacked(base: ApprovalRequest, text: str) -> ApprovalRequest:
    parts = [Mail("desk", ("d@x",), (), text, text), Command("web-1", line=text), TextChange("Note", text, f"{text}!")]
    return rewritten(
        base,
        effect=text,
        target=f"customer:{text}",
        agent=text,
        arguments={"note": text},
        preview={"changes": [["Note", "", text]], "parts": [part.as_json() for part in parts]},
        rationale=text,
        subject_title=text,
        subject_text=text,
        sender=text,
    )


def test_escapes_are_named_on_pages(stage: Stage, alice: Client, subtests: pytest.Subtests) -> None:
    base = stage.ask()
    for which, text in ESCAPES.items():
        with subtests.test(which):
            request = attacked(base, text)
            first = next(c for c in text if c in CONTROLS or c == "\r")
            page = page_of(alice, page_url(request))
            assert not set(page.body) & CONTROLS
            assert not set(page_of(alice, queue_url(bucket="turn")).body) & CONTROLS
            for section in ("h-args", "h-change", "h-evidence"):
                assert f"U+{ord(first):04X}" in page.section(section), section
            for part in ("part-1", "part-2", "part-3"):
                assert f"U+{ord(first):04X}" in page.by_id(part), part


def test_mail_and_chat_hold_none(stage: Stage, settings: Any, subtests: pytest.Subtests) -> None:
    base = stage.ask()
    for which, text in ESCAPES.items():
        with subtests.test(which):
            settings.SITE_URL = "https://control.example.com/"
            settings.MAIL_FROM = "Control plane <approvals@example.com>"
            request = attacked(base, text)
            ApprovalQueue.objects.update(name=f"Pay {text}"[:80])
            ApprovalRequest.objects.update(tool=f"pay{text}"[:80])
            Notice.objects.all().delete()
            now = timezone.now()
            notice = Notice(
                request=ApprovalRequest.objects.get(pk=request.pk), kind=Notice.Kind.ASKED, person=stage.cast.alice
            )
            item = item_of(notice, ZoneInfo("UTC"), now)
            send_mail(stage.cast.alice, [item], waiting=1, key="<x@example.com>")
            sent = outbox.outbox[-1]
            said = [str(sent.subject), str(sent.body), *(str(part[0]) for part in sent.alternatives)]  # type: ignore[attr-defined]
            said += [item.link, json.dumps(slack._content(item, 1), ensure_ascii=False)]
            for words in said:
                assert not set(words) & CONTROLS
                assert "\r" not in words
