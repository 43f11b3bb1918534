"""A mail as its reader would see it, and as it is (pure).

HTML is never handed to the browser: it is read like the gateway reads it for the model, as text in which every link and
picture is told with its address. The source stands beside it, so nothing depends on that reading.
"""

from agentops.console.marks import Text, plain
from agentops.console.reveal import reveal
from agentops.kernel.markup.page import seen
from agentops.registry.preview_parts import Mail
from approvals.previews.shown import MailShown


def mail_shown(mail: Mail) -> MailShown:
    """Return the mail in both forms, with notes about what its reader would not see."""
    return MailShown(
        heads=[
            ("From", reveal(mail.sender) or plain("not said")),
            ("To", _people(mail.to)),
            *([("Cc", _people(mail.cc))] if mail.cc else []),
            ("Subject", reveal(mail.subject) or plain("(none)")),
        ],
        read=reveal(seen(mail.html).text if mail.html else mail.text) or plain("(empty)"),
        source=reveal(mail.html or mail.text),
        text=reveal(mail.text) if mail.html and mail.text else (),
        notes=list(_notes(mail)),
    )


def unread_of(mail: Mail) -> int:
    """Return how many characters of the HTML are beyond what is read."""
    return seen(mail.html).cut if mail.html else 0


def _people(addresses: tuple[str, ...]) -> Text:
    return reveal(", ".join(addresses)) or plain("nobody")


def _notes(mail: Mail) -> list[str]:
    if not mail.html:
        return []
    read, notes = seen(mail.html), []
    if read.removed:
        parts = "part is" if read.removed == 1 else "parts are"
        notes.append(f"{read.removed} {parts} hidden from a reader of the HTML. Look at the source.")
    if mail.text and read.text.split() != mail.text.split():
        notes.append("The plain text and the HTML do not say the same. Who sees which depends on their program.")
    return notes
