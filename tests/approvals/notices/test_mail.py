"""What a mail says, and what it never says."""

import smtplib
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from django.core import mail as outbox
from django.core.mail import EmailMultiAlternatives

from agentops.tenancy.models import Tenant
from approvals.models import ApprovalQueue, ApprovalRequest, Notice, NoticePreference
from approvals.notices.outbox import tell
from tests.approvals.conftest import Stage
from tests.approvals.notices.conftest import Clock, ask, deliver

pytestmark = pytest.mark.django_db


def sent_for(request: ApprovalRequest, clock: Clock, kind: Notice.Kind = Notice.Kind.ASKED) -> EmailMultiAlternatives:
    tell(request, kind, now=clock())
    deliver(clock)
    (sent,) = outbox.outbox
    assert isinstance(sent, EmailMultiAlternatives)
    return sent


def bodies(sent: EmailMultiAlternatives) -> list[str]:
    (html,) = sent.alternatives
    return [str(sent.body), str(html[0])]


@pytest.mark.parametrize("own", [True, False])
def test_mail_says_what_waits_and_until_when(
    mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock, own: bool
) -> None:
    if own:
        NoticePreference.objects.create(person=stage.cast.alice, timezone="Asia/Kolkata")
    else:
        Tenant.objects.update(timezone="Asia/Kolkata")
    sent = sent_for(request_, clock)
    assert sent.subject == f"A request waits for a decision: {request_.code}, consequential"
    for body in bodies(sent):
        for words in (request_.code, "pay", "consequential", "Payments", "IST", "One request waits"):
            assert words in body
        short = request_.digest[:12]
        assert f"{short[:4]} {short[4:8]} {short[8:]}" in body
        assert "https://control.example.com/approvals/notices/link/?t=" in body


def test_mail_holds_nothing_personal_and_nothing_from_outside(mail: None, stage: Stage, clock: Clock) -> None:
    request = ask(
        stage, 123_45, text="Dear Zoltan, <b>approve</b> http://evil.example", rationale="Approved by the boss"
    )
    ApprovalRequest.objects.filter(pk=request.pk).update(
        effect="Refund $123.45 to Dana Ruiz", target="Dana Ruiz", sender="dana@example.org", agent="Evil\nagent"
    )
    sent = sent_for(request, clock)
    text = "\n".join([sent.subject, *bodies(sent), *map(str, sent.extra_headers.values())])
    for word in ("Zoltan", "evil", "Evil", "boss", "Dana", "dana@", "123.45", "12345", "a-1", "w-1"):
        assert word not in text


def test_queue_named_by_somebody_hostile(mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock) -> None:
    name = "Pay\r\nBcc: x@example.org\u202e<script>alert(1)</script>"
    ApprovalQueue.objects.update(name=name)
    sent = sent_for(request_, clock)
    plain, html = bodies(sent)
    assert "<script>" not in html
    assert "Queue     Pay Bcc: x@example.org <script>alert(1)</script>\n" in plain
    read = message_from_bytes(sent.message().as_bytes(), policy=default)
    assert (read["Bcc"], read["To"]) == (None, "alice@example.com")
    assert "\u202e" not in plain + html


def test_headers(mail: None, request_: ApprovalRequest, clock: Clock) -> None:
    sent = sent_for(request_, clock)
    read = message_from_bytes(sent.message().as_bytes(), policy=default)
    notice = Notice.objects.get()
    assert read["Message-ID"] == notice.address == f"<notice.{notice.pk.hex}@control.example.com>"
    assert read["From"] == "Control plane <approvals@example.com>"
    assert read["Auto-Submitted"] == "auto-generated"


@pytest.mark.parametrize("address", ["a@b.example\nBcc: x@example.org", "", "alice", "a@b.example, c@d.example"])
def test_address_that_cannot_be_used_is_given_up(
    mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock, address: str
) -> None:
    tell(request_, Notice.Kind.ASKED, now=clock())
    stage.cast.alice.email = address
    stage.cast.alice.save()
    deliver(clock)
    assert (Notice.objects.get().state, outbox.outbox) == ("failed", [])


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (smtplib.SMTPRecipientsRefused({"x@example.org": (550, b"no such user x@example.org")}), "failed"),
        (smtplib.SMTPRecipientsRefused({"x@example.org": (451, b"later x@example.org")}), "waiting"),
        (smtplib.SMTPAuthenticationError(535, b"bad x@example.org"), "waiting"),
        (smtplib.SMTPServerDisconnected("gone x@example.org"), "waiting"),
        (ConnectionRefusedError("x@example.org"), "waiting"),
    ],
)
def test_what_a_mail_server_says_is_not_repeated(
    mail: None,
    request_: ApprovalRequest,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    state: str,
) -> None:
    def refuse(self: EmailMultiAlternatives, *args: Any) -> int:
        raise error

    monkeypatch.setattr(EmailMultiAlternatives, "send", refuse)
    tell(request_, Notice.Kind.ASKED, now=clock())
    deliver(clock)
    notice = Notice.objects.get()
    assert notice.state == state
    assert notice.last_error
    assert "example.org" not in notice.last_error
