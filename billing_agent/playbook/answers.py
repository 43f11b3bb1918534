"""What a customer is told (pure): a letter is a reviewed template with its gaps filled."""

from dataclasses import dataclass
from datetime import date, datetime

from agentops.registry.offline.ending import cut
from agentops.registry.offline.outcomes import Said
from billing_agent.connectors.mail_rules import LONGEST_VALUE

REASONS = {
    "insufficient_funds": "there was not enough money on the account",
    "expired_card": "the card has expired",
    "do_not_honor": "the bank gave no reason",
    "lost_or_stolen": "the card was reported lost or stolen",
    "incorrect_cvc": "the security code was wrong",
    "processing_error": "something went wrong at the bank",
    "authentication_required": "you have to confirm the payment with your bank",
}


@dataclass(frozen=True)
class Letter:
    """Which template, and what stands in its gaps."""

    template_id: str
    fields: tuple[tuple[str, str], ...]

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of ``send_email``."""
        rows = [{"name": name, "value": value} for name, value in self.fields]
        return {"template_id": self.template_id, "fields": rows}


@dataclass(frozen=True)
class Answer(Said):
    """An answer that a letter gives."""

    letter: Letter


def letter(template_id: str, **fields: str) -> Letter:
    """Return the letter; what is too long for a gap is cut."""
    return Letter(template_id, tuple((name, cut(value, LONGEST_VALUE)) for name, value in fields.items()))


def day(moment: date | datetime | None) -> str:
    """Return a day as people write it, for example ``1 December 2026``."""
    return f"{moment.day} {moment:%B %Y}" if moment is not None else "no certain day"


def reason_words(decline_code: str) -> str:
    """Return why a bank declined, in words for the customer."""
    return REASONS.get(decline_code, "the bank gave no reason that we know")
