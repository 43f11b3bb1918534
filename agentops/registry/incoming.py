"""What can be recorded as a piece of work (pure): limits and checks that imports and typed requests of roles share."""

import re

from agentops.kernel.errors import AgentOpsError
from agentops.registry.role import Intake

MOST_SUBJECT = 300
MOST_BODY_BYTES = 100 * 1024
MOST_EMAIL = 254

_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_EMAIL = re.compile(rf"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]{{1,64}}@(?:{_LABEL}\.)+[^\W\d_](?:[\w-]{{0,61}}[^\W_])\Z")


class BadIntake(AgentOpsError):
    """A request that cannot be recorded: no address, no text, too much of it, or text that no database holds."""

    code = "BAD_INTAKE"
    next_step = "Correct the field and send it again."


def checked_intake(intake: Intake) -> Intake:
    """Return what somebody typed in as it can be recorded: trimmed, its title on one line. Raises BadIntake."""
    sender, title, text = intake.sender.strip(), " ".join(intake.title.split()), intake.text.strip()
    if not is_email(sender):
        raise BadIntake("The sender is not an e-mail address.")
    if not text:
        raise BadIntake("There is no text.")
    if byte_length(text) > MOST_BODY_BYTES:
        raise BadIntake(f"The text is longer than {MOST_BODY_BYTES} bytes.")
    if any(not is_storable(part) for part in (title, text)):
        raise BadIntake("The text holds characters that cannot be stored.")
    return Intake(sender, subject_of(title, text), text)


def is_email(text: str) -> bool:
    """Return whether ``text`` is one plain address: local part, @, a domain with a dot, nothing around it."""
    return len(text) <= MOST_EMAIL and _EMAIL.match(text) is not None and is_storable(text)


def is_storable(text: str) -> bool:
    """Return whether the database can hold ``text``: no NUL, no half of a surrogate pair."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def byte_length(text: str) -> int:
    """Return the length of ``text`` in UTF-8, also when it could not be stored."""
    return len(text.encode("utf-8", "surrogatepass"))


def subject_of(subject: str, body: str) -> str:
    """Return the subject on one line, or the first words of the body; never empty, at most MOST_SUBJECT long."""
    line = " ".join(subject.split()) or " ".join(body.split()[:8])[:80]
    return line[:MOST_SUBJECT] or "(no subject)"
