"""What the billing system says after a scenario, as facts that an expectation can name."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Sum

from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.scenarios.world import ANN


def facts_of(tenant_id: UUID) -> Mapping[str, Any]:
    """Return Ann's side of the books and records.

    ``books`` are the places where books and records disagree, or do not sum to zero: there must be none. An account's
    name with ``_minor`` is its balance for Ann, in minor units, a debit positive. ``neighbours_entries`` are entries of
    anybody else.
    """
    customer = models.Customer.objects.get(tenant_id=tenant_id, ref=ANN)
    subscription = customer.subscriptions.select_related("plan", "next_plan").first()
    case = models.Case.objects.filter(tenant_id=tenant_id).order_by("id").last()
    return {
        "books": [str(finding) for finding in imbalances(tenant_id)],
        **_balances(tenant_id),
        "invoices": dict(customer.invoices.order_by("number").values_list("number", "status")),
        "attempts": dict(customer.invoices.order_by("number").values_list("number", "attempts")),
        "credit_left_minor": customer.credits.aggregate(left=Sum("left_minor"))["left"] or 0,
        "mails": customer.mails.filter(kind=models.Mail.Kind.SENT, recalled_at=None).count(),
        "case": case.status if case is not None else "",
        "neighbours_entries": models.Entry.objects.filter(tenant_id=tenant_id).exclude(customer_ref=ANN).count(),
        **_sold(subscription),
    }


def _balances(tenant_id: UUID) -> dict[str, int]:
    rows = models.Posting.objects.filter(entry__tenant_id=tenant_id, entry__customer_ref=ANN)
    sums = dict(rows.values_list("account").annotate(sum=Sum("minor")).order_by("account"))
    return {f"{account}_minor": sums.get(account, 0) for account in models.Account.values}


def _sold(subscription: models.Subscription | None) -> dict[str, Any]:
    if subscription is None:
        return {}
    return {
        "plan": subscription.plan.ref,
        "quantity": subscription.quantity,
        "next_plan": subscription.next_plan.ref if subscription.next_plan is not None else "",
        "subscription": subscription.status,
        "ends_with_period": subscription.cancel_at is not None,
    }
