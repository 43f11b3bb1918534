"""The role's tools on Stripe, through the gateway: with the tenant's key and consent."""

import logging

import pytest

from agentops.gateway.execute import Done, NotDone, read, write
from agentops.gateway.models import SecretConsent
from agentops.kernel.clock import utcnow
from billing_agent.connectors import STRIPE_KEY
from billing_agent.tools import TOOLS, _with_key
from tests.billing_agent.stripe.account import Desk
from tests.factories.fake_stripe import SECRET_TEST

HOUSE = {
    "list_mail_templates",
    "draft_email",
    "send_email",
    "recall_email",
    "discard_email_draft",
    "close_case",
    "reopen_case",
    "escalate_case",
}


def test_tools_that_ask_stripe_name_the_key(desk: Desk) -> None:
    tools = [_with_key(tool) for tool in TOOLS]
    assert {tool.name for tool in tools if tool.secret == ""} == HOUSE
    assert {tool.secret for tool in tools} == {"", STRIPE_KEY}


def test_tools_of_the_embedded_system_need_no_key() -> None:
    assert {tool.secret for tool in TOOLS} == {""}


def test_call_through_the_gateway(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tools = {tool.name: _with_key(tool) for tool in TOOLS}
    context = desk.context()
    refused = read(tools["lookup_customer_360"], context, {})
    assert isinstance(refused, NotDone)
    assert refused.refusal.code == "AUTH"
    monkeypatch.setenv(f"TOOL_SECRET_SANDBOX_{desk.tenant.pk.hex.upper()}_STRIPE_API", SECRET_TEST)
    SecretConsent.objects.create(
        tenant=desk.tenant, capability=STRIPE_KEY, environment="sandbox", given_by="user:root", given_at=utcnow()
    )
    with caplog.at_level(logging.DEBUG):
        account = read(tools["lookup_customer_360"], context, {})
        invoice = read(tools["explain_invoice"], context, {"invoice_id": desk.paid})
        plans = read(tools["list_plans"], context, {})
        listed = read(tools["list_invoices"], context, {})
        charge = desk.charge()
        arguments = {"charge_id": charge, "amount_minor": 500, "currency": "USD", "reason": "Twice"}
        done = write(tools["refund_charge"], desk.context("refund-1"), arguments)
    assert all(isinstance(each, Done) for each in (account, invoice, plans, listed, done)), (account, invoice, done)
    assert isinstance(done, Done)
    assert done.result["refundable_minor"] == 5000
    assert SECRET_TEST not in caplog.text
