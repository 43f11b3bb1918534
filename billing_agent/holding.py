"""What billing keeps about a customer or a sender: told, and erased. The books keep amounts, dates and numbers.

Invoices, lines, entries and the reasons of refunds are books: the law keeps them, and triggers refuse to change them.
"""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from agentops.kernel.canonical import JSON
from agentops.registry.holder import ERASED, bare
from agentops.registry.subjects import CUSTOMER, SENDER, sender_subject
from billing_agent.models import Case, Credit, Customer, Mail, Operation, PaymentMethod, StripeWrite, Subscription


class Desk:
    """Customers, how they pay, cases, mails and what calls told of them."""

    name = "billing desk"

    def held(self, tenant_id: UUID, subject: str) -> JSON:
        """Return the customer's record, mails and cases; empty when billing knows nothing."""
        customer, cases = _customer(tenant_id, subject), _cases(tenant_id, subject)
        told: dict[str, JSON] = {}
        if customer is not None:
            told["customer"] = {
                "ref": customer.ref,
                "name": customer.name,
                "email": customer.email,
                "country": customer.country,
            }
            told["methods"] = [
                {"ref": one.ref, "kind": one.kind, "brand": one.brand, "last_four": one.last_four}
                for one in customer.methods.all()
            ]
            told["mails"] = [{"ref": one.ref, "subject": one.subject, "body": one.body} for one in customer.mails.all()]
            told["invoices"] = [
                {"ref": one.ref, "number": one.number, "total_minor": one.total_minor, "memo": one.memo}
                for one in customer.invoices.all()
            ]
        if cases:
            told["cases"] = [
                {"ref": one.ref, "sender": one.sender, "subject": one.subject, "body": one.body, "note": one.note}
                for one in cases
            ]
        return told

    def erase(self, tenant_id: UUID, subject: str) -> int:
        """Blank name, address and words outside the books."""
        customer, cases = _customer(tenant_id, subject), _cases(tenant_id, subject)
        rows = _erase_cases(tenant_id, cases)
        if customer is None:
            return rows
        rows += Customer.objects.filter(pk=customer.pk).update(name=ERASED, email="")
        rows += PaymentMethod.objects.filter(customer=customer).update(brand="", last_four="")
        rows += Mail.objects.filter(customer=customer).update(subject=ERASED, body="")
        rows += Credit.objects.filter(customer=customer).update(reason=ERASED)
        rows += Subscription.objects.filter(customer=customer).exclude(cancel_reason="").update(cancel_reason=ERASED)
        for write in StripeWrite.objects.filter(tenant_id=tenant_id, customer_ref=customer.ref):
            write.steps, write.told, write.made = bare(write.steps), bare(write.told), bare(write.made)
            write.save(update_fields=["steps", "told", "made"])
            rows += 1
        return rows


def _customer(tenant_id: UUID, subject: str) -> Customer | None:
    kind, _, ref = subject.partition(":")
    return Customer.objects.filter(tenant_id=tenant_id, ref=ref).first() if kind == CUSTOMER else None


def _cases(tenant_id: UUID, subject: str) -> Sequence[Case]:
    """Return a customer's cases, those from the customer's address among them; or those of an unknown sender."""
    cases = Case.objects.filter(tenant_id=tenant_id).order_by("id")
    if subject.startswith(f"{SENDER}:"):
        unknown = cases.filter(customer=None)
        senders = set(unknown.order_by().values_list("sender", flat=True))
        return list(unknown.filter(sender__in=[one for one in senders if sender_subject(tenant_id, one) == subject]))
    customer = _customer(tenant_id, subject)
    if customer is None:
        return []
    by_address = Q(customer=None, sender__iexact=customer.email) if customer.email else Q(pk=None)
    return list(cases.filter(Q(customer=customer) | by_address))


def _erase_cases(tenant_id: UUID, cases: Sequence[Case]) -> int:
    """Blank cases; one that waits is not begun any more."""
    keys = [case.pk for case in cases]
    Case.objects.filter(pk__in=keys, status=Case.Status.OPEN).update(status=Case.Status.CLOSED)
    rows = Case.objects.filter(pk__in=keys).update(sender=ERASED, subject=ERASED, body="", note="")
    refs = [case.ref for case in cases]
    for made in Operation.objects.filter(tenant_id=tenant_id, case_ref__in=refs).exclude(case_ref=""):
        made.result = bare(made.result)
        made.save(update_fields=["result"])
        rows += 1
    return rows
