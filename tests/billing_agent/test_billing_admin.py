"""Staff screens of billing: money and books are read, what is sold is edited, and a template is reviewed by another."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from agentops.tenancy.models import Membership, Role
from billing_agent import models
from billing_agent.connectors.port import ApplyCredit, WriteMail
from tests.factories.billing import Desk, make_desk, usd
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db

READ = [
    models.Customer,
    models.PaymentMethod,
    models.Plan,
    models.Subscription,
    models.Invoice,
    models.Charge,
    models.Credit,
    models.Entry,
    models.MailTemplate,
    models.Mail,
    models.Case,
    models.Operation,
]
BY_HAND = {models.Plan, models.MailTemplate}
MONEY = [models.Subscription, models.Invoice, models.Charge, models.Credit, models.Entry, models.Operation]


@pytest.fixture
def desk() -> Desk:
    made = make_desk()
    made.act(ApplyCredit(usd(300), "Late reply"))
    made.act(WriteMail("thanks", (("name", "Dana"),), send=True))
    return made


def admin_of(desk: Desk, name: str) -> Client:
    user = User.objects.create_superuser(name, f"{name}@example.com", name)
    Membership.objects.create(tenant=desk.tenant, user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def bob(desk: Desk) -> Client:
    return admin_of(desk, "bob")


def url(model: Any, page: str = "changelist", *args: object) -> str:
    return reverse(f"admin:billing_agent_{model.__name__.lower()}_{page}", args=args)


def no_rows(*prefixes: str) -> dict[str, str]:
    return {f"{prefix}-{name}": "0" for prefix in prefixes for name in ("TOTAL_FORMS", "INITIAL_FORMS")}


@pytest.mark.parametrize("model", READ)
def test_rows_are_listed_found_and_read(desk: Desk, bob: Client, model: Any) -> None:
    row = model.objects.first()
    assert bob.get(url(model), {"q": "zzz"}).status_code == 200
    assert bob.get(url(model)).status_code == 200
    assert bob.get(url(model, "change", row.pk)).status_code == 200
    assert bob.get(url(model, "add")).status_code == (200 if model in BY_HAND else 403)
    assert bob.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", READ)
def test_rows_of_another_company_do_not_exist(bob: Client, model: Any) -> None:
    south = make_desk(make_tenant("south"))
    south.act(ApplyCredit(usd(300), "Late reply"))
    south.act(WriteMail("thanks", (("name", "Dana"),), send=True))
    row = model.objects.filter(tenant=south.tenant).first()
    answer = bob.get(url(model, "change", row.pk), follow=True)
    assert answer.request["PATH_INFO"] == reverse("admin:index")


@pytest.mark.parametrize("model", MONEY)
def test_money_is_not_moved_by_hand(desk: Desk, bob: Client, model: Any) -> None:
    row = model.objects.first()
    before = model.objects.filter(pk=row.pk).values().get()
    form = {field.name: "7" for field in model._meta.fields}
    bob.post(url(model, "change", row.pk), {**form, **no_rows("lines", "charges", "refunds", "disputes", "postings")})
    after = model.objects.filter(pk=row.pk).values().get()
    assert {**after, "version": 0} == {**before, "version": 0}


def test_correcting_a_customer_moves_the_version(desk: Desk, bob: Client) -> None:
    form = {"name": "Dana Ruiz-Lee", "email": "dana@example.com", "tax_bp": "700", "country": "US", "currency": "EUR"}
    assert bob.post(url(models.Customer, "change", desk.dana.pk), {**form, **no_rows("methods", "subscriptions")})
    changed = models.Customer.objects.get(pk=desk.dana.pk)
    assert (changed.name, changed.tax_bp, changed.currency) == ("Dana Ruiz-Lee", 700, "USD")
    assert changed.version == desk.dana.version + 1


def test_a_plan_is_added_in_ones_own_company_and_its_price_stays(desk: Desk, bob: Client) -> None:
    south = make_tenant("south")
    form = {
        "ref": "year",
        "name": "Team yearly",
        "interval": "year",
        "amount_minor": "20000",
        "currency": "USD",
        "active": "on",
    }
    assert bob.post(url(models.Plan, "add"), {**form, "tenant": south.pk}).status_code == 200
    assert bob.post(url(models.Plan, "add"), {**form, "tenant": desk.tenant.pk}).status_code == 302
    plan = models.Plan.objects.get(ref="year")
    assert bob.post(url(models.Plan, "change", plan.pk), {"name": "Yearly", "amount_minor": "1"}).status_code == 302
    plan.refresh_from_db()
    assert (plan.name, plan.amount_minor, plan.active) == ("Yearly", 20_000, False)


def test_who_closes_the_books_is_on_record(desk: Desk, bob: Client) -> None:
    form = {"tenant": desk.tenant.pk, "through": "2026-09-30", "closed_by": "nobody"}
    assert bob.post(url(models.ClosedPeriod, "add"), form).status_code == 302
    closed = models.ClosedPeriod.objects.get()
    assert (closed.closed_by, str(closed.through)) == ("bob", "2026-09-30")
    bob.post(url(models.ClosedPeriod, "change", closed.pk), {"through": "2025-01-01"})
    assert str(models.ClosedPeriod.objects.get().through) == "2026-09-30"


def test_a_template_is_reviewed_by_somebody_else_and_anew_after_a_change(desk: Desk, bob: Client) -> None:
    alice, template = admin_of(desk, "alice"), models.MailTemplate.objects.get(ref="thanks")
    form = {"name": "Thanks", "subject": "Thank you", "body": "Hello {name}.", "reviewed_by": "bob"}
    bob.post(url(models.MailTemplate, "change", template.pk), form)
    template.refresh_from_db()
    assert (template.body, template.changed_by, template.reviewed_by) == ("Hello {name}.", "bob", "")

    review = {"action": "review", "_selected_action": [template.pk]}
    refused = bob.post(url(models.MailTemplate), review, follow=True).content.decode()
    assert "You wrote Thanks: somebody else reviews it." in refused
    template.refresh_from_db()
    assert template.reviewed_by == ""
    assert "Thanks is reviewed" in alice.post(url(models.MailTemplate), review, follow=True).content.decode()
    template.refresh_from_db()
    assert (template.reviewed_by, template.reviewed_at is not None) == ("alice", True)


def test_the_database_knows_that_nobody_reviews_their_own_template(desk: Desk) -> None:
    own = models.MailTemplate.objects.filter(ref="thanks")
    with pytest.raises(IntegrityError, match="nobody_reviews_their_own_template"), transaction.atomic():
        own.update(changed_by="alice", reviewed_by="alice")
