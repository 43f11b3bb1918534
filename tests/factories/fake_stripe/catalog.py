"""Products, prices and tax rates: https://docs.stripe.com/api/products, /prices and /tax_rates."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests.factories.fake_stripe.errors import invalid, refused
from tests.factories.fake_stripe.lists import listed, page, searched, within
from tests.factories.fake_stripe.money import currency
from tests.factories.fake_stripe.params import BOOL, DECIMAL, INT, LIST, META, RANGE, STR, merged, read, require_one_of
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World, changed_fields

_PRICE = {
    "currency": STR,
    "unit_amount": INT,
    "unit_amount_decimal": DECIMAL,
    "product": STR,
    "product_data": {"name": STR, "metadata": META},
    "recurring": {"interval": STR, "interval_count": INT},
    "active": BOOL,
    "nickname": STR,
    "lookup_key": STR,
    "tax_behavior": STR,
    "metadata": META,
}


def create_product(world: World, form: Mapping[str, Any]) -> Obj:
    """Make something that is sold; its id may be chosen."""
    asked = read(form, {"id": STR, "name": STR, "active": BOOL, "description": STR, "metadata": META}, needs=("name",))
    ref = asked.get("id") or world.new_id("prod")
    if ref in world.records["product"]:
        raise refused("Product already exists.", "resource_already_exists", "id")
    product = world.add(
        {
            "id": ref,
            "object": "product",
            "active": asked.get("active", True),
            "created": world.now,
            "default_price": None,
            "description": asked.get("description"),
            "images": [],
            "livemode": world.live,
            "marketing_features": [],
            "metadata": merged({}, asked.get("metadata")),
            "name": asked["name"],
            "package_dimensions": None,
            "shippable": None,
            "statement_descriptor": None,
            "tax_code": None,
            "type": "service",
            "unit_label": None,
            "updated": world.now,
            "url": None,
        }
    )
    world.effect("product.created", product)
    return product


def update_product(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change a product."""
    asked = read(form, {"name": STR, "active": BOOL, "description": STR, "default_price": STR, "metadata": META})
    product = world.find("product", ref)
    before = dict(product)
    product["metadata"] = merged(product["metadata"], asked.pop("metadata", None))
    product |= asked | {"updated": world.now}
    world.effect("product.updated", product, changed_fields(before, product))
    return product


def create_price(world: World, form: Mapping[str, Any]) -> Obj:
    """Make a price, for a product or one that is made with it."""
    asked = read(form, _PRICE, needs=("currency",))
    code, amount = currency(asked["currency"]), asked.get("unit_amount")
    if amount is None and "unit_amount_decimal" not in asked:
        raise invalid("Price `unit_amount` or `unit_amount_decimal` must be specified.", "unit_amount")
    if amount is not None and amount < 0:
        raise invalid("Invalid non-negative integer", "unit_amount", "parameter_invalid_integer")
    if bool(asked.get("product")) == bool(asked.get("product_data")):
        raise invalid("You must specify exactly one of product and product_data.", "product")
    product = asked.get("product") or create_product(world, asked["product_data"])["id"]
    world.find("product", product, "product")
    exact = Decimal(asked.get("unit_amount_decimal") or str(amount))
    price = world.add(
        {
            "id": world.new_id("price"),
            "object": "price",
            "active": asked.get("active", True),
            "billing_scheme": "per_unit",
            "created": world.now,
            "currency": code,
            "custom_unit_amount": None,
            "livemode": world.live,
            "lookup_key": asked.get("lookup_key"),
            "metadata": merged({}, asked.get("metadata")),
            "nickname": asked.get("nickname"),
            "product": product,
            "recurring": _recurring(asked.get("recurring")),
            "tax_behavior": asked.get("tax_behavior") or "unspecified",
            "tiers_mode": None,
            "transform_quantity": None,
            "type": "recurring" if asked.get("recurring") else "one_time",
            "unit_amount": int(exact) if exact == int(exact) else None,
            "unit_amount_decimal": f"{exact.normalize():f}",
        }
    )
    world.effect("price.created", price)
    return price


def _recurring(asked: Mapping[str, Any] | None) -> Obj | None:
    if not asked:
        return None
    require_one_of(asked.get("interval"), ("day", "week", "month", "year"), "recurring[interval]")
    return {
        "interval": asked["interval"],
        "interval_count": asked.get("interval_count") or 1,
        "meter": None,
        "trial_period_days": None,
        "usage_type": "licensed",
    }


def update_price(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change what may change of a price; its amount never does."""
    asked = read(form, {"active": BOOL, "nickname": STR, "lookup_key": STR, "tax_behavior": STR, "metadata": META})
    price = world.find("price", ref)
    before = dict(price)
    price["metadata"] = merged(price["metadata"], asked.pop("metadata", None))
    price |= asked
    world.effect("price.updated", price, changed_fields(before, price))
    return price


def list_prices(world: World, form: Mapping[str, Any]) -> Obj:
    """Return prices."""
    own = {"active": BOOL, "currency": STR, "product": STR, "type": STR}
    asked = read(form, LIST | own | {"created": RANGE, "lookup_keys": [STR], "recurring": {"interval": STR}})
    equal = {name: asked[name] for name in own if asked.get(name) is not None}
    interval = (asked.get("recurring") or {}).get("interval")

    def fits(price: Obj) -> bool:
        if asked.get("lookup_keys") and price["lookup_key"] not in asked["lookup_keys"]:
            return False
        if interval and (price["recurring"] or {}).get("interval") != interval:
            return False
        return within(price, asked)

    return page(filter(fits, world.all("price", **equal)), asked, "/v1/prices")


def list_products(world: World, form: Mapping[str, Any]) -> Obj:
    """Return products."""
    return listed(world, "product", form, "/v1/products", {"active": BOOL, "created": RANGE})


def search_prices(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the prices that a query finds."""
    return searched(world, "price", form, "/v1/prices/search")


def create_tax_rate(world: World, form: Mapping[str, Any]) -> Obj:
    """Make a tax rate, in per cent."""
    shape = {
        "display_name": STR,
        "inclusive": BOOL,
        "percentage": DECIMAL,
        "active": BOOL,
        "country": STR,
        "description": STR,
        "jurisdiction": STR,
        "metadata": META,
    }
    asked = read(form, shape, needs=("display_name", "inclusive", "percentage"))
    if asked["inclusive"]:
        raise invalid("This fake has no inclusive tax rates.", "inclusive")
    rate = world.add(
        {
            "id": world.new_id("txr"),
            "object": "tax_rate",
            "active": asked.get("active", True),
            "country": asked.get("country"),
            "created": world.now,
            "description": asked.get("description"),
            "display_name": asked["display_name"],
            "effective_percentage": float(asked["percentage"]),
            "flat_amount": None,
            "inclusive": False,
            "jurisdiction": asked.get("jurisdiction"),
            "jurisdiction_level": None,
            "livemode": world.live,
            "metadata": merged({}, asked.get("metadata")),
            "percentage": float(asked["percentage"]),
            "rate_type": "percentage",
            "state": None,
            "tax_type": None,
        }
    )
    world.effect("tax_rate.created", rate)
    return rate


def list_tax_rates(world: World, form: Mapping[str, Any]) -> Obj:
    """Return tax rates."""
    return listed(world, "tax_rate", form, "/v1/tax_rates", {"active": BOOL, "inclusive": BOOL, "created": RANGE})


ROUTES = [
    Route("POST", "/v1/products", create_product, "product"),
    Route("GET", "/v1/products", list_products, "product"),
    Route("GET", "/v1/products/{}", retrieving("product"), "product"),
    Route("POST", "/v1/products/{}", update_product, "product"),
    Route("GET", "/v1/prices/search", search_prices, "plan"),
    Route("POST", "/v1/prices", create_price, "plan"),
    Route("GET", "/v1/prices", list_prices, "plan"),
    Route("GET", "/v1/prices/{}", retrieving("price"), "plan"),
    Route("POST", "/v1/prices/{}", update_price, "plan"),
    Route("POST", "/v1/tax_rates", create_tax_rate, "tax_rate"),
    Route("GET", "/v1/tax_rates", list_tax_rates, "tax_rate"),
    Route("GET", "/v1/tax_rates/{}", retrieving("tax_rate"), "tax_rate"),
]
