"""What a request page shows of this package: the same question elsewhere, and what was said afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.console.marks import Text
from agentops.console.reveal import reveal
from agentops.runtime.ports import ApprovalState
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Role
from approvals.insight.exemplars import why_no_exemplar
from approvals.insight.siblings import siblings_of
from approvals.models import ApprovalRequest, Exemplar, Regret


@dataclass(frozen=True)
class Sibling:
    """Another pending request that asks the same question."""

    pk: str
    code: str
    effect: Text
    due: datetime


@dataclass(frozen=True)
class Said:
    """That an approval turned out to be wrong: how, who says so, when, and in which words."""

    kind: str
    by: str
    at: datetime
    words: Text


@dataclass(frozen=True)
class InsightPart:
    """For ``approvals/insight/siblings.html`` and ``approvals/insight/after.html``.

    ``may_mark``: the reader may say that it turned out wrong. ``may_propose``: the run may be proposed as an example;
    ``exemplar`` says where one stands. ``may_rule``: the reader may ask what would stop such questions.
    """

    pk: str
    siblings: Sequence[Sibling] = ()
    regrets: Sequence[Said] = ()
    may_mark: bool = False
    may_propose: bool = False
    exemplar: str = ""
    may_rule: bool = False

    @property
    def after(self) -> bool:
        """Whether there is anything to say about what came afterwards."""
        return bool(self.regrets or self.may_mark or self.may_propose or self.exemplar)


def insight_of(reader: Reader, request: ApprovalRequest, now: datetime) -> InsightPart:
    """Return the part of one request page. One to five queries. The reader may see the request."""
    may_rule = Role.ADMIN in reader.roles and request.level < 3
    if request.state == ApprovalState.PENDING:
        alike = [
            Sibling(str(one.pk), one.code, reveal(one.effect), one.expires_at) for one in siblings_of(request, now)
        ]
        return InsightPart(pk=str(request.pk), siblings=alike, may_rule=may_rule)
    if request.state != ApprovalState.APPROVED:
        return InsightPart(pk=str(request.pk))
    regrets = list(Regret.objects.filter(request=request).order_by("at"))
    example = Exemplar.objects.filter(request=request).first()
    return InsightPart(
        pk=str(request.pk),
        regrets=[Said(r.get_kind_display(), r.by.removeprefix("user:"), r.at, reveal(r.words)) for r in regrets],
        may_mark=all(regret.kind != Regret.Kind.MARKED for regret in regrets),
        may_propose=example is None and not regrets and why_no_exemplar(request) is None,
        exemplar=example.get_state_display() if example else "",
        may_rule=may_rule,
    )
