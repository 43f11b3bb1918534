"""What the drill's planners propose, and which of it leads past which crash point (pure).

A script is a list of steps; the word of a step tells the vendor, as the magic card numbers of a payment sandbox
do, how to misbehave at the first calls, one word a call. An amount tells the person what to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentops.kernel.crashpoints import CrashPoint
from agentops.registry.drill import Verdict

ASKED_ABOVE = 2_500
REJECTED = 6_666
IGNORED = 7_777
ASKED_ABOUT = 5_555
EDITED = 8_888
CHANGED_TO = 2_700
"""What the person makes of an amount that they edit. It still asks."""


_SAID = {
    REJECTED: Verdict.REJECTED,
    IGNORED: Verdict.IGNORED,
    ASKED_ABOUT: Verdict.ASKED,
    EDITED: Verdict.EDITED,
}


def verdict_on(tool: str, arguments: Mapping[str, Any]) -> Verdict:
    """Return what the person does about a call, which its amount says."""
    return _SAID.get(arguments.get("minor", 0), Verdict.APPROVED)


def edited(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the person makes of a call that they change."""
    return {**arguments, "minor": CHANGED_TO}


@dataclass(frozen=True)
class Step:
    """A call of ``tool``; reads have neither amount nor words.

    ``words``: faults, one for each attempt; after a bar those of the call that takes it back.
    """

    tool: str
    minor: int = 0
    words: str = ""


def _begun(minor: int = 300, words: str = "") -> tuple[Step, ...]:
    """Return the first steps of an order, which are taken back when it is not shipped."""
    return Step("reserve"), Step("charge", minor, words)


_LOOK = Step("look")
_NOTE = Step("note")
# Calls that work: a breaker opens after five failures in a row, and most work would then only wait for it.
_PAY = Step("pay", 100)
_POST = Step("post")

SCRIPTS: Mapping[str, tuple[Step, ...]] = {
    "plain": (_LOOK, _NOTE, Step("pay", 900)),
    "reads": (_LOOK, _LOOK, _NOTE),
    "approved": (_LOOK, Step("pay", 4_000), _NOTE),
    "rejected": (Step("pay", REJECTED),),
    "expired": (Step("pay", IGNORED),),
    "asked": (_LOOK, Step("pay", ASKED_ABOUT), _NOTE),
    "edited": (_LOOK, Step("pay", EDITED), _NOTE),
    "busy": (_PAY, Step("pay", 700, "busy"), Step("note", 0, "down"), _PAY),
    "silent": (_PAY, Step("pay", 800, "silent"), _PAY),
    "late": (_PAY, Step("pay", 600, "late"), _PAY),
    "broken": (Step("note", 0, "broken_before"), Step("pay", 500, "broken_after"), _PAY),
    "approved_silent": (_PAY, Step("pay", 5_000, "silent"), _PAY),
    "keyless": (_LOOK, _POST, _NOTE, _POST),
    "keyless_silent": (_POST, _NOTE, _POST, Step("post", 0, "silent")),
    "keyless_busy": (_POST, Step("post", 0, "busy"), _POST),
    "keyless_broken": (_POST, _NOTE, _POST, Step("post", 0, "broken_after")),
    "refused": (_NOTE, Step("pay", 400, "refused")),
    "order": (_LOOK, *_begun(), Step("ship")),
    "order_refused": (*_begun(), Step("ship", 0, "refused")),
    "order_refused_asked": (*_begun(4_500), Step("ship", 0, "refused")),
    "order_unknown": (*_begun(), Step("ship", 0, "silent")),
    "order_back_late": (*_begun(300, "|late"), Step("ship", 0, "refused")),
    "order_back_busy": (*_begun(300, "|busy down"), Step("ship", 0, "refused")),
    "order_back_silent": (*_begun(300, "|silent"), Step("ship", 0, "refused")),
    "order_stuck": (*_begun(300, "|refused"), Step("ship", 0, "refused")),
}

_ANY = (
    "plain",
    "order",
    "order",
    "order_stuck",
    "approved",
    "broken",
    "keyless",
    "silent",
    "reads",
    "late",
    "keyless_silent",
)
_WRITES = ("plain", "keyless", "silent", "late", "broken", "keyless_broken")
_ASKS = ("approved", "rejected", "approved_silent", "expired", "asked", "edited")
_TAKES_BACK = ("order_refused", "order_refused_asked", "order_unknown", "order_back_silent", "order_back_late")
_P = CrashPoint
REACHED_BY: Mapping[CrashPoint, tuple[str, ...]] = {
    _P.READ_RETURNED: ("plain", "reads", "approved"),
    _P.READ_RECORDED: ("plain", "reads", "approved"),
    _P.INTENT_COMMITTING: _WRITES,
    _P.INTENT_COMMITTED: _WRITES,
    _P.VENDOR_CALLING: _WRITES,
    _P.VENDOR_RETURNED: _WRITES,
    _P.RESULT_COMMITTED: _WRITES,
    _P.REQUEST_COMMITTING: _ASKS,
    _P.REQUEST_COMMITTED: _ASKS,
    _P.DECISION_COMMITTING: _ASKS,
    _P.QUESTION_ANSWERED: ("asked",),
    _P.ANSWER_COMMITTING: ("asked",),
    _P.WOKEN_AFTER_APPROVAL: ("approved", "approved_silent", "asked"),
    _P.RECOVERY_ASKED: ("busy", "late", "broken", "keyless_busy"),
    _P.SLEEP_COMMITTED: ("busy", "late", "keyless_busy"),
    _P.SWEEP_WAKING: ("busy", "late", "keyless_busy", "order_back_busy"),
    _P.COMPENSATION_BEGUN: (*_TAKES_BACK, "order_stuck"),
    _P.UNDO_RETURNED: _TAKES_BACK,
    _P.UNDO_RECORDED: _TAKES_BACK,
}


def scripts_for(point: CrashPoint) -> tuple[str, ...]:
    """Return the scripts whose sessions lead past the point; any session does past those that are not named."""
    return REACHED_BY.get(point, _ANY)
