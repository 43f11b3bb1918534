"""Questions to the books: what stands on the accounts, and where books and records disagree."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.db import connection
from django.db.models import Sum

from agentops.kernel.money import Money
from billing_agent.models import Account, Posting


class Rule(StrEnum):
    """What must hold at any time; ``docs/design/billing.md`` says it in full."""

    RECEIVABLE = "receivable"
    CREDIT = "credit"
    CASH = "cash"
    ENTRY = "entry"
    REFUNDED = "refunded"
    LINES = "lines"


_WORDS = {
    Rule.RECEIVABLE: "Customer {record} owes {said} by the books and {found} by their open invoices.",
    Rule.CREDIT: "Customer {record} has credit of {said} by the books and of {found} by what is left of their credits.",
    Rule.CASH: "Customer {record} has paid {said} by the books and {found} by their charges, refunds and disputes.",
    Rule.ENTRY: "The lines of entry {record} come to {said} and should come to {found}.",
    Rule.REFUNDED: "Charge {record} says that {said} went back, and its refunds come to {found}.",
    Rule.LINES: "Invoice {record} says {said}, and its lines come to {found}.",
}


@dataclass(frozen=True)
class Finding:
    """One violation of a rule.

    ``record`` is the customer, entry, charge or invoice that it is about. ``said_minor`` is what the books say, or a
    record about itself; ``found_minor`` is what the records come to. Both are minor units of ``currency``.
    """

    rule: Rule
    record: str
    currency: str
    said_minor: int
    found_minor: int

    @property
    def words(self) -> str:
        """One sentence for a person."""
        said, found = (Money(minor, self.currency) for minor in (self.said_minor, self.found_minor))
        return _WORDS[self.rule].format(record=self.record, said=said, found=found)


def balances(tenant_id: UUID, *, currency: str, customer_ref: str = "") -> dict[Account, int]:
    """Return what stands on each account in minor units of ``currency``, of one customer when one is named.

    A debit is positive; an account on which nothing was posted has 0.
    """
    lines = Posting.objects.filter(entry__tenant_id=tenant_id, entry__currency=currency)
    if customer_ref:
        lines = lines.filter(entry__customer_ref=customer_ref)
    sums = lines.order_by().values("account").annotate(balance=Sum("minor"))
    found = {row["account"]: row["balance"] for row in sums}
    return {account: found.get(account.value, 0) for account in Account}


# One statement, because it sees one state of all tables while others write to them. Each branch gives either what is
# said (4th column) or what is found (5th); what differs for one rule, record and currency is a finding.
_DISAGREEMENTS = """
WITH books AS (
  SELECT e.id, e.customer_ref, e.currency, p.account, p.minor
  FROM billing_agent_entry e JOIN billing_agent_posting p ON p.entry_id = e.id WHERE e.tenant_id = %(tenant)s
), sides (rule, record, currency, said, found) AS (
  SELECT 'receivable', customer_ref, currency, minor, 0 FROM books WHERE account = 'receivable'
  UNION ALL
  SELECT 'credit', customer_ref, currency, -minor, 0 FROM books WHERE account = 'customer_credit'
  UNION ALL
  SELECT 'cash', customer_ref, currency, minor, 0 FROM books WHERE account = 'cash'
  UNION ALL
  SELECT 'entry', id::text, currency, minor, 0 FROM books
  UNION ALL
  SELECT 'receivable', c.ref, i.currency, 0, i.total_minor - i.paid_minor - i.credited_minor
  FROM billing_agent_invoice i JOIN billing_agent_customer c ON c.id = i.customer_id
  WHERE i.tenant_id = %(tenant)s AND i.status = 'open'
  UNION ALL
  SELECT 'credit', c.ref, credit.currency, 0, credit.left_minor
  FROM billing_agent_credit credit JOIN billing_agent_customer c ON c.id = credit.customer_id
  WHERE credit.tenant_id = %(tenant)s
  UNION ALL
  SELECT 'cash', c.ref, charge.currency, 0, charge.amount_minor
  FROM billing_agent_charge charge JOIN billing_agent_customer c ON c.id = charge.customer_id
  WHERE charge.tenant_id = %(tenant)s AND charge.status = 'succeeded'
  UNION ALL
  SELECT 'cash', c.ref, refund.currency, 0, -refund.amount_minor
  FROM billing_agent_refund refund JOIN billing_agent_charge charge ON charge.id = refund.charge_id
  JOIN billing_agent_customer c ON c.id = charge.customer_id WHERE refund.tenant_id = %(tenant)s
  UNION ALL
  SELECT 'cash', c.ref, dispute.currency, 0, -dispute.amount_minor
  FROM billing_agent_dispute dispute JOIN billing_agent_charge charge ON charge.id = dispute.charge_id
  JOIN billing_agent_customer c ON c.id = charge.customer_id
  WHERE dispute.tenant_id = %(tenant)s AND dispute.status <> 'won'
  UNION ALL
  SELECT 'refunded', charge.ref, charge.currency, charge.refunded_minor, 0
  FROM billing_agent_charge charge WHERE charge.tenant_id = %(tenant)s
  UNION ALL
  SELECT 'refunded', charge.ref, refund.currency, 0, refund.amount_minor
  FROM billing_agent_refund refund JOIN billing_agent_charge charge ON charge.id = refund.charge_id
  WHERE refund.tenant_id = %(tenant)s
  UNION ALL
  SELECT 'lines', i.ref, i.currency, i.total_minor, 0 FROM billing_agent_invoice i WHERE i.tenant_id = %(tenant)s
  UNION ALL
  SELECT 'lines', i.ref, i.currency, 0, line.amount_minor + line.tax_minor
  FROM billing_agent_invoiceline line JOIN billing_agent_invoice i ON i.id = line.invoice_id
  WHERE line.tenant_id = %(tenant)s
)
SELECT rule, record, currency, sum(said)::bigint, sum(found)::bigint FROM sides
GROUP BY rule, record, currency HAVING sum(said) <> sum(found) ORDER BY rule, record, currency
"""


def imbalances(tenant_id: UUID) -> list[Finding]:
    """Return every place of the tenant where books and records disagree, ordered by rule and record."""
    with connection.cursor() as cursor:
        cursor.execute(_DISAGREEMENTS, {"tenant": tenant_id})
        return [
            Finding(Rule(rule), record, currency, said, found)
            for rule, record, currency, said, found in cursor.fetchall()
        ]
