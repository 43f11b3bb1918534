"""A whole shop with hundreds of requests that nobody here wrote: every one is worked to an end, with the real tools."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agentops.registry.planner import Subject
from agentops.tenancy.models import Tenant
from support_agent.connectors.shop_json import load_shop
from support_agent.intake import KIND
from support_agent.models import Customer, Ticket
from tests.factories.desk_runner import work
from tests.support_agent.charts import replay

SHOP = Path(os.environ.get("SHOP_DIR", Path(__file__).parents[3] / "shared" / "data" / "tau-retail"))


def _read(name: str) -> Any:
    return json.loads((SHOP / name).read_text(encoding="utf-8"))


@pytest.mark.django_db
@pytest.mark.skipif(not SHOP.is_dir(), reason="no shop to read (SHOP_DIR)")
def test_every_request_of_the_shop_is_worked_to_an_end() -> None:
    tenant = Tenant.objects.create(slug="shop", name="Shop")
    load_shop(tenant, users=_read("users.json"), orders=_read("orders.json"), products=_read("products.json"))
    records = [json.loads(line) for line in (SHOP / "tickets.jsonl").read_text(encoding="utf-8").splitlines()]
    ends = [_end(tenant, record) for record in records]
    assert len(ends) == len(records)
    assert set(ends) == {"answered", "escalated"}
    # Reading without a model hands over what is unclear, but most requests are plain.
    assert ends.count("answered") > len(ends) / 2


def _end(tenant: Tenant, record: dict[str, str]) -> str:
    customer = Customer.objects.get(tenant=tenant, email=record["from_email"])
    ticket = Ticket.objects.create(
        tenant=tenant,
        ref=record["id"],
        customer=customer,
        sender=record["from_email"],
        subject=record["subject"],
        body=record["body"],
        received_at=datetime.fromisoformat(record["received_at"]),
        source_key=record["id"],
    )
    subject = Subject(KIND, ticket.ref, ticket.subject, ticket.body, ticket.sender, customer.ref, ticket.received_at)
    worked = work(tenant.id, subject)
    assert len(worked.calls("send_reply")) == 1
    assert replay(worked.history)["refund"][-1] == "told"
    ticket.refresh_from_db()
    return ticket.status
