"""Staff screens: what can be read, what can be changed, and the undo that tools promise."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Membership, Role
from support_agent import models
from tests.factories.support import HOME, NOW, Shop, act, make_article, make_shop, make_tenant

pytestmark = pytest.mark.django_db

TABLES = [
    models.Customer,
    models.PaymentMethod,
    models.Product,
    models.Variant,
    models.Order,
    models.OrderLine,
    models.Fulfilment,
    models.Payment,
    models.Ticket,
    models.TicketMessage,
    models.Article,
    models.DeskOperation,
]


@pytest.fixture
def shop() -> Shop:
    return make_shop()


@pytest.fixture
def bob(shop: Shop) -> Client:
    """Bob administers the northern shop."""
    user = User.objects.create_superuser("bob", "bob@example.com", "bob")
    Membership.objects.create(tenant=shop.tenant, user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    return client


def _url(model: type, page: str = "changelist", *args: object) -> str:
    return reverse(f"admin:support_agent_{model.__name__.lower()}_{page}", args=args)


def _reply(shop: Shop, *, leaves_in: timedelta) -> models.TicketMessage:
    act(shop.context("k"), "send_reply", body="Hello Dana.")
    now = utcnow()
    models.TicketMessage.objects.update(release_at=now + leaves_in)
    return models.TicketMessage.objects.get()


def _recall(bob: Client, message: models.TicketMessage) -> str:
    data = {"action": "recall_replies", "_selected_action": [message.pk]}
    return bob.post(_url(models.TicketMessage), data, follow=True).content.decode()


@pytest.mark.parametrize("model", TABLES)
def test_every_table_has_a_list_and_a_page(shop: Shop, bob: Client, model: type[models.Owned]) -> None:
    act(shop.context("k"), "draft_reply", body="Hello Dana.")
    make_article(shop.tenant, "KB-1", "Returns", "Within 30 days.")
    row = model.objects.filter(tenant=shop.tenant).first()  # type: ignore[attr-defined]
    assert bob.get(_url(model), {"q": "zzz"}).status_code == 200
    assert bob.get(_url(model)).status_code == 200
    assert bob.get(_url(model, "change", row.pk)).status_code == 200


def test_every_table_is_registered() -> None:
    assert [model for model in admin.site._registry if model._meta.app_label == "support_agent"] == TABLES


@pytest.mark.parametrize("model", TABLES)
def test_rows_of_another_tenant_do_not_exist(shop: Shop, bob: Client, model: type[models.Owned]) -> None:
    south = make_shop(make_tenant("south"))
    act(south.context("k"), "draft_reply", body="Hello Dana.")
    make_article(south.tenant, "KB-1", "Returns", "Within 30 days.")
    row = model.objects.filter(tenant=south.tenant).first()  # type: ignore[attr-defined]
    assert row is not None
    answer = bob.get(_url(model, "change", row.pk), follow=True)
    assert answer.request["PATH_INFO"] == reverse("admin:index")


def test_a_reply_is_recalled_while_it_has_not_left(shop: Shop, bob: Client) -> None:
    reply = _reply(shop, leaves_in=timedelta(minutes=5))
    assert "The reply on ticket T-1 was recalled; the ticket is now with a person." in _recall(bob, reply)
    reply.refresh_from_db()
    assert reply.recalled_at is not None
    assert models.Ticket.objects.get().status == "escalated"
    assert "was recalled before" in _recall(bob, reply)


def test_a_reply_that_has_left_is_not_recalled(shop: Shop, bob: Client) -> None:
    reply = _reply(shop, leaves_in=timedelta(seconds=-1))
    assert "The reply on ticket T-1 has left already." in _recall(bob, reply)
    reply.refresh_from_db()
    assert reply.recalled_at is None


def test_a_draft_can_be_deleted_and_a_reply_cannot(shop: Shop, bob: Client) -> None:
    act(shop.context("k1"), "draft_reply", body="Hello Dana.")
    act(shop.context("k2"), "send_reply", body="Hello Dana.")
    draft, reply = models.TicketMessage.objects.order_by("pk")
    assert bob.post(_url(models.TicketMessage, "delete", reply.pk), {"post": "yes"}).status_code == 403
    assert bob.post(_url(models.TicketMessage, "delete", draft.pk), {"post": "yes"}).status_code == 302
    assert list(models.TicketMessage.objects.all()) == [reply]


def test_the_status_of_a_ticket_can_be_set_back(shop: Shop, bob: Client) -> None:
    act(shop.context("k"), "update_ticket", status="closed")
    ticket = models.Ticket.objects.get()
    answer = bob.post(
        _url(models.Ticket, "change", ticket.pk), {"status": "open", "subject": "Changed", **_inline("messages")}
    )
    assert answer.status_code == 302
    ticket.refresh_from_db()
    assert (ticket.status, ticket.subject) == ("open", "About my order")


def test_correcting_a_customer_moves_the_version(shop: Shop, bob: Client) -> None:
    form = {"first_name": "Dana", "last_name": "Ruiz-Lee", "email": "dana@example.com", "ref": "erin", **HOME}
    answer = bob.post(_url(models.Customer, "change", shop.dana.pk), {**form, **_inline("methods")})
    assert answer.status_code == 302
    shop.dana.refresh_from_db()
    assert (shop.dana.ref, shop.dana.last_name, shop.dana.version) == ("dana", "Ruiz-Lee", 2)


def test_orders_payments_and_operations_are_not_changed(shop: Shop, bob: Client) -> None:
    act(
        shop.context("k"),
        "issue_refund",
        order_id="#W1",
        amount_minor=100,
        currency="USD",
        payment_method_id="card-1",
        reason="x",
    )
    order, payment = shop.order("#W1"), models.Payment.objects.get(operation_key="k")
    operation = models.DeskOperation.objects.get()
    changes = {"status": "cancelled", "amount_minor": 1, "key": "other", "customer": shop.erin.pk}
    for row, prefixes in ((order, ("lines", "payments", "fulfilments")), (payment, ()), (operation, ())):
        bob.post(_url(type(row), "change", row.pk), {**changes, **_inline(*prefixes)})
        assert bob.get(_url(type(row), "add")).status_code == 403
        assert bob.post(_url(type(row), "delete", row.pk), {"post": "yes"}).status_code == 403
    assert (shop.order("#W1").status, shop.order("#W1").customer_id) == ("pending", shop.dana.pk)
    assert shop.history("#W1") == [("payment", 4500, "card-1"), ("refund", 100, "card-1")]
    assert models.DeskOperation.objects.get().key == "k"


def test_an_article_is_written_for_ones_own_tenant(shop: Shop, bob: Client) -> None:
    south = make_tenant("south")
    form = {"ref": "KB-1", "title": "Returns", "body": "Within 30 days."}
    assert bob.post(_url(models.Article, "add"), {**form, "tenant": str(south.pk)}).status_code == 200
    assert models.Article.objects.count() == 0
    assert bob.post(_url(models.Article, "add"), {**form, "tenant": str(shop.tenant.pk)}).status_code == 302
    assert models.Article.objects.get().tenant == shop.tenant


def test_a_recall_needs_the_permission(shop: Shop) -> None:
    reply = _reply(shop, leaves_in=timedelta(minutes=5))
    charlie = User.objects.create_user("charlie", "charlie@example.com", "charlie", is_staff=True)
    Membership.objects.create(tenant=shop.tenant, user=charlie, role=Role.SUPPORT)
    client = Client()
    client.force_login(charlie)
    assert (
        client.post(
            _url(models.TicketMessage), {"action": "recall_replies", "_selected_action": [reply.pk]}
        ).status_code
        == 403
    )
    reply.refresh_from_db()
    assert reply.recalled_at is None


def test_the_database_refuses_a_recall_after_the_release(shop: Shop) -> None:
    constraint = next(
        c for c in models.TicketMessage._meta.constraints if c.name == "a_reply_is_recalled_before_its_release"
    )
    message = models.TicketMessage(kind="reply", release_at=NOW, recalled_at=NOW)
    with pytest.raises(Exception, match="a_reply_is_recalled_before_its_release"):
        constraint.validate(models.TicketMessage, message)


def _inline(*prefixes: str) -> dict[str, str]:
    return {f"{prefix}-{name}": "0" for prefix in prefixes for name in ("TOTAL_FORMS", "INITIAL_FORMS")}
