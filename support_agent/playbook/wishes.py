"""From sentences to wishes (pure): what is asked for, in whose words, about which orders.

A wish is found by the verb or noun that carries it. Its words run up to the next wish; what stands before
it in the same sentence is its context ("For order #W1, change ..."). Negated and past forms are no wishes.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from agentops.registry.offline.hits import Hit, is_negated, spans
from agentops.registry.offline.text import sentences


class WishKind(StrEnum):
    """What somebody can want from the desk."""

    CANCEL = "cancel"
    RETURN = "return"
    SWAP = "swap"
    ADDRESS = "address"
    PAYMENT = "payment"
    REFUND = "refund"
    CREDIT = "credit"
    STATUS = "status"
    PRODUCT = "product"
    KNOWLEDGE = "knowledge"


CHANGES = frozenset(
    {
        WishKind.CANCEL,
        WishKind.RETURN,
        WishKind.SWAP,
        WishKind.ADDRESS,
        WishKind.PAYMENT,
        WishKind.REFUND,
        WishKind.CREDIT,
    }
)


@dataclass(frozen=True)
class Wish:
    """``words`` begin at the verb; ``before`` is the text in front of it that may name what it is about.

    ``order_ids`` are as written, in upper case, without ``#``.
    """

    kind: WishKind
    words: str
    before: str
    order_ids: tuple[str, ...]

    @property
    def all_words(self) -> str:
        """Everything that belongs to the wish."""
        return f"{self.before} {self.words}".strip()


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_NOUNS_AFTER = (
    r"(?!\s+(?:policy|policies|label|labels|window|period|shipping|form|process|instructions|fees?|rates?|rules?)\b)"
)
_HITS: tuple[tuple[WishKind, re.Pattern[str]], ...] = (
    (WishKind.CANCEL, _words(rf"\bcancel\b{_NOUNS_AFTER}")),
    (
        WishKind.RETURN,
        _words(rf"(?<!in )\breturn\b{_NOUNS_AFTER}|\b(?:send|ship|give)\b(?:\W+\w+){{1,6}}?\W+back\b|\bsend back\b"),
    ),
    (
        WishKind.SWAP,
        _words(rf"\b(?:exchange|swap|replace|switch|modify|change|upgrade|downgrade)\b{_NOUNS_AFTER}(?!\s+my mind)"),
    ),
    (
        WishKind.ADDRESS,
        _words(r"\b(?:update|correct|fix|edit|redirect)\b|\b(?:ship|send|deliver)\b(?:\W+\w+){0,5}?\W+to\b"),
    ),
    (
        WishKind.REFUND,
        _words(
            r"\brefund(?:ed)?\b(?!\s+(?:polic|take|process))|\breimburse(?:d|ment)?\b|\bmoney back\b"
            r"|\b(?:charged|billed)\b(?:\W+\w+){0,4}?\W+(?:twice|double|two times)\b|\bdouble[- ]?(?:charged?"
            r"|billed)\b|\bovercharged\b"
        ),
    ),
    (
        WishKind.CREDIT,
        _words(
            r"\b(?:goodwill|store credit|voucher|compensat(?:e|ion)|gesture|coupon)\b|\bcredit\b(?!\s*(?:card"
            r"|left|limit))"
        ),
    ),
    (
        WishKind.STATUS,
        _words(
            r"\bwhere(?:'s| is| are)\b|\btrack(?:ing)?\b|\b(?:order )?status\b|\bstill waiting\b"
            r"|\bwhen\b(?:\W+\w+){0,8}?\W+(?:arriv\w*|deliver\w*|ship\w*|com(?:e|ing)|get(?:s|ting)? here)\b"
            r"|\b(?:has|have|is|did)(?:n't| not)?\b(?:\W+\w+){0,5}?\W+(?:shipped|arrived?|left|been sent"
            r"|on its way)\b"
            r"|\b(?:never|not) (?:yet )?(?:arrived?|received|come|shown up|turned up)\b"
        ),
    ),
    (
        WishKind.PRODUCT,
        _words(
            r"\bin stock\b|\bavailab(?:le|ility)\b|\bdo you (?:have|sell|carry|stock)\b"
            r"|\bhow many\b(?:\W+\w+){0,5}?\W+options\b"
            r"|\b(?:what|which) (?:colou?rs|sizes|options|versions|kinds)\b|\bhow much (?:is|are|does|do|for)\b"
            r"|\bprices? (?:of|for)\b"
            r"|\bwhat (?:does|do|would) (?:it|they|that|those|the \w+) cost\b"
        ),
    ),
)
_ADDRESS_NOUN = _words(r"\b(?:address(?:es)?|ship(?:ping)?(?: it| them)? to|deliver(?:y|ed)? to)\b")
_PAYMENT_NOUN = _words(r"\bpayment(?: method)?\b|\b(?:card|method) (?:on|for|of) (?:the|this|my|that) order\b")
_PAST = _words(r"\b(?:you|they|i|we)(?: have|'ve| had)? (?:already |just )?\Z")
_HOW = _words(
    r"\b(?:how|where) (?:do|can|would|should|could|to)\b(?:\W+(?:i|we|one))?\W*\Z|\b(?:can|may|could|am"
    r"|are) (?:i|we)(?: able to)?\W+\Z"
)
_QUESTION = _words(
    r"\?|\A\W*(?:how|what|which|when|where|who|why|do you|does|is there|are there|can i|could i|may i|is it)\b"
    r"|\b(?:(?:want|like|need) to (?:know|understand|find out|ask|check|hear)|i wonder|wondering|curious"
    r"|tell me|let me know)\b.{0,40}\b(?:how|what|which|when|whether|if)\b"
)
_BRACES = re.compile(r"\{[^{}]*\}")
_ORDER_ID = re.compile(
    r"#\s?([A-Za-z]{0,3}-?\d{3,15})\b|\b(?:order|number|no\.?|nr\.?)\W{0,3}(?:number|no\.?|nr\.?|id"
    r"|is)?\W{0,3}([A-Za-z]{0,3}-?\d{3,15})\b|\b([A-Za-z]-?\d{4,15})\b"
)
_SAME_AS = re.compile(r"\bsame as (?:(?:in|on|for|my|the|order)\s+)*#?\s?[A-Za-z]{0,3}-?\d{3,15}", re.IGNORECASE)


def order_ids_in(text: str) -> tuple[str, ...]:
    """Return the order numbers in ``text``, upper case without ``#``, each once; "same as #1" is none."""
    found = ["".join(groups).upper() for groups in _ORDER_ID.findall(_SAME_AS.sub(" ", text))]
    return tuple(dict.fromkeys(found))


def read_wishes(text: str) -> tuple[Wish, ...]:
    """Return the wishes in readable text, in the order in which they stand there."""
    parts = sentences(text)
    every = [hit for number, part in enumerate(parts) for hit in _hits_in(number, part)]
    hits = _merged(every, parts)
    wishes = tuple(Wish(hit.kind, *span) for hit, span in zip(hits, spans(hits, parts, order_ids_in), strict=True))
    return wishes + _questions(parts, {hit.sentence for hit in every})


def _hits_in(number: int, part: str) -> list[Hit[WishKind]]:
    found = []
    part = _BRACES.sub(lambda match: "_" * len(match.group()), part)
    for kind, pattern in _HITS:
        for match in pattern.finditer(part):
            before = part[: match.start()]
            if is_negated(before) and kind not in (WishKind.STATUS, WishKind.PRODUCT):
                continue
            settled = _settled(kind, part, match, before)
            if settled is not None:
                found.append(Hit(settled, number, match.start()))
    return sorted(found, key=lambda hit: hit.start)


def _settled(kind: WishKind, part: str, match: re.Match[str], before: str) -> WishKind | None:
    """Tell the meanings of one verb apart by what follows it."""
    after = part[match.end() : match.end() + 90]
    if kind in (WishKind.CANCEL, WishKind.RETURN) and _HOW.search(before) and not order_ids_in(part):
        return WishKind.KNOWLEDGE
    if kind is WishKind.REFUND and re.search(r"\b(?:when|how long|where)\b", before, re.IGNORECASE):
        return WishKind.KNOWLEDGE
    if kind is WishKind.SWAP:
        nearest = re.split(r"[.;]|\b(?:and|to|from|for)\b", after)[0]
        if _PAYMENT_NOUN.search(nearest):
            return WishKind.PAYMENT
        if _ADDRESS_NOUN.search(nearest) or (
            _ADDRESS_NOUN.search(after) and re.match(r"\W*(?:the|my|its|all|order|#|both)\b", after)
        ):
            return WishKind.ADDRESS
        return WishKind.SWAP
    if kind is WishKind.ADDRESS:
        if _PAYMENT_NOUN.search(after[:40]):
            return WishKind.PAYMENT
        sends = re.match(r"(?:ship|send|deliver)", match.group(), re.IGNORECASE)
        known = re.search(r"\d.*[A-Za-z]|\baddress\b", after) if sends else re.search(r"\baddress", after)
        return WishKind.ADDRESS if known and not _PAST.search(before) else None
    return kind


def _merged(hits: list[Hit[WishKind]], parts: list[str]) -> list[Hit[WishKind]]:
    """Drop what only says more about the wish before it: the refund of a return, the status of a late refund."""
    kept: list[Hit[WishKind]] = []
    for hit in hits:
        last = kept[-1] if kept else None
        near = last is not None and hit.sentence - last.sentence <= 1
        if last is not None and hit.kind is WishKind.REFUND:
            own = re.search(
                r"twice|double|overcharged|damaged|broken|missing|faulty|late\b|[$]\s?\d",
                parts[hit.sentence][hit.start - 60 if hit.start > 60 else 0 :],
                re.I,
            )
            if near and last.kind in (WishKind.REFUND, WishKind.CREDIT):
                continue
            if last.kind in (WishKind.RETURN, WishKind.CANCEL, WishKind.SWAP) and not own:
                continue
        if last is not None and near and (hit.kind, last.kind) in _SAYS_MORE:
            continue
        if (
            last is not None
            and hit.kind is last.kind
            and hit.kind in (WishKind.STATUS, WishKind.PRODUCT, WishKind.CREDIT)
            and near
        ):
            continue
        kept.append(hit)
    return _without_causes(kept)


_SAYS_MORE = {
    (WishKind.CREDIT, WishKind.REFUND),
    (WishKind.CREDIT, WishKind.PAYMENT),
    (WishKind.PRODUCT, WishKind.SWAP),
    (WishKind.PRODUCT, WishKind.STATUS),
    (WishKind.ADDRESS, WishKind.ADDRESS),
    (WishKind.KNOWLEDGE, WishKind.KNOWLEDGE),
}


def _without_causes(hits: list[Hit[WishKind]]) -> list[Hit[WishKind]]:
    """Drop "it never arrived" where it is why a refund is asked for."""
    return [
        hit
        for index, hit in enumerate(hits)
        if not (
            hit.kind is WishKind.STATUS
            and index + 1 < len(hits)
            and hits[index + 1].kind in (WishKind.REFUND, WishKind.CREDIT)
        )
    ]


def _questions(parts: list[str], taken: set[int]) -> tuple[Wish, ...]:
    """Return the sentences that ask something and carry no other wish."""
    return tuple(
        Wish(WishKind.KNOWLEDGE, part, "", ())
        for number, part in enumerate(parts)
        if number not in taken and _QUESTION.search(part) and len(part) > 8
    )
