"""Notices by mail, plain and HTML. Several that are due together are one mail."""

import smtplib
from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.validators import validate_email
from django.template.loader import render_to_string
from django.urls import reverse

from approvals.notices.links import site
from approvals.notices.sending import NeverSent, NotSent
from approvals.notices.words import Item, subject_of


def message_id(notice_id: UUID) -> str:
    """Return the Message-ID of the mail that begins with a notice; a repeated mail has it again."""
    return f"<notice.{notice_id.hex}@{urlsplit(site()).hostname or 'localhost'}>"


def send_mail(person: User, items: Sequence[Item], *, waiting: int, key: str) -> None:
    """Send one mail about one or more requests. ``key`` is its Message-ID. Raises NotSent or NeverSent."""
    try:
        validate_email(person.email)
    except ValidationError:
        raise NeverSent("The person has no usable e-mail address.") from None
    subject = subject_of(items)
    said = {
        "items": items,
        "waiting": waiting,
        "subject": subject,
        "queue_url": f"{site()}{reverse('approval_queue')}",
        "preferences_url": f"{site()}{reverse('notice_preferences')}",
    }
    mail = EmailMultiAlternatives(
        subject,
        render_to_string("approvals/notices/mail.txt", said),
        settings.MAIL_FROM,
        [person.email],
        headers={
            "Message-ID": key,
            # Out-of-office replies to it help nobody.
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
        },
    )
    mail.attach_alternative(render_to_string("approvals/notices/mail.html", said), "text/html")
    _send(mail)


def _send(mail: EmailMultiAlternatives) -> None:
    """Neither an address nor a server's own words go into what admins read: both may hold personal data."""
    try:
        mail.send()
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        if codes and min(codes) >= 500:
            raise NeverSent(f"The mail server refused the recipient with code {min(codes)}.") from None
        raise NotSent("The mail server put the recipient off.") from None
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"The mail server answered with code {error.smtp_code}.") from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent(f"The mail server could not be used ({type(error).__name__}).") from None
    except ValueError:
        raise NeverSent("The mail's headers are not allowed.") from None
