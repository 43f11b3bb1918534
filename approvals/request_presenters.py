"""What the page of a request receives: frozen dataclasses, filled by `pages` and `page_parts`.

The context of `approvals/request.html` has `page` (`RequestPage`) and, from the context processor, `shell`. Nothing
here reads a database, a clock or Django.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from agentops.console.marks import Rule, State, Text, Tier, UntrustedText
from approvals.presenters import Argument, Change, Finding, RiskPart
from approvals.previews.shown import Shown

if TYPE_CHECKING:
    from approvals.insight.part import InsightPart
    from approvals.insight.similar import Similar

Verb = Literal["", "approve", "edit", "ask", "reject", "escalate", "take_over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLink:
    """One of the last steps before the question."""

    position: int
    label: str
    detail: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A document that the agent read before it asked, and the step in which it did."""

    position: int
    document: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonChoice:
    """A preset reason for rejecting."""

    code: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a person typed and has not sent, or sent in vain. Field names are those of the form.

    A typed fact is never part of it: it must be typed from what the page says now.
    """

    verb: Verb = ""
    reason: str = ""
    why: str = ""
    checked: str = ""
    question: str = ""
    note: str = ""
    because: str = ""
    on_behalf_of: str = ""
    opened: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """What was typed, whichever verb it was for."""
        return self.why or self.checked or self.question or self.note or self.because


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Somebody for whom the reader may decide; the reader too, with an empty `value`."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFact:
    """What has to be typed before something irreversible is approved. `label` says what, never what it is."""

    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidePanel:
    """The form that decides: POST to `approval_decide` with digest, shown, verb and the fields of the verb.

    `errors` maps a field of the form to its message; "form" holds what concerns the whole. `approve_label`
    names the effect ("Approve refund of $48.20"). `asks_check` shows the line "What I checked". `shown` is the signed
    moment of showing the page. `fact` is what to type before approving; `steps_up` when approving takes a second
    factor, `is_fresh` when one was shown in the last minutes. `blind` when people do not see each other's verdict.
    `undo_seconds` is how long an approval can be taken back.
    """

    digest: str
    shown: str
    approve_label: str
    reasons: Sequence[ReasonChoice]
    asks_check: bool
    must_open: Sequence[str] = ()
    fact: TypedFact | None = None
    steps_up: bool = False
    is_fresh: bool = False
    blind: bool = False
    undo_seconds: int = 0
    principals: Sequence[Principal] = ()
    escalates_to: str = ""
    draft: Draft = Draft()
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignPart:
    """Whom the reader may give the request to, as values and names. `free`: back to everybody of its queue."""

    people: Sequence[Principal]
    queues: Sequence[Principal]
    free: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalatePart:
    """The form that calls the next step, for a reader who may not decide: POST to `approval_escalate`.

    `to` names whom it calls; `digest` and `shown` are hidden fields; `note` is what was typed, `error` what it lacks.
    """

    to: str
    digest: str
    shown: str
    note: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question to the agent, and its answer once it is there. `lapsed` when none will come."""

    at: datetime
    by: str
    question: Text
    answer: Text = ()
    answered_at: datetime | None = None
    lapsed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """One moment of a request's way. `by` is "" for what happened by itself; `notes` are said in small print."""

    at: datetime
    by: str
    did: str
    words: Text = ()
    notes: Sequence[str] = ()
    icon: str = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided, or what time did. `by` is "you" for the reader's own."""

    at: datetime
    by: str
    reason: str = ""
    checked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectOutcome:
    """What became of an approved effect at the system of record. `proof` is its transaction, or "".

    `reconcile_url` leads to where an unknown outcome is settled.
    """

    state: State
    words: str
    at: datetime | None = None
    proof: str = ""
    reconcile_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPart:
    """An approval that is carried out in some seconds. `mine` when the reader may take it back."""

    at: datetime
    seconds: int
    mine: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who has the request on the desk until when. `by` is "" when nobody has; `may` when the reader may take it."""

    by: str = ""
    until: datetime | None = None
    may: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Keys of the requests of the same session before and after this one."""

    earlier: str = ""
    later: str = ""


RequestStatus = Literal["pending", "approved", "rejected", "expired", "voided"]

Conflict = Literal["", "decided_first", "changed", "repeated", "expired", "retired", "lost"]
"""Why a POST did not decide: somebody was faster, the record moved, the same person again, too late, frozen or
cancelled, the permission is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPage:
    """One request, data first.

    `title` is the effect without marks, for the window. `changes` come from the system of record, read at
    `read_at`; `record` names the records and their versions. `differences` say what moved since the
    reader looked (status "voided", or conflict "changed"), or since the request `predecessor_pk` that this one
    replaced; `successor_pk` is the request that replaced this one. `red_lines` are said before the
    data. `traced` is False when nobody recorded where values came from. `panel` is None when the reader cannot
    decide; `cannot` then says so in a few words, and what it takes, `escalate` is the one verb that they may have, and
    `turned_down` says why what they sent was not done. `draft` is what was typed when a conflict came
    between. `retired` when the work was frozen or ended, `edited` when somebody proposed it anew in other words, and
    `came_by_edit` when this one came about so. `digest_full` binds the decision, `digest` is its short form. `chain` is
    empty before the reader's own vote: verdicts of others must not lead it.
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
    undo: UndoPart | None
    retired: bool
    edited: bool
    came_by_edit: bool
    conflict: Conflict
    differences: Sequence[Change]
    successor_pk: str
    predecessor_pk: str
    predecessor_id: str
    draft: Draft
    panel: DecidePanel | None
    assign: AssignPart | None
    escalate: EscalatePart | None
    cannot: tuple[str, str]
    turned_down: str
    claim: Claim
    neighbours: Neighbours
    exchanges: Sequence[Exchange]
    waits_for_answer: bool
    parts: Sequence[Shown]
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
    citations: Sequence[Citation]
    similar: "Similar | None"
    insight: "InsightPart"
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
    routed_by: str
    assigned_to: str
    votes_in: int
    votes_needed: int
    chain: Sequence[ChainLink]
    created: datetime
    due: datetime
    time_left: str
    soon: bool
    share_left: int
    if_nobody: str
    sign_in_url: str

    @property
    def pips(self) -> tuple[bool, ...]:
        """A mark for each needed approval, filled for those that are there."""
        return tuple(n < self.votes_in for n in range(self.votes_needed))

    @property
    def is_under_way(self) -> bool:
        """Whether it was approved and nobody knows yet what came of it, so that the page looks again."""
        return self.undo is not None or (self.outcome is not None and self.outcome.at is None)
