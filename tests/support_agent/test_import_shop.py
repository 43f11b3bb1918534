"""A shop comes in whole or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentops.tenancy.models import Tenant
from support_agent.models import Customer, Order, Product

ADDRESS = {"address1": "1 Elm St", "address2": "", "city": "Austin", "country": "USA", "state": "TX", "zip": "78701"}
USER = {
    "name": {"first_name": "Ann", "last_name": "Lee"},
    "address": ADDRESS,
    "email": "ann@example.com",
    "payment_methods": {"paypal_1": {"source": "paypal", "id": "paypal_1"}},
    "orders": ["#W1"],
}
VARIANT = {"item_id": "11", "options": {"color": "red"}, "available": True, "price": 12.5}
PRODUCT = {"name": "Lamp", "product_id": "1", "variants": {"11": VARIANT}}
ORDER = {
    "order_id": "#W1",
    "user_id": "ann",
    "address": ADDRESS,
    "items": [{"name": "Lamp", "product_id": "1", "item_id": "11", "price": 12.5, "options": {"color": "red"}}],
    "fulfillments": [],
    "status": "pending",
    "payment_history": [{"transaction_type": "payment", "amount": 12.5, "payment_method_id": "paypal_1"}],
}


@pytest.fixture
def tenant(db: None) -> Tenant:
    return Tenant.objects.create(slug="north", name="North Goods")


def write(folder: Path, **changes: Any) -> Path:
    files = {"users": {"ann": USER}, "orders": {"#W1": ORDER}, "products": {"1": PRODUCT}, **changes}
    for name, value in files.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def counts(tenant: Tenant) -> tuple[int, ...]:
    return tuple(model.objects.filter(tenant=tenant).count() for model in (Customer, Order, Product))


def test_shop_is_added(tenant: Tenant, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_shop", str(write(tmp_path)), "--tenant", "north")
    assert counts(tenant) == (1, 1, 1)
    assert capsys.readouterr().out == "Added to North Goods: 1 users, 1 orders, 1 products.\n"
    assert Order.objects.get().payments.get().amount_minor == 1250


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"orders": {"#W1": {**ORDER, "user_id": "nobody"}}}, "Nothing was added"),
        ({"orders": {"#W1": {**ORDER, "payment_history": [{"amount": 1.005}]}}}, "Nothing was added"),
        ({"products": {"1": {"name": "Lamp"}}}, "Nothing was added"),
        ({"users": "[]"}, "not one JSON object"),
        ({"users": '{"a": 1, "a": 2}'}, "stands twice"),
    ],
)
def test_bad_shop_adds_nothing(tenant: Tenant, tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("import_shop", str(write(tmp_path, **changes)), "--tenant", "north")
    assert counts(tenant) == (0, 0, 0)


def test_ids_that_are_there_already_are_refused(tenant: Tenant, tmp_path: Path) -> None:
    call_command("import_shop", str(write(tmp_path)), "--tenant", "north")
    with pytest.raises(CommandError, match="already"):
        call_command("import_shop", str(tmp_path), "--tenant", "north")
    assert counts(tenant) == (1, 1, 1)


def test_unknown_tenant_and_missing_file_are_told(tenant: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no tenant"):
        call_command("import_shop", str(tmp_path), "--tenant", "elsewhere")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_shop", str(tmp_path), "--tenant", "north")
