"""What became of the last decisions about calls like this one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from approvals.insight.bands import band_of, band_words
from approvals.insight.bars import Bar, bar_of
from approvals.insight.sql import fetch_one
from approvals.models import ApprovalRequest

MOST = 200
LOOKED_AT = 2_000
"""So many closed requests of the tool are looked at for those of the same amount, then as many as there are do."""

LEAST_IN_BAND = 20

# The index request_similar gives the newest first. Who decided nothing (expired, withdrawn) tells nothing about people.
_SIMILAR = """
WITH recent AS (
  SELECT r.id, r.state, r.closed_at, r.tier, r.irreversible, r.agent_version_id,
    coalesce(r.money_currency = %(currency)s AND r.money_minor >= %(low)s AND r.money_minor < %(high)s, false)
      AS banded,
    EXISTS (SELECT 1 FROM approvals_act a WHERE a.request_id = r.id AND a.kind = 'edited') AS edited
  FROM approvals_approvalrequest r
  WHERE r.tenant_id = %(tenant)s AND r.tool = %(tool)s AND r.closed_at IS NOT NULL AND r.id <> %(request)s
    AND r.tier = %(tier)s AND r.irreversible = %(irreversible)s
    AND r.agent_version_id = ANY (ARRAY(
      SELECT v.id FROM agentops_agentversion v JOIN agentops_agent g ON g.id = v.agent_id
      WHERE g.tenant_id = %(tenant)s AND g.role = (
        SELECT og.role FROM agentops_agentversion ov JOIN agentops_agent og ON og.id = ov.agent_id
        WHERE ov.id = %(version)s)))
  ORDER BY r.closed_at DESC LIMIT %(looked_at)s
), decided AS (
  SELECT id, state, closed_at, banded, edited, row_number() OVER w AS place, row_number() OVER b AS place_in_band
  FROM recent WHERE edited OR state IN ('approved', 'rejected')
  WINDOW w AS (ORDER BY closed_at DESC), b AS (PARTITION BY banded ORDER BY closed_at DESC)
), enough AS (SELECT count(*) FILTER (WHERE banded) >= %(least)s AS banded FROM decided)
SELECT enough.banded, count(d.id), count(d.id) FILTER (WHERE d.state = 'approved' AND NOT d.edited),
  count(d.id) FILTER (WHERE d.state = 'rejected' AND NOT d.edited), count(d.id) FILTER (WHERE d.edited),
  count(d.id) FILTER (WHERE d.state = 'approved' AND EXISTS (
    SELECT 1 FROM approvals_regret g WHERE g.request_id = d.id)),
  min(d.closed_at)
FROM enough LEFT JOIN decided d
  ON CASE WHEN enough.banded THEN d.banded AND d.place_in_band <= %(most)s ELSE d.place <= %(most)s END
GROUP BY enough.banded"""


@dataclass(frozen=True)
class Similar:
    """The last decisions about calls of the same tool and tier by agents of the same role, MOST at most.

    ``approved``, ``rejected`` and ``edited`` add up to ``total``; ``regretted`` are those of ``approved`` that turned
    out to be wrong. ``since`` is when the oldest of them was closed. ``amount`` names the amounts that they are about,
    empty when they are about any.
    """

    total: int
    approved: int
    rejected: int
    edited: int
    regretted: int
    since: datetime
    amount: str = ""

    @property
    def kept(self) -> int:
        """How many were approved and, as far as is known, rightly."""
        return self.approved - self.regretted

    @property
    def bars(self) -> Sequence[Bar]:
        """The parts of a bar of 1,000: which kind, from where, how wide."""
        parts = (("kept", self.kept), ("regretted", self.regretted), ("edited", self.edited), ("not", self.rejected))
        return bar_of(parts, self.total)


def similar_to(request: ApprovalRequest) -> Similar | None:
    """Return what became of the last calls like this one, None when nobody decided one. One query.

    Of the same amount band where at least LEAST_IN_BAND of the LOOKED_AT newest are.
    """
    band = None if request.money_minor is None else band_of(request.money_minor, request.money_currency)
    params = {
        "request": request.pk,
        "tenant": request.tenant_id,
        "tool": request.tool,
        "tier": request.tier,
        "irreversible": request.irreversible,
        "version": request.agent_version_id,
        "currency": request.money_currency,
        "low": band[0] if band else 0,
        "high": band[1] if band else 0,
        "looked_at": LOOKED_AT,
        "least": LEAST_IN_BAND,
        "most": MOST,
    }
    row = fetch_one(_SIMILAR, params)
    if row is None or row[1] == 0:
        return None
    banded, total, approved, rejected, edited, regretted, since = row
    amount = band_words(band, request.money_currency) if banded and band else ""
    return Similar(total, approved, rejected, edited, regretted, since, amount)
