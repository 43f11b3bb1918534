"""Invoices that are not charged by themselves any more become cases, once for each invoice and cause."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import CharField, Exists, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, Concat

from billing_agent import models
from billing_agent.connectors import reading
from billing_agent.connectors.charge_rules import EXPIRED, LOST
from billing_agent.connectors.opening import Opening, open_case
from billing_agent.connectors.renewing_rules import MOST_ATTEMPTS

_PAGE = 500
_PREFIX = "due:dunning:"
UNTRIED = "untried"
_WORDS = {
    UNTRIED: "there is no card to charge, or its customer is deleted",
    "exhausted": "every attempt was declined",
    "card_expired": "the card has expired",
    "card_lost": "the card was reported lost or stolen",
    "left": "no further attempt is made by itself",
}


def left_to_people(tenant_id: UUID, now: datetime) -> Iterator[tuple[str, str, str]]:
    """Yield the open invoices that were charged in vain and are not tried again, unless they have a case for that.

    Each as the customer's id, its own, and the cause. One that was not to be charged waits for its customer to pay.
    """
    last = models.Charge.objects.filter(invoice=OuterRef("pk")).order_by("-at", "-id")
    rows = models.Invoice.objects.filter(
        tenant_id=tenant_id, status=models.Invoice.Status.OPEN, next_attempt_at=None, attempts__gt=0
    ).filter(total_minor__gt=F("paid_minor") + F("credited_minor"))
    # Compared with nothing, an invoice without a charge on record would be in none of the classes.
    rows = rows.annotate(declined=Coalesce(Subquery(last.values("decline_code")[:1]), Value("")))
    for cause, which in _CAUSES:
        key = Concat(Value(_PREFIX), OuterRef("ref"), Value(f":{cause}"), output_field=CharField())
        told = models.Case.objects.filter(tenant_id=tenant_id, source_key=key)
        found = rows.filter(which).filter(~Exists(told)).select_related("customer").order_by("id")
        for row in found.iterator(_PAGE):
            yield row.customer.ref, row.ref, cause


_SPENT = Q(attempts__gte=MOST_ATTEMPTS)
_CAUSES = (
    ("exhausted", _SPENT),
    ("card_expired", ~_SPENT & Q(declined=EXPIRED)),
    ("card_lost", ~_SPENT & Q(declined=LOST)),
    ("left", ~_SPENT & ~Q(declined__in=(EXPIRED, LOST))),
)


def tell_people(tenant_id: UUID, now: datetime, customer_ref: str, ref: str, cause: str) -> str:
    """Open the case of an invoice and a cause, and return what was done; empty when somebody did before."""
    with transaction.atomic():
        customer = reading.customer_row(tenant_id, customer_ref, lock=True)
        row = None if customer is None else reading.invoice_rows(customer).filter(ref=ref).first()
        if customer is None or row is None or row.status != models.Invoice.Status.OPEN:
            return ""
        invoice = reading.invoice_record(row, customer.ref)
        lines = [
            f"Invoice {invoice.words} of {customer.name} is open, and {_WORDS[cause]}.",
            f"Left to pay: {invoice.left}. Attempts so far: {invoice.attempts}.",
        ]
        subject = f"Invoice {invoice.words}: {_WORDS[cause]}"
        key = f"{_PREFIX}{ref}:{cause}"
        opened = open_case(tenant_id, Opening(models.Case.Source.SCHEDULE, key, customer, "", subject, lines, now))
    return f"Open case {opened.case.ref} about {invoice.words}: {_WORDS[cause]}" if opened.is_new else ""
