"""Every task of a retail benchmark leaves the records it should. Runs where its files lie beside the project."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from agentops.registry.tool import CallContext, ToolFailure
from agentops.tenancy.models import Tenant
from support_agent.connectors.shop_json import dump_customer, dump_order, in_minor, load_shop
from tests.factories.support import NOW, SESSION, act, look, make_tenant, tool_named

DATA = Path(settings.BASE_DIR).parent / "shared" / "data" / "tau-retail"
TOOLS = {
    "find_user_id_by_email": "lookup_customer",
    "find_user_id_by_name_zip": "lookup_customer",
    "get_user_details": "lookup_customer",
    "get_order_details": "lookup_order",
    "get_product_details": "lookup_product",
    "list_all_product_types": "list_products",
    "cancel_pending_order": "cancel_pending_order",
    "modify_pending_order_items": "change_order_items",
    "modify_pending_order_address": "change_order_address",
    "modify_pending_order_payment": "change_order_payment",
    "modify_user_address": "change_customer_address",
    "return_delivered_order_items": "return_delivered_items",
    "exchange_delivered_order_items": "exchange_delivered_items",
}
OTHER_WORK = {"calculate", "transfer_to_human_agents"}

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not DATA.is_dir(), reason="there is no shared/data/tau-retail beside the project"),
]


@dataclass(frozen=True)
class _Records:
    orders: dict[str, Any]
    users: dict[str, Any]


def _read(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def test_every_task_ends_as_recorded() -> None:
    tenant = make_tenant()
    load_shop(tenant, users=_read("users.json"), orders=_read("orders.json"), products=_read("products.json"))
    tasks = [json.loads(line) for line in (DATA / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    assert tasks
    wrong = []
    for task in tasks:
        with _taken_back():
            failed = _work(tenant, task)
            expected = _Records(in_minor(task["after"]["orders"]), in_minor(task["after"]["users"]))
            found = _Records(
                {ref: in_minor(dump_order(tenant, ref)) for ref in expected.orders},
                {ref: in_minor(dump_customer(tenant, ref)) for ref in expected.users},
            )
            if found != expected or failed != [name for name, _ in task["errors"]]:
                wrong.append(task["id"])
    assert wrong == []


def _work(tenant: Tenant, task: dict[str, Any]) -> list[str]:
    """Make the task's calls as its customer, and return those that failed."""
    failed = []
    for number, action in enumerate(task["actions"]):
        if action["tool"] in OTHER_WORK:
            continue
        name = TOOLS[action["tool"]]
        arguments = {key: value for key, value in action["arguments"].items() if key != "user_id"}
        context = CallContext(tenant.id, SESSION, task["id"], task["user_id"], NOW, idempotency_key=f"{number}")
        try:
            (act if tool_named(name).is_write else look)(context, name, **arguments)
        except ToolFailure:
            failed.append(action["tool"])
    return failed


@contextmanager
def _taken_back() -> Iterator[None]:
    """Take back everything that happens inside; each task starts from the shop as it was loaded."""
    point = transaction.savepoint()
    yield
    transaction.savepoint_rollback(point)
