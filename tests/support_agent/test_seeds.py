"""The demo shop: complete, consistent, invented, and the same after seeding twice."""

import json
from collections import Counter
from pathlib import Path

import pytest
from django.db.models import F, Sum

from support_agent import seeds
from support_agent.models import Article, Customer, Order, OrderLine, OrderStatus, Payment, Product, Ticket, Variant

pytestmark = pytest.mark.django_db


def test_seeding_twice_changes_nothing() -> None:
    tenant = seeds.seed_demo()
    Order.objects.filter(tenant=tenant, ref="#L2003").update(version=F("version") + 1)
    before = [list(model.objects.order_by("id").values_list()) for model in (Customer, Order, Ticket, Article, Payment)]
    assert seeds.seed_demo() == tenant
    after = [list(model.objects.order_by("id").values_list()) for model in (Customer, Order, Ticket, Article, Payment)]
    assert after == before


def test_the_shop_has_what_a_demo_needs() -> None:
    tenant = seeds.seed_demo()
    assert (tenant.slug, tenant.name) == ("larkspur", "Larkspur Goods")
    counts = [
        model.objects.filter(tenant=tenant).count() for model in (Customer, Product, Variant, Order, Article, Ticket)
    ]
    assert counts == [24, 12, 64, 60, 14, 36]
    assert set(Order.objects.values_list("status", flat=True)) == set(OrderStatus.values)


def test_every_order_is_paid_for_what_it_holds() -> None:
    seeds.seed_demo()
    for order in Order.objects.all():
        entries = Counter[str]()
        for kind, amount in order.payments.values_list("kind", "amount_minor"):
            entries[kind] += amount
        total = OrderLine.objects.filter(order=order).aggregate(total=Sum("price_minor"))["total"]
        paid_twice = order.ref == "#L2010"
        assert entries["payment"] == total * (2 if paid_twice else 1)
        assert entries["refund"] == (total if order.status == OrderStatus.CANCELLED else 0)
        assert order.customer.methods.filter(ref=order.payments.first().payment_method_ref).exists()


def test_addresses_of_people_are_reserved_ones() -> None:
    seeds.seed_demo()
    senders = [*Customer.objects.values_list("email", flat=True), *Ticket.objects.values_list("sender", flat=True)]
    assert {sender.rpartition("@")[2] for sender in senders} == {"example.com"}


def test_every_ticket_but_one_is_from_a_customer_and_waits() -> None:
    seeds.seed_demo()
    assert Ticket.objects.filter(customer=None).count() == 1
    assert Ticket.objects.filter(status="open", taken_at=None).count() == 36


def test_ids_in_the_data_stand_once() -> None:
    folder = Path(seeds.__file__).parent / "seed_data"
    for path in folder.glob("*.json"):
        refs = [record["ref"] for record in json.loads(path.read_text(encoding="utf-8"))]
        assert len(refs) == len(set(refs)), path.name
