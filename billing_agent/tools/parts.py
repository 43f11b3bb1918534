"""The pieces that the billing tools share: ids, what they return, and the functions of a write."""

from agentops.registry.declare import Door, Schema, ref, text
from billing_agent.connectors import billing
from billing_agent.connectors.port import Write

OWNER = "billing"

INVOICE = {"invoice_id": "invoice"}
CHARGE = {"charge_id": "charge"}
SUBSCRIPTION = {"subscription_id": "subscription"}

INVOICE_ID = ref("The invoice's id, as lookup_customer_360 and list_invoices give it.")
CHARGE_ID = ref("The charge's id, as explain_invoice lists it.")
SUBSCRIPTION_ID = ref("The subscription's id, as lookup_customer_360 lists it.")
PLAN_ID = ref("The plan's id, as list_plans gives it.")
METHOD_ID = ref("The id of one of the customer's payment methods, as lookup_customer_360 lists them.")
REASON = text(500, "Why, for the person who reads the books.")
OUT_STATUS = text(20)
OUT_MOMENT = text(40, "A moment in UTC, ISO 8601.")

_DOOR = Door[Write](billing)
runs, previews, reconcile = _DOOR.runs, _DOOR.previews, _DOOR.reconcile


def nothing_or(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return {"anyOf": [schema, {"type": "null"}]}
