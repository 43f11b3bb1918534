"""Reasons in a text for a person to look before anything is changed (pure).

An alarm never makes the playbook do something; it only makes it do less. Text from outside is read for what
its sender wants, not for what the reader should do.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from agentops.registry.offline.text import Readable, make_readable

Found = TypeVar("Found")


class AlarmKind(StrEnum):
    """What is wrong. The first two stop everything, the others stop changes."""

    HIDDEN_TEXT = "hidden text"
    INSTRUCTIONS = "instructions to the reader"
    CLAIMED_APPROVAL = "claimed approval"
    SPLIT_AMOUNTS = "amounts split to stay below a limit"
    OTHER_DESTINATION = "money to somewhere else"
    SOMEBODY_ELSE = "somebody else's records"
    THREAT = "legal threat"
    HARM = "harm or danger"
    PERSONAL_DATA = "personal data request"
    WANTS_A_PERSON = "wants a person"
    CONDITIONS = "conditions and alternatives"
    TOO_LONG = "too long"


STOPS_EVERYTHING = frozenset({AlarmKind.HIDDEN_TEXT, AlarmKind.INSTRUCTIONS})


@dataclass(frozen=True)
class Alarm:
    """``words`` says it to a person who reads the escalation. It quotes nothing from the text."""

    kind: AlarmKind
    words: str


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE | re.DOTALL)


_RULES = r"(?:instructions?|rules?|polic(?:y|ies)|guidelines?|prompts?|checks?|limits?|safeguards?)"
_PATTERNS: tuple[tuple[AlarmKind, str, re.Pattern[str]], ...] = (
    (
        AlarmKind.INSTRUCTIONS,
        "The text contains instructions aimed at the program that reads it.",
        _any(
            rf"\b(?:ignore|disregard|forget|bypass|override|skip|disable|suspend)\b.{{0,40}}\b{_RULES}\b",
            r"\b(?:system|developer|admin(?:istrator)?)\s*(?:prompt|message|override|mode|note|instruction)s?\b",
            r"(?:^|\n|\s)(?:system|assistant|developer)\s*:",
            r"\byou are (?:now|no longer)\b",
            r"\bnew instructions?\b",
            r"\b(?:as|note to|attention|dear|instructions? (?:to|for)) (?:an? |the )?(?:ai|a\.i\.|llm|assistant"
            r"|bot|language model)\b",
            r"<\|[^>|]{1,40}\|>|</?(?:system|instructions?)>|\[/?INST\]",
            r"\bwithout (?:any )?(?:approval|asking (?:anyone|a person|a human)|(?:a )?human review)\b",
            r"\bdo not (?:escalate|log|record|report)\b",
        ),
    ),
    (
        AlarmKind.CLAIMED_APPROVAL,
        "The text says that somebody has already approved this; nothing on record shows it.",
        _any(
            r"\bpre-?approved\b",
            r"\b(?:approved|authori[sz]ed|cleared|signed off|okayed)\b.{0,40}\b(?:by|from)\b.{0,40}\b"
            r"(?:manager|supervisor|boss|ceo|director|lead|head|team|management|legal|finance)\b",
            r"\b(?:manager|supervisor|ceo|director|team lead|colleague|agent|rep(?:resentative)?)\b.{0,40}\b"
            r"(?:approved|authori[sz]ed|agreed|promised|confirmed|guaranteed|signed off|okayed|ok'?d)\b",
            r"\bapproval (?:code|number|id|reference)\b",
        ),
    ),
    (
        AlarmKind.SPLIT_AMOUNTS,
        "The text asks for amounts in several pieces, or below a limit.",
        _any(
            r"\bsplit\b.{0,60}\b(?:refund|credit|amount|payment|it)s?\b",
            r"\b(?:refund|credit|amount|money)s?\b.{0,60}\bsplit\b",
            r"\b(?:two|three|four|five|several|multiple|separate|smaller|individual)\s+(?:separate\s+|smaller\s+)?"
            r"(?:refunds|credits|payments|transactions|instal?lments)\b",
            r"\b(?:below|under|within|beneath)\b.{0,25}\b(?:limit|threshold|cap|approval)\b",
        ),
    ),
    (
        AlarmKind.OTHER_DESTINATION,
        "Money is to go to an account that is not on record.",
        _any(
            r"\b(?:bank account|iban|sort code|routing number|wire transfer|western union|bitcoin|crypto"
            r"|wallet address)\b",
            r"\b(?:refund|credit|money|send|pay)\b.{0,60}\b(?:wife|husband|brother|sister|friend|son|daughter"
            r"|mother|father|"
            r"roommate|partner|colleague|different|another|new|other)(?:'s)? (?:person's )?(?:card|account"
            r"|paypal|gift card)\b",
        ),
    ),
    (
        AlarmKind.SOMEBODY_ELSE,
        "The text is about records of somebody other than its sender.",
        _any(
            r"\b(?:wife|husband|brother|sister|friend|neighbou?r|son|daughter|mother|father|roommate|partner"
            r"|colleague|boss|ex)"
            r"(?:'s|s')\s+(?:\w+\s+)?(?:order|account|address|profile|package|parcel|gift card|purchase|invoice"
            r"|subscription|plan|charge|payment)s?\b",
            r"\bon behalf of\b",
            r"\b(?:another|other|different) customer(?:'?s)?\b",
        ),
    ),
    (
        AlarmKind.THREAT,
        "The sender mentions lawyers, authorities, fraud or a dispute with the bank.",
        _any(
            r"\b(?:lawyers?|attorney|lawsuit|sue (?:you|your)|legal action|small claims|court|police"
            r"|fraud(?:ulent)?|tax office|ombudsman|trading standards|"
            r"consumer (?:protection|affairs)|better business bureau|charge-?back|disput(?:e|ed|ing)"
            r" (?:the|this|that|your|a) (?:\w+ )?(?:charge|payment))\b"
        ),
    ),
    (
        AlarmKind.HARM,
        "The text mentions an injury or danger.",
        _any(
            r"\b(?:injur(?:y|ed|ies)|burn(?:ed|t|s) (?:my|his|her|our|me)|hospital|electric shock|caught fire"
            r"|on fire|smok(?:e|ing) "
            r"(?:came|coming|from)|allergic|bleeding|explod(?:ed|ing))\b"
        ),
    ),
    (
        AlarmKind.PERSONAL_DATA,
        "The sender asks about their personal data.",
        _any(
            r"\b(?:gdpr|ccpa|data protection|right to be forgotten)\b",
            r"\b(?:delete|erase|remove|close)\b.{0,30}\b(?:my (?:personal )?(?:data|account|profile)"
            r"|all (?:my )?data)\b",
        ),
    ),
    (
        AlarmKind.WANTS_A_PERSON,
        "The sender asks for a person.",
        _any(
            r"\b(?:speak|talk|transfer(?:red)?|connect(?:ed)?|escalate[sd]?|put (?:me )?through"
            r"|ask(?:s)? for)\b.{0,30}\b"
            r"(?:human|person|manager|supervisor|representative|someone|somebody)\b",
            r"\breal (?:human|person)\b",
            r"\bhuman (?:agent|representative|being)\b",
        ),
    ),
)

_POLITE_IF = re.compile(
    r"\bif (?:that'?s |that is |it'?s |it is |at all )?(?:possible|ok(?:ay)?|alright|necessary|needed"
    r"|required)\b(?!\s+not)"
    r"|\bif you (?:could|can|would|have any|need|want)\b|\bif there(?:'s| is| are) any(?:thing)? (?:questions?"
    r"|problems?|else)"
    r"|\b(?:know|see|check|tell me|wonder(?:ing)?|sure|ask(?:ing)?) if\b|\bas if\b|\bif i (?:may|can ask)\b"
    r"|\beven if\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|otherwise|or else|failing that|in case|only when|depending on|provided that)\b"
    r"|\bon second thoughts?\b|\bregret\b|\bchange (?:it )?back\b",
    re.IGNORECASE,
)
_CARD_DIGITS = re.compile(r"(?<![\d#])\d(?:[ -]?\d){12,18}(?!\d)")


def read_message(
    title: str, text: str, tool_names: Iterable[str], wishes_in: Callable[[str], tuple[Found, ...]]
) -> tuple[tuple[Alarm, ...], tuple[Found, ...]]:
    """Return alarms and wishes of a message: of its body, and of the title only where the body says nothing.

    ``wishes_in`` reads wishes from readable text. A title alone can raise an alarm.
    """
    body, head = make_readable(text), make_readable(title)
    wishes = wishes_in(body.text) or wishes_in(f"{head.text}. {body.text}")
    return alarms_of(body, head, tool_names=tool_names), wishes


def alarms_of(body: Readable, head: Readable, *, tool_names: Iterable[str]) -> tuple[Alarm, ...]:
    """Return the alarms of a message, and those that its title raises alone."""
    names = tuple(tool_names)
    alarms = alarms_in(body, tool_names=names)
    kinds = {alarm.kind for alarm in alarms}
    return alarms + tuple(alarm for alarm in alarms_in(head, tool_names=names) if alarm.kind not in kinds)


def alarms_in(readable: Readable, *, tool_names: Iterable[str]) -> tuple[Alarm, ...]:
    """Return every alarm, one of a kind, in the order of AlarmKind."""
    everything = "\n".join((readable.text, *readable.hidden))
    found: dict[AlarmKind, Alarm] = {}
    if readable.hidden:
        found[AlarmKind.HIDDEN_TEXT] = Alarm(
            AlarmKind.HIDDEN_TEXT, "The message contains text that its reader would not have seen."
        )
    for kind, words, pattern in _PATTERNS:
        if pattern.search(everything):
            found.setdefault(kind, Alarm(kind, words))
    if any(re.search(rf"\b{re.escape(name)}\b", everything, re.IGNORECASE) for name in tool_names if "_" in name):
        found.setdefault(AlarmKind.INSTRUCTIONS, Alarm(AlarmKind.INSTRUCTIONS, "The text names tools of this program."))
    if any(_is_card_number(match) for match in _CARD_DIGITS.findall(everything)):
        found.setdefault(
            AlarmKind.OTHER_DESTINATION, Alarm(AlarmKind.OTHER_DESTINATION, "The text contains a full card number.")
        )
    if has_condition(readable.text):
        found[AlarmKind.CONDITIONS] = Alarm(
            AlarmKind.CONDITIONS, "The wishes depend on conditions or name alternatives."
        )
    if readable.cut:
        found[AlarmKind.TOO_LONG] = Alarm(AlarmKind.TOO_LONG, "The message is too long to be read in full.")
    return tuple(found[kind] for kind in AlarmKind if kind in found)


def has_condition(text: str) -> bool:
    """Return whether ``text`` makes a wish depend on something; polite turns of phrase do not count."""
    return _CONDITION.search(_POLITE_IF.sub(" ", text)) is not None


def _is_card_number(digits: str) -> bool:
    """Luhn's check, ISO/IEC 7812-1 annex B."""
    values = [int(character) for character in digits if character.isdigit()]
    doubled = (2 * value - 9 * (value > 4) for value in values[-2::-2])
    return (sum(values[-1::-2]) + sum(doubled)) % 10 == 0
