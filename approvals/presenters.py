"""What the approval templates receive: frozen dataclasses, filled by queries.

The context of `approvals/queue.html` and `approvals/request.html` has `page` (`QueuePage`, `RequestPage`)
and, from the context processor, `shell`; the live fragment `approvals/queue.html#news` has `news`
(`QueueNews`). Nothing here reads a database, a clock or Django.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from agentops.console.marks import Filter, Rule, State, Text, Tier, UntrustedText

BucketKey = Literal["turn", "others", "decided"]
Verb = Literal["", "approve", "reject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A tab of the queue. `note` follows the count ("today")."""

    key: BucketKey
    label: str
    count: int
    url: str
    current: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A request in the queue.

    `share_left` is what remains of the time it had, in hundredths, shown when `soon`. `votes_in` of
    `votes_needed` approvals are there. `waits_on` names whose turn it is. `outcome` is set once nobody
    can decide any more; `time_left` is then "" and `closed_at`, `closed_by` say when and by whom.
    """

    pk: str
    id: str
    effect: Text
    tool: str
    agent: str
    target: Text
    amount: str
    tier: Tier
    due: datetime
    time_left: str
    soon: bool
    share_left: int
    votes_in: int
    votes_needed: int
    waits_on: str = ""
    outcome: State | None = None
    closed_at: datetime | None = None
    closed_by: str = ""

    @property
    def pips(self) -> tuple[bool, ...]:
        """A mark for each needed approval, filled for those that are there."""
        return tuple(n < self.votes_in for n in range(self.votes_needed))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueGroup:
    """Rows under one heading ("Due within the hour")."""

    label: str
    rows: Sequence[QueueRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNews:
    """What changed since the list was rendered: never new rows, so nothing moves under the reader.

    `new` counts requests of this bucket that are not on the page; `gone` are the keys of shown rows that
    left the bucket; `refresh_url` renders the list anew.
    """

    new: int
    since: datetime
    as_of: datetime
    gone: Sequence[str]
    buckets: Sequence[Bucket]
    refresh_url: str
    your_turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """The queue. Addresses are relative and keep bucket, search and filters.

    `news_url` answers with the live fragment; the page adds `shown=<pk>` for each row. `live_url` is the
    path of the WebSocket. `next_due` belongs to the most urgent request that waits on others.
    """

    buckets: Sequence[Bucket]
    bucket: BucketKey
    query: str
    filters: Sequence[Filter]
    filtered: bool
    groups: Sequence[QueueGroup]
    next_url: str
    first_url: str
    clear_url: str
    others_waiting: int
    next_due: datetime | None
    news_url: str
    live_url: str
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A field of a record before and after. An empty side means there is no such value."""

    label: str
    before: Text
    after: Text
    note: str = ""


Tone = Literal["", "request", "record", "untrusted", "invented"]
"""Who put a value there, as a colour: somebody who may decide, the house's records, somebody outside, nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a value was found.

    `words` are the tool and the path in what it returned, `document` what was read, `within` the place in its text,
    `how` the form in which it stands there. `step` is the session's event, None when the source is no step.
    """

    step: int | None
    words: Text
    document: Text = ()
    within: str = ""
    how: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CameFrom:
    """One origin of an argument: its word, tone and icon, and where it was found.

    `values` counts the values of this origin when an argument has several origins, else it is 0. `more` counts the
    places that are not named.
    """

    word: str
    tone: Tone
    icon: str
    values: int = 0
    in_request: bool = False
    places: Sequence[Place] = ()
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of an argument's text; `marked` when a compliance finding is about it."""

    text: Text
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of the call, whole.

    `long` values are folded, and approving needs them opened: the page then sends `opened=<name>`.
    An uninspectable value has no text; `note` says what it is. `pieces` are the value once more when something in it
    is marked. `tone` colours the row of a value that nobody trusted gave and on which the effect depends.
    """

    name: str
    value: Text
    size: str
    long: bool = False
    note: str = ""
    uninspectable: bool = False
    came_from: Sequence[CameFrom] = ()
    tone: Tone = ""
    pieces: Sequence[Piece] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """What raises or lowers a score: `points` with their sign; its bar from `start`, both in hundredths."""

    words: str
    points: str
    raises: bool
    start: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPart:
    """How risky the call was when it was proposed, 0 to 100. `score` is None for one that was not scored.

    `band` is the range of scores that have this `level`; `marks` are where bands begin.
    """

    score: int | None
    level: str
    band: str
    version: str
    marks: Sequence[int]
    factors: Sequence[Factor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a compliance pack says about a text. `argument` is its row's number, 0 when there is none."""

    pack: str
    version: int
    rule: str
    argument: int
    words: Text
    forbids: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLink:
    """One of the last steps before the question."""

    position: int
    label: str
    detail: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonChoice:
    """A preset reason for rejecting."""

    code: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a person typed and has not sent, or sent in vain. Field names are those of the form."""

    verb: Verb = ""
    reason: str = ""
    why: str = ""
    checked: str = ""
    opened: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """What was typed, whichever verb it was for."""
        return self.why or self.checked


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidePanel:
    """The form that decides: POST to `approval_decide` with digest, verb, reason, why, checked, opened.

    `errors` maps a field of the form to its message; "form" holds what concerns the whole. `approve_label`
    names the effect ("Approve refund of $48.20"). `asks_check` shows the line "What I checked".
    """

    digest: str
    approve_label: str
    reasons: Sequence[ReasonChoice]
    asks_check: bool
    must_open: Sequence[str] = ()
    draft: Draft = Draft()
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided, or what time did. `by` is "you" for the reader's own."""

    at: datetime
    by: str
    reason: str = ""
    checked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectOutcome:
    """What became of an approved effect at the system of record. `proof` is its transaction, or ""."""

    state: State
    words: str
    at: datetime | None = None
    proof: str = ""


RequestStatus = Literal["pending", "approved", "rejected", "expired", "voided"]

Conflict = Literal["", "decided_first", "changed", "repeated", "expired"]
"""Why a POST did not decide: somebody was faster, the record moved, the same person again, too late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPage:
    """One request, data first.

    `title` is the effect without marks, for the window. `changes` come from the system of record, read at
    `read_at`; `record` names the records and their versions. `differences` say what moved since the
    reader looked (status "voided", or conflict "changed"), or since the request `predecessor_pk` that this one
    replaced; `successor_pk` is the request that replaced this one. `red_lines` are said before the
    data. `traced` is False when nobody recorded where values came from. `panel` is None when the reader cannot
    decide; `cannot` then says so in a few words, and what it takes. `draft` is what was typed when a conflict came
    between. `digest_full` binds the decision, `digest` is its short form.
    """

    pk: str
    id: str
    title: str
    effect: Text
    tier: Tier
    tier_reason: str
    status: RequestStatus
    decision: Decision | None
    outcome: EffectOutcome | None
    conflict: Conflict
    differences: Sequence[Change]
    successor_pk: str
    predecessor_pk: str
    predecessor_id: str
    draft: Draft
    panel: DecidePanel | None
    cannot: tuple[str, str]
    changes: Sequence[Change]
    unchanged: Sequence[str]
    record: str
    read_at: datetime
    reversibility: str
    blast_radius: str
    tool: str
    tool_version: str
    arguments: Sequence[Argument]
    traced: bool
    red_lines: Sequence[str]
    risk: RiskPart
    findings: Sequence[Finding]
    evidence: Sequence[UntrustedText]
    rules: Sequence[Rule]
    policy_version: str
    steps: Sequence[StepLink]
    rationale: Text
    rationale_size: str
    rationale_by: str
    digest: str
    digest_full: str
    asked_by: str
    agent: str
    session_pk: str
    session_id: str
    position: int
    queue: str
    votes_in: int
    votes_needed: int
    created: datetime
    due: datetime
    time_left: str
    soon: bool
    share_left: int
    if_nobody: str
    next_pk: str
