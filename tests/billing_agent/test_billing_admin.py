"""Staff screens of billing: money and books are read, what is sold is edited, and a template is reviewed by another."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from agentops.tenancy.models import Membership, Role
from billing_agent import models
from billing_agent.books import balances
from billing_agent.connectors.port import ApplyCredit, WriteMail
from billing_agent.models import Account
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


def dispute_form(desk: Desk, **changes: object) -> dict[str, object]:
    opened = {"opened_at_0": "2026-11-10", "opened_at_1": "08:00"}
    form = {"ref": "dp-1", "charge": desk.charge().pk, "amount": "55.00", "reason": "fraudulent", **opened}
    return {**form, **changes}


def test_a_dispute_is_recorded_by_hand_with_its_entry_and_decided(desk: Desk, bob: Client) -> None:
    assert bob.get(url(models.Dispute, "add")).status_code == 200
    assert bob.post(url(models.Dispute, "add"), dispute_form(desk)).status_code == 302
    dispute = models.Dispute.objects.get()
    assert (dispute.status, dispute.amount_minor, dispute.currency) == ("needs_response", 5500, "USD")
    assert balances(desk.tenant.id, currency="USD")[Account.DISPUTED] == 5500
    assert bob.get(url(models.Dispute, "change", dispute.pk)).status_code == 200
    bob.post(url(models.Dispute, "change", dispute.pk), dispute_form(desk, ref="dp-2", amount="1.00"))
    assert models.Dispute.objects.get().ref == "dp-1"

    lost, won = ({"action": name, "_selected_action": [dispute.pk]} for name in ("lost", "won"))
    assert "Dispute dp-1 is lost." in bob.post(url(models.Dispute), lost, follow=True).content.decode()
    refused = bob.post(url(models.Dispute), won, follow=True).content.decode()
    assert "Dispute dp-1 is lost already, so it cannot be won." in refused
    dispute.refresh_from_db()
    assert (dispute.status, balances(desk.tenant.id, currency="USD")[Account.WRITTEN_OFF]) == ("lost", 5500)
    assert list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))[-1] == "Recorded as lost."


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"amount": "55.01"}, "only $55.00 are left"),
        ({"amount": "0"}, "The amount must be more than nothing."),
        ({"ref": ""}, "This field is required."),
        ({"charge": 0}, "not one of the available choices"),
    ],
)
def test_a_dispute_that_cannot_be_is_refused_in_words(
    desk: Desk, bob: Client, changes: dict[str, object], words: str
) -> None:
    answer = bob.post(url(models.Dispute, "add"), dispute_form(desk, **changes))
    assert (answer.status_code, words in answer.content.decode()) == (200, True)
    assert not models.Dispute.objects.exists()


def test_a_dispute_is_recorded_once_and_about_a_charge_of_ones_own_company(desk: Desk, bob: Client) -> None:
    bob.post(url(models.Dispute, "add"), dispute_form(desk, amount="5.00"))
    again = bob.post(url(models.Dispute, "add"), dispute_form(desk, amount="5.00"))
    assert "Dispute dp-1 is on record already." in again.content.decode()
    south = make_desk(make_tenant("south"))
    foreign = bob.post(url(models.Dispute, "add"), dispute_form(desk, ref="dp-2", charge=south.charge().pk))
    assert "not one of the available choices" in foreign.content.decode()
    assert models.Dispute.objects.count() == 1


def test_who_may_only_look_records_no_dispute(desk: Desk) -> None:
    user = User.objects.create_user("carol", "carol@example.com", "carol", is_staff=True)
    Membership.objects.create(tenant=desk.tenant, user=user, role=Role.ADMIN)
    user.user_permissions.add(Permission.objects.get(codename="view_dispute"))
    client = Client()
    client.force_login(user)
    assert client.get(url(models.Dispute)).status_code == 200
    assert client.post(url(models.Dispute, "add"), dispute_form(desk)).status_code == 403
    assert not models.Dispute.objects.exists()


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
