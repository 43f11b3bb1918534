"""Mails from reviewed templates to the customer's own address. Pure."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import timedelta

from agentops.kernel.clock import isoformat
from agentops.registry.preview_parts import Mail as MailPart
from agentops.registry.preview_parts import TextChange
from agentops.registry.tool import Change, Preview
from billing_agent.connectors.checks import known_customer, present_customer, target_of
from billing_agent.connectors.effect import Effect, NewMail, Snapshot, conflict, invalid, missing
from billing_agent.connectors.port import DiscardMail, RecallMail, WriteMail
from billing_agent.connectors.records import Customer, Mail, Template

RECALL_WINDOW = timedelta(minutes=10)
LONGEST_VALUE = 300
LONGEST_SUBJECT = 300
DRAFT = "draft"
SENT = "sent"
SENDER = "the billing desk"

_GAP = re.compile(r"\{([A-Za-z][A-Za-z0-9_]{0,39})\}")
# Controls, formats (bidi and zero-width among them), line and paragraph ends, and what is no character at all.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# What renders as nothing though its category does not say so: joiners, fillers, blanks and variation selectors.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


def plan_mail(snapshot: Snapshot, write: WriteMail) -> Effect:
    """Plan a draft, or a mail that leaves when the recall window is over. Raises ToolFailure."""
    customer, template = present_customer(snapshot), snapshot.template
    if not customer.email.strip() or any(_is_unseen(character) for character in customer.email):
        raise conflict(f"{customer.name} has no e-mail address that can be used.")
    if template is None:
        raise missing("template", "template_id")
    if not template.reviewed_by:
        raise conflict(f"Nobody has reviewed the template {template.name}.", "template_id")
    values = _values(template, write.fields)
    subject, body = _filled(template.subject, values), _filled(template.body, values)
    if len(subject) > LONGEST_SUBJECT:
        raise invalid(f"The subject would be longer than {LONGEST_SUBJECT} characters.", "fields")
    release_at = snapshot.now + RECALL_WINDOW if write.send else None
    ref = snapshot.new_ref("ml")
    if write.send:
        effect = f"Send the mail {template.name} to {customer.name} at {customer.email}"
    else:
        effect = f"Keep a draft of the mail {template.name} to {customer.name}; nothing is sent"
    return Effect(
        preview=Preview(
            effect=effect,
            target=target_of(customer),
            changes=(
                Change("Mail", "", _leaves() if write.send else "kept as a draft"),
                *(Change(f"{{{name}}}", "", value) for name, value in values.items()),
            ),
            versions=snapshot.versions(),
            parts=(MailPart(SENDER, (customer.email,), (), subject, body),),
        ),
        result={
            "mail_id": ref,
            "template_id": template.ref,
            "status": SENT if write.send else DRAFT,
            "release_at": "" if release_at is None else isoformat(release_at),
        },
        new_mail=NewMail(ref, template.ref, template.version, subject, body, release_at),
    )


def plan_recall(snapshot: Snapshot, write: RecallMail) -> Effect:
    """Plan the recall of a mail that has not left."""
    customer, mail = known_customer(snapshot), _mail(snapshot)
    if mail.kind != SENT or mail.release_at is None:
        raise conflict("The mail is a draft, which is discarded and not recalled.", "mail_id")
    if mail.recalled_at is not None:
        raise conflict("The mail was recalled before.", "mail_id")
    if mail.release_at <= snapshot.now:
        raise conflict(f"The mail has left; it could be recalled for {_minutes()}.", "mail_id")
    effect = f"Recall the mail to {customer.name} before it leaves"
    return Effect(
        preview=_taken_back(snapshot, customer, mail, effect, Change("Mail", "waits to leave", "recalled")),
        result={"mail_id": mail.ref, "template_id": mail.template_ref, "status": "recalled"},
        recalls_mail=True,
    )


def plan_discard(snapshot: Snapshot, write: DiscardMail) -> Effect:
    """Plan the deletion of a draft. Nothing was sent."""
    customer, mail = known_customer(snapshot), _mail(snapshot)
    if mail.kind != DRAFT:
        raise conflict("Only a draft is discarded; a mail that was sent can be recalled until it leaves.", "mail_id")
    effect = f"Delete the draft of a mail to {customer.name}"
    return Effect(
        preview=_taken_back(snapshot, customer, mail, effect, Change("Draft", mail.subject, "")),
        result={"mail_id": mail.ref, "template_id": mail.template_ref, "status": "discarded"},
        discards_mail=True,
    )


def gaps_of(template: Template) -> tuple[str, ...]:
    """Return the names of a template's gaps, in the order in which they come.

    Raises ToolFailure CONFLICT for a brace that belongs to no gap.
    """
    text = f"{template.subject}\n{template.body}"
    if set(_GAP.sub("", text)) & set("{}"):
        raise conflict(f"The template {template.name} has a brace that belongs to no gap.", "template_id")
    return tuple(dict.fromkeys(_GAP.findall(text)))


def _values(template: Template, fields: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    gaps, values = gaps_of(template), dict(fields)
    if len(values) != len(fields):
        raise invalid("A gap is filled once.", "fields")
    lacking = [gap for gap in gaps if gap not in values]
    if lacking:
        raise invalid(f"The template also asks for: {', '.join(lacking)}.", "fields")
    if len(values) != len(gaps):
        raise invalid(f"The template asks for these and no others: {', '.join(gaps) or 'none'}.", "fields")
    return {gap: _line(gap, values[gap]) for gap in gaps}


def _line(gap: str, value: str) -> str:
    if not value.strip():
        raise invalid(f"The gap {gap} is filled with nothing.", "fields")
    if len(value) > LONGEST_VALUE:
        raise invalid(f"The text for {gap} has more than {LONGEST_VALUE} characters.", "fields")
    if any(_is_unseen(character) for character in value):
        raise invalid(f"The text for {gap} is not one line of characters that can be seen.", "fields")
    return value


def _is_unseen(character: str) -> bool:
    return (
        unicodedata.category(character) in _UNSEEN
        or character in _BLANK
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _filled(text: str, values: Mapping[str, str]) -> str:
    # In one pass, so that a value that looks like a gap is text and not filled in turn.
    return _GAP.sub(lambda gap: values[gap[1]], text)


def _taken_back(snapshot: Snapshot, customer: Customer, mail: Mail, effect: str, change: Change) -> Preview:
    return Preview(
        effect=effect,
        target=target_of(customer),
        changes=(change,),
        versions=snapshot.versions(),
        parts=(TextChange(mail.subject, mail.body, ""),),
    )


def _mail(snapshot: Snapshot) -> Mail:
    if snapshot.mail is None:
        raise missing("mail", "mail_id")
    return snapshot.mail


def _leaves() -> str:
    return f"leaves after {_minutes()}; until then it can be recalled"


def _minutes() -> str:
    return f"{RECALL_WINDOW // timedelta(minutes=1)} minutes"
