"""What the pages about several requests show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentops.console.marks import Text
from agentops.console.reveal import reveal
from approvals.access import View
from approvals.bulk import Result, candidate_of, decidable
from approvals.bulk_rules import Candidate, why_alone, why_not_together
from approvals.models import ApprovalRequest
from approvals.page_parts import data
from approvals.queries import Bucket
from approvals.queue_presenters import QueueRow
from approvals.rows import row_of


@dataclass(frozen=True)
class Item:
    """One request. ``shown`` names it with the digest of what is shown; ``data`` are its change and arguments."""

    row: QueueRow
    shown: str
    candidate: Candidate
    data: dict[str, Any]


@dataclass(frozen=True)
class LeftOut:
    """A request that is not approved with the others, and why."""

    pk: str
    effect: Text
    words: str


@dataclass(frozen=True)
class ApprovePage:
    """All that would be approved, open. ``refusal`` says why these cannot be approved together."""

    items: Sequence[Item]
    left_out: Sequence[LeftOut]
    refusal: str
    back: str

    @property
    def address(self) -> str:
        """The query text of the list to go back to."""
        return self.back.partition("?")[2]


@dataclass(frozen=True)
class AskingPage:
    """Requests and a form about all of them."""

    what: str
    items: Sequence[Item]
    back: str

    @property
    def address(self) -> str:
        """The query text of the list to go back to."""
        return self.back.partition("?")[2]


@dataclass(frozen=True)
class ResultsPage:
    """What became of each. ``done`` is the word for what was to be done."""

    done: str
    count: int
    results: Sequence[tuple[Result, Text]]
    back: str


def approve_page(view: View, requests: Sequence[ApprovalRequest], back: str) -> ApprovePage:
    """Return the page that shows everything before it is approved together."""
    waiting = decidable(view, requests)
    items = [_item(one, view, may_decide=one.pk in waiting, whole=True) for one in requests]
    alone = [(item, why_alone(item.candidate)) for item in items]
    together = [item for item, words in alone if not words]
    return ApprovePage(
        items=together,
        left_out=[LeftOut(item.row.pk, item.row.effect, words) for item, words in alone if words],
        refusal=why_not_together([item.candidate for item in together]),
        back=back,
    )


def asking_page(view: View, requests: Sequence[ApprovalRequest], back: str, what: str) -> AskingPage:
    """Return the page that asks for what is needed before something is done to all of them."""
    return AskingPage(what, [_item(one, view, may_decide=True, whole=False) for one in requests], back)


def results_page(view: View, results: Sequence[Result], back: str, done: str) -> ResultsPage:
    """Return the page that says what became of each."""
    shown = [(result, reveal(result.request.effect)) for result in results]
    return ResultsPage(done, sum(result.done for result in results), shown, back)


def _item(one: ApprovalRequest, view: View, *, may_decide: bool, whole: bool) -> Item:
    return Item(
        row=row_of(one, Bucket.TURN, view),
        shown=f"{one.pk}:{one.digest}",
        candidate=candidate_of(one, decidable=may_decide),
        data={**data.proposed(one), **data.changes(one)} if whole else {},
    )
