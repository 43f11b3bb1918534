"""From sentences to wishes (pure): what is asked of a billing desk, in whose words, about which invoices."""

import re
from dataclasses import dataclass
from enum import StrEnum

from agentops.registry.offline.hits import Hit, is_negated, spans
from agentops.registry.offline.text import sentences


class WishKind(StrEnum):
    """What somebody can want from a billing desk."""

    REFUND = "refund"
    CREDIT = "credit"
    CORRECTION = "correction"
    VOID = "void"
    RETRY = "retry"
    CHANGE = "change"
    CANCEL = "cancel"
    KEEP = "keep"
    PAUSE = "pause"
    RESUME = "resume"
    TAX_OFF = "tax off"
    OTHER_CURRENCY = "other currency"
    OTHER_DETAILS = "other details"
    DECLINED = "declined"
    DUE = "due"
    COPY = "copy"
    WHY = "why"
    TAX = "tax"
    BALANCE = "balance"


QUESTIONS = frozenset({WishKind.DECLINED, WishKind.DUE, WishKind.COPY, WishKind.WHY, WishKind.TAX, WishKind.BALANCE})


@dataclass(frozen=True)
class Wish:
    """``words`` begin at the verb or noun; ``before`` is the text in front of it that may say what it is about.

    ``invoices`` are numbers or ids as they are stored.
    """

    kind: WishKind
    words: str
    before: str
    invoices: tuple[str, ...]

    @property
    def all_words(self) -> str:
        """Everything that belongs to the wish."""
        return f"{self.before} {self.words}".strip()


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_INVOICE = r"(?:invoices?|bills?|receipts?|(?:INV|in)[-_]\w+)"
_SUBSCRIBED = r"(?:subscriptions?|memberships?|plans?|accounts?)"
_CURRENCY = r"(?:dollars?|euros?|pounds?|yen|usd|eur|gbp|jpy)"
_HITS: tuple[tuple[WishKind, re.Pattern[str]], ...] = (
    (
        WishKind.REFUND,
        _words(
            r"\brefund(?:ed)?\b(?!\s+polic)",
            r"\breimburse(?:d|ment)?\b",
            r"\bmoney back\b",
            r"\b(?:give|pay|send)\b(?:\W+(?!invoice)\w+){1,5}?\W+back\b",
            r"\b(?:charged|billed|paid)\b(?:\W+\w+){0,3}?\W+(?:twice|double|two times)\b",
            r"\bdouble[- ]?(?:charged?|billed)\b",
            r"\bduplicate (?:charge|payment)\b",
        ),
    ),
    (
        WishKind.VOID,
        _words(rf"\b(?:cancel|void|withdraw|take back)\b(?:\W+(?:the|this|that|my|our|invoice))*\W+{_INVOICE}"),
    ),
    (
        WishKind.CORRECTION,
        _words(
            rf"\b(?:correct|fix|amend|change|adjust)\b(?:\W+\w+){{0,3}}?\W+{_INVOICE}",
            r"\blists?\b(?:\W+\w+){0,3}?\W+twice\b",
            r"\bovercharged\b",
        ),
    ),
    (
        WishKind.BALANCE,
        _words(
            r"\bwhat (?:do|did) (?:i|we) owe\b",
            r"\bhow much (?:do|did) (?:i|we) owe\b",
            r"\b(?:my|our|the) (?:account )?balance\b",
            r"\b(?:have|any|some) (?:\w+ ){0,2}credit\b(?! card)",
            r"\bbeen billed (?:so far|this|until|altogether)\b",
            rf"\b(?:list|overview|all)\b(?: \w+){{0,2}} {_INVOICE}",
        ),
    ),
    (
        WishKind.CREDIT,
        _words(
            r"\b(?:goodwill|compensat(?:e|ion)|gesture|voucher)\b",
            r"\bcredits?\b(?! ?(?:card|left|limit)|\s+(?:on|with|that))",
        ),
    ),
    (
        WishKind.RETRY,
        _words(
            r"\bretry\b",
            r"\btry\b(?:\W+\w+){0,5}?\W+(?:again|once more)\b",
            r"\bcharge\b(?:\W+\w+){0,6}?\W+(?:again|now|once more)\b",
            r"\b(?:take|collect) the payment\b",
            r"\bhas a new card\b",
        ),
    ),
    (
        WishKind.KEEP,
        _words(rf"\bkeep\b(?:\W+\w+){{0,3}}?\W+{_SUBSCRIBED}", r"\b(?:undo|revoke) (?:the|my|our) cancellation\b"),
    ),
    (WishKind.RESUME, _words(r"\b(?:resume|unpause|reactivate)\b")),
    (WishKind.PAUSE, _words(r"\bpaus(?:e|ing)\b", r"\bon hold\b", r"\bsuspend\b")),
    (
        WishKind.CHANGE,
        _words(
            r"\b(?:downgrade|upgrade)\b(?! ?(?:fee|path))",
            r"\b(?:switch|move|change)\b(?:\W+\w+){0,6}?\W+(?:to|from)\b",
            r"\b(?:raise|increase|reduce|lower)\b(?:\W+\w+){0,6}?\W+(?:to|by)\s+\d",
            r"\badd\b(?:\W+\w+){0,3}?\W+(?:seats?|buyers?|licen[cs]es?|users?)\b",
        ),
    ),
    (
        WishKind.CANCEL,
        _words(
            rf"\b(?:cancel|terminate|end|stop)\b(?:\W+\w+){{0,4}}?\W+{_SUBSCRIBED}\b", r"\bunsubscribe\b", r"\bcancel\b"
        ),
    ),
    (
        WishKind.TAX_OFF,
        _words(
            r"\b(?:take|remove|drop|strip|leave)\b(?:\W+\w+){0,4}?\W+(?:tax|vat)\b",
            r"\bwithout (?:sales )?(?:tax|vat)\b",
        ),
    ),
    (
        WishKind.OTHER_CURRENCY,
        _words(
            r"\b(?:wrong|another|different|other) currency\b",
            rf"\b(?:bill|invoice|charge)\b(?:\W+\w+){{0,3}}?\W+in\W+(?:us )?{_CURRENCY}\b",
        ),
    ),
    (
        WishKind.OTHER_DETAILS,
        _words(
            r"\b(?:new|our|my|billing|another|change|update)\s+(?:\w+ )?(?:address|(?:vat|tax) number|company name)\b",
            r"\b(?:update|change)\b(?:\W+\w+){0,3}?\W+(?:card|e-?mail|address|name)\b",
        ),
    ),
    (
        WishKind.DECLINED,
        _words(
            r"\bpayment\b(?:\W+\w+){0,6}?\W+(?:failed|declined|rejected|bounced)\b",
            r"\b(?:card|payment) (?:was|is|got|has been) (?:declined|rejected|refused)\b",
            r"\breminders?\b",
            r"\b(?:is|are) still unpaid\b",
            # As the calendar's run puts it (connectors/dunning.py).
            r"\bis open, and (?:every attempt was declined|the card\b|no further attempt\b)",
            r"\bcould not be charged\b",
        ),
    ),
    (
        WishKind.DUE,
        _words(
            r"\bwhen\b(?:\W+\w+){0,6}?\W+(?:due|payable)\b",
            r"\bdue date\b",
            r"\b(?:until|by) when\b",
        ),
    ),
    (
        WishKind.COPY,
        _words(
            rf"\b(?:send|resend|forward|email|e-mail|get|have)\b(?:\W+\w+){{0,5}}?\W+{_INVOICE}",
            rf"\bcop(?:y|ies)\b(?:\W+\w+){{0,3}}?\W+{_INVOICE}",
        ),
    ),
    (
        WishKind.TAX,
        _words(r"\bno (?:sales )?(?:tax|vat)\b", r"\bwhy\b(?:\W+\w+){0,6}?\W+(?:tax|vat)\b", r"\btax[- ]exempt\b"),
    ),
    (
        WishKind.WHY,
        _words(
            rf"\bwhy\b(?:\W+\w+){{0,8}}?\W+(?:{_INVOICE}|charged?|billed|pay(?:ing)?|higher|more|so much)",
            rf"\b(?:explain|understand)\b(?:\W+\w+){{0,4}}?\W+(?:{_INVOICE}|charge)",
            r"\bwhat (?:is|was) (?:this|that|the) (?:charge|invoice)\b",
            rf"\bwhat\b(?:\W+\w+){{0,3}}?\W+{_INVOICE}(?:\W+\w+){{0,4}}?\W+for\b",
        ),
    ),
)
_PLEASE = re.compile(r"\b(?:please|kindly)\b", re.IGNORECASE)
_WOULD_YOU = re.compile(r"\b(?:could|can|would|will) you\W*\Z", re.IGNORECASE)
_ASKED = re.compile(r"\b(?:why|when|how|what|did|does)\b[^.?!;]{0,60}\Z", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(?:you|they)(?:'ve|'d|'ll| have| had| will| just| already| then| tried to| \w+ed to){0,3}\W*\Z"
    r"|\b(?:i|we)(?:'ve|'d| have| had| already| just)+\W*\Z",
    re.IGNORECASE,
)
_TWICE = re.compile(r"\b(?:twice|double|two times|duplicate)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b(?P<number>[A-Z]{2,8}-\d{4,12}|(?i:inv)[- ]?\d{3,12})\b|\b(?P<id>in_[0-9A-Za-z]{3,60})\b")
_SAYS_MORE = frozenset(
    {
        (WishKind.CREDIT, WishKind.CHANGE),
        (WishKind.CREDIT, WishKind.REFUND),
        (WishKind.CREDIT, WishKind.CORRECTION),
        (WishKind.CREDIT, WishKind.CREDIT),
        (WishKind.CORRECTION, WishKind.CORRECTION),
        (WishKind.CORRECTION, WishKind.OTHER_CURRENCY),
        (WishKind.REFUND, WishKind.REFUND),
        (WishKind.REFUND, WishKind.CANCEL),
        (WishKind.BALANCE, WishKind.BALANCE),
        (WishKind.BALANCE, WishKind.COPY),
        (WishKind.COPY, WishKind.BALANCE),
        (WishKind.DECLINED, WishKind.DECLINED),
        (WishKind.DECLINED, WishKind.RETRY),
        (WishKind.TAX, WishKind.TAX_OFF),
        (WishKind.OTHER_CURRENCY, WishKind.OTHER_CURRENCY),
        (WishKind.DUE, WishKind.DUE),
        (WishKind.WHY, WishKind.WHY),
        (WishKind.CHANGE, WishKind.CHANGE),
        (WishKind.RETRY, WishKind.RETRY),
        (WishKind.PAUSE, WishKind.PAUSE),
        (WishKind.CANCEL, WishKind.CANCEL),
        (WishKind.OTHER_DETAILS, WishKind.OTHER_DETAILS),
    }
)
"""A hit of the first kind says more about a wish of the second that stands before it, and is none of its own."""

_IS_CAUSE = frozenset(
    {
        (WishKind.DECLINED, WishKind.RETRY),
        (WishKind.TAX, WishKind.TAX_OFF),
        (WishKind.WHY, WishKind.REFUND),
        (WishKind.WHY, WishKind.CORRECTION),
        (WishKind.WHY, WishKind.TAX),
        (WishKind.WHY, WishKind.DECLINED),
    }
)
"""A wish of the first kind is why the second, which follows it, is asked for."""


def invoices_in(text: str) -> tuple[str, ...]:
    """Return the numbers and ids of invoices in ``text``, as they are stored, each once."""
    found = (
        match["id"] or re.sub(r"(?<=[A-Z])[- ]?(?=\d)", "-", match["number"].upper(), count=1)
        for match in _NUMBER.finditer(text)
    )
    return tuple(dict.fromkeys(found))


def read_wishes(text: str) -> tuple[Wish, ...]:
    """Return the wishes in readable text, in the order in which they stand there."""
    parts = sentences(text)
    hits = _merged([hit for number, part in enumerate(parts) for hit in _hits_in(number, part)])
    return tuple(Wish(hit.kind, *span) for hit, span in zip(hits, spans(hits, parts, invoices_in), strict=True))


def _hits_in(number: int, part: str) -> list[Hit[WishKind]]:
    """Return the hits of a sentence. Of two that overlap, the kind that stands first in ``_HITS`` counts."""
    found: list[tuple[int, int, WishKind]] = []
    for kind, pattern in _HITS:
        for match in pattern.finditer(part):
            before = part[: match.start()]
            if kind not in QUESTIONS and (is_negated(before) or _is_told(match.group(), before)):
                continue
            if not any(match.start() < end and start < match.end() for start, end, _ in found):
                found.append((match.start(), match.end(), kind))
    return [Hit(kind, number, start) for start, _, kind in sorted(found)]


def _is_told(words: str, before: str) -> bool:
    """Whether a hit tells or asks about what happened: "you already refunded ...", "why did you charge it again".

    What happened twice is a complaint, however it is put.
    """
    if _TWICE.search(words) or _PLEASE.search(before):
        return False
    if _ASKED.search(before):
        return True
    return _TOLD.search(before) is not None and _WOULD_YOU.search(before) is None


def _merged(hits: list[Hit[WishKind]]) -> list[Hit[WishKind]]:
    kept: list[Hit[WishKind]] = []
    for hit in hits:
        if any((hit.kind, other.kind) in _SAYS_MORE for other in kept):
            continue
        kept = [other for other in kept if (other.kind, hit.kind) not in _IS_CAUSE]
        kept.append(hit)
    return kept
