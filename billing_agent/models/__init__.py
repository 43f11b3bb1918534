"""The embedded billing system: customers, plans, invoices, payments, the books, and the desk's work.

Amounts are whole minor units of the currency beside them; moments are UTC. ``ref`` is the id that people and tools
use. Writes go through ``billing_agent.connectors``, which keep ``version`` moving and the books in balance.
"""

from billing_agent.models.balance import Account, ClosedPeriod, Entry, EntryKind, Posting
from billing_agent.models.base import REF_LENGTH
from billing_agent.models.customers import Customer, PaymentMethod
from billing_agent.models.invoices import Invoice, InvoiceLine, InvoiceSeries
from billing_agent.models.payments import Charge, Credit, DeclineCode, Dispute, Refund
from billing_agent.models.stripe import StripeDispute, StripeRecord, StripeWrite
from billing_agent.models.subscriptions import Plan, Subscription
from billing_agent.models.work import Case, Mail, MailTemplate, Operation

__all__ = [
    "REF_LENGTH",
    "Account",
    "Case",
    "Charge",
    "ClosedPeriod",
    "Credit",
    "Customer",
    "DeclineCode",
    "Dispute",
    "Entry",
    "EntryKind",
    "Invoice",
    "InvoiceLine",
    "InvoiceSeries",
    "Mail",
    "MailTemplate",
    "Operation",
    "PaymentMethod",
    "Plan",
    "Posting",
    "Refund",
    "StripeDispute",
    "StripeRecord",
    "StripeWrite",
    "Subscription",
]
