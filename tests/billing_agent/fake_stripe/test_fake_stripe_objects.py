"""What the fake's objects do, as the API's documentation describes it, seen through the official SDK."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
import stripe

from tests.billing_agent.fake_stripe.conftest import NOW, Shop
from tests.factories.fake_stripe import WEBHOOK_SECRET

Refused = Callable[..., Any]
NOVEMBER, DECEMBER = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
YEAR = datetime(2027, 12, 1, tzinfo=UTC)


def left_of_november(amount: int, at: datetime) -> int:
    """Return what the rest of November costs, half a cent up."""
    part = Fraction(amount) * Fraction(int((DECEMBER - at).total_seconds()), int((DECEMBER - NOVEMBER).total_seconds()))
    return int(part + Fraction(1, 2))


def changed(subscription: Any, price: str, **more: Any) -> dict[str, Any]:
    """Return what another price is asked with."""
    return {"items": [{"id": subscription["items"].data[0].id, "price": price, **more}]}


def amounts(invoice: Any) -> list[int]:
    return [line.amount for line in invoice.lines.data]


def test_the_first_period_is_billed_and_paid_at_once(shop: Shop) -> None:
    made = shop.subscribe(shop.team, default_tax_rates=[shop.tax], expand=["latest_invoice"])
    invoice = made.latest_invoice
    assert (made.status, invoice.status, invoice.billing_reason) == ("active", "paid", "subscription_create")
    assert (invoice.subtotal, invoice.total, invoice.amount_paid) == (2000, 2200, 2200)
    assert [(tax.amount, tax.taxable_amount) for tax in invoice.total_taxes] == [(200, 2000)]
    item = made["items"].data[0]
    assert (item.current_period_start, item.current_period_end) == (NOVEMBER.timestamp(), DECEMBER.timestamp())


def test_a_first_period_that_is_declined_is_incomplete_or_not_begun(shop: Shop, refused: Refused) -> None:
    shop.fake.issuer(shop.card, "insufficient_funds")
    made = shop.subscribe(shop.team, expand=["latest_invoice"])
    assert (made.status, made.latest_invoice.status) == ("incomplete", "open")
    error = refused(lambda: shop.subscribe(shop.team, payment_behavior="error_if_incomplete"), stripe.CardError)
    assert error.error.decline_code == "insufficient_funds"
    assert len(shop.fake.objects("subscription")) == 1


@pytest.mark.parametrize("hour", [0, 9, 23])
@pytest.mark.parametrize("quantity", [1, 3])
def test_another_price_now_is_prorated_by_the_second_and_as_previewed(shop: Shop, hour: int, quantity: int) -> None:
    made, dearer, at = shop.subscribe(shop.team), shop.price(4999), NOW.replace(hour=hour, minute=17, second=41)
    details = {
        **changed(made, dearer, quantity=quantity),
        "proration_behavior": "always_invoice",
        "proration_date": int(at.timestamp()),
    }
    told = shop.api.invoices.create_preview({"subscription": made.id, "subscription_details": details})
    unused, remaining = -left_of_november(2000, at), left_of_november(4999 * quantity, at)
    assert amounts(told) == [unused, remaining]
    assert all(line.parent.subscription_item_details.proration for line in told.lines.data)
    assert len(shop.fake.objects("invoice")) == 1
    after = shop.api.subscriptions.update(made.id, {**details, "expand": ["latest_invoice"]})
    assert (amounts(after.latest_invoice), after.latest_invoice.total) == ([unused, remaining], told.total)
    assert (after.latest_invoice.status, after.latest_invoice.billing_reason) == ("paid", "subscription_update")


def test_prorations_wait_for_the_renewal_unless_they_are_invoiced_always(shop: Shop) -> None:
    made, dearer = shop.subscribe(shop.team), shop.price(5000)
    shop.api.subscriptions.update(made.id, changed(made, dearer))
    waiting = shop.api.invoice_items.list({"customer": shop.dana, "pending": True}).data
    assert sum(item.amount for item in waiting) == left_of_november(5000, NOW) - left_of_november(2000, NOW)
    shop.fake.at(DECEMBER)
    latest = shop.api.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]}).latest_invoice
    assert sorted(amounts(latest)) == sorted([*(item.amount for item in waiting), 5000])
    assert (latest.status, latest.billing_reason) == ("paid", "subscription_cycle")


def test_a_cheaper_price_gives_credit_that_the_next_invoice_uses(shop: Shop) -> None:
    made, cheap = shop.subscribe(shop.team), shop.price(500)
    asked = {**changed(made, cheap), "proration_behavior": "always_invoice", "expand": ["latest_invoice"]}
    invoice = shop.api.subscriptions.update(made.id, asked).latest_invoice
    credit = left_of_november(2000, NOW) - left_of_november(500, NOW)
    assert (invoice.total, invoice.amount_due, invoice.status) == (-credit, 0, "paid")
    assert shop.api.customers.retrieve(shop.dana).balance == -credit
    shop.fake.at(DECEMBER)
    renewed = shop.api.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]}).latest_invoice
    assert (renewed.total, renewed.starting_balance, renewed.amount_due) == (500, -credit, 0)
    assert shop.api.customers.retrieve(shop.dana).balance == 500 - credit
    kinds = [moved.type for moved in shop.api.customers.balance_transactions.list(shop.dana).data]
    assert kinds == ["applied_to_invoice", "applied_to_invoice"]


def test_another_interval_begins_a_new_period_now(shop: Shop) -> None:
    made, yearly = shop.subscribe(shop.team), shop.price(24000, "year")
    after = shop.api.subscriptions.update(made.id, {**changed(made, yearly), "expand": ["latest_invoice"]})
    assert amounts(after.latest_invoice) == [-left_of_november(2000, NOW), 24000]
    item = after["items"].data[0]
    assert item.current_period_start == after.billing_cycle_anchor == NOW.timestamp()
    assert item.current_period_end == NOW.replace(year=2027).timestamp()


def test_a_schedule_changes_the_price_when_the_period_ends(shop: Shop) -> None:
    made, dearer = shop.subscribe(shop.team), shop.price(5000)
    schedule = shop.api.subscription_schedules.create({"from_subscription": made.id})
    now = {name: getattr(schedule.phases[0], name) for name in ("start_date", "end_date")}
    phases = [
        {**now, "items": [{"price": shop.team}]},
        {"items": [{"price": dearer}], "duration": {"interval": "month"}},
    ]
    shop.api.subscription_schedules.update(schedule.id, {"phases": phases, "end_behavior": "release"})
    assert shop.api.subscriptions.retrieve(made.id)["items"].data[0].price.id == shop.team
    shop.fake.at(DECEMBER)
    after = shop.api.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]})
    assert (after["items"].data[0].price.id, amounts(after.latest_invoice)) == (dearer, [5000])
    shop.fake.at(datetime(2027, 1, 2, tzinfo=UTC))
    after = shop.api.subscriptions.retrieve(made.id)
    assert (after.schedule, after["items"].data[0].price.id, after.status) == (None, dearer, "active")


def test_a_subscription_ends_with_its_period_or_at_once(shop: Shop, refused: Refused) -> None:
    later, now = shop.subscribe(shop.team), shop.subscribe(shop.team)
    assert shop.api.subscriptions.update(later.id, {"cancel_at_period_end": True}).cancel_at == DECEMBER.timestamp()
    assert shop.api.subscriptions.cancel(now.id).ended_at == NOW.timestamp()
    assert shop.api.subscriptions.retrieve(later.id).status == "active"
    shop.fake.at(DECEMBER)
    assert [each.id for each in shop.api.subscriptions.list({"customer": shop.dana}).data] == []
    ended = shop.api.subscriptions.list({"customer": shop.dana, "status": "canceled"}).data
    assert [each.id for each in ended] == [now.id, later.id]
    assert refused(lambda: shop.api.subscriptions.update(now.id, {"cancel_at_period_end": True})).http_status == 400


@pytest.mark.parametrize(
    ("behavior", "status"), [("void", "void"), ("mark_uncollectible", "uncollectible"), ("keep_as_draft", "draft")]
)
def test_what_is_billed_during_a_pause_is_not_collected(shop: Shop, behavior: str, status: str) -> None:
    made = shop.subscribe(shop.team)
    resumes = int(DECEMBER.timestamp()) + 86_400
    shop.api.subscriptions.update(made.id, {"pause_collection": {"behavior": behavior, "resumes_at": resumes}})
    shop.fake.at(DECEMBER)
    paused = shop.api.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]})
    assert (paused.status, paused.latest_invoice.status) == ("active", status)
    shop.fake.at(datetime(2027, 1, 1, tzinfo=UTC))
    resumed = shop.api.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]})
    assert (resumed.pause_collection, resumed.latest_invoice.status) == (None, "paid")


def test_a_renewal_that_is_declined_is_tried_again_until_it_pays(shop: Shop) -> None:
    made = shop.subscribe(shop.team)
    shop.fake.issuer(shop.card, "insufficient_funds")
    shop.fake.at(DECEMBER)
    failed = shop.api.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]})
    assert (failed.status, failed.latest_invoice.attempt_count) == ("past_due", 1)
    assert failed.latest_invoice.next_payment_attempt == DECEMBER.timestamp() + 3 * 86_400
    shop.fake.issuer(shop.card, "")
    shop.fake.at(DECEMBER.replace(day=4))
    paid = shop.api.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]})
    assert (paid.status, paid.latest_invoice.status, paid.latest_invoice.attempt_count) == ("active", "paid", 2)


def test_an_invoice_is_draft_open_and_paid_and_then_never_changes(shop: Shop, refused: Refused) -> None:
    draft = shop.api.invoices.create({"customer": shop.dana, "default_tax_rates": [shop.tax]})
    shop.api.invoice_items.create({"customer": shop.dana, "invoice": draft.id, "amount": 999, "currency": "usd"})
    opened = shop.api.invoices.finalize_invoice(draft.id)
    assert (opened.status, opened.total, opened.amount_due, opened.number[-4:]) == ("open", 1099, 1099, "0001")
    assert shop.api.invoices.pay(draft.id).status == "paid"
    for call in (
        lambda: shop.api.invoices.pay(draft.id),
        lambda: shop.api.invoices.void_invoice(draft.id),
        lambda: shop.api.invoices.delete(draft.id),
        lambda: shop.api.invoices.update(draft.id, {"description": "Other"}),
        lambda: shop.api.invoice_items.create(
            {"customer": shop.dana, "invoice": draft.id, "amount": 1, "currency": "usd"}
        ),
    ):
        assert refused(call).http_status == 400
    assert shop.api.invoices.retrieve(draft.id).amount_paid == 1099


def test_lines_are_put_on_a_draft_all_or_none(shop: Shop, refused: Refused) -> None:
    draft = shop.api.invoices.create({"customer": shop.dana, "currency": "usd", "default_tax_rates": [shop.tax]})

    def line(minor: int, currency: str = "usd") -> dict[str, Any]:
        data = {"currency": currency, "unit_amount": minor, "product_data": {"name": "Seat"}}
        return {"description": "Seats", "quantity": 3, "price_data": data}

    mixed = {"lines": [line(5), line(5, "eur")]}
    assert refused(lambda: shop.api.invoices.add_lines(draft.id, mixed)).param == "lines[1]"
    assert shop.api.invoices.retrieve(draft.id).lines.data == []
    told = shop.api.invoices.add_lines(draft.id, {"lines": [line(333), line(100)], "invoice_metadata": {"a": "b"}})
    assert (amounts(told), told.total, told.metadata["a"]) == ([999, 300], 1299 + 100 + 30, "b")


def test_credit_is_used_when_an_invoice_is_issued_and_comes_back_when_it_is_void(shop: Shop) -> None:
    shop.api.customers.balance_transactions.create(shop.dana, {"amount": -700, "currency": "usd"})
    opened = shop.invoice(2000)
    assert (opened.total, opened.amount_due, opened.starting_balance, opened.ending_balance) == (2000, 1300, -700, 0)
    assert shop.api.invoices.void_invoice(opened.id).status == "void"
    assert shop.api.customers.retrieve(shop.dana).balance == -700
    kinds = [moved.type for moved in shop.api.customers.balance_transactions.list(shop.dana).data]
    assert kinds == ["unapplied_from_invoice", "applied_to_invoice", "adjustment"]


def test_a_credit_note_lowers_an_open_invoice_until_it_is_paid(shop: Shop, refused: Refused) -> None:
    opened = shop.invoice(2000)
    note = shop.api.credit_notes.create({"invoice": opened.id, "amount": 500})
    assert (note.pre_payment_amount, note.type) == (500, "pre_payment")
    lower = shop.api.invoices.retrieve(opened.id)
    assert (lower.amount_remaining, lower.pre_payment_credit_notes_amount, lower.status) == (1500, 500, "open")
    assert refused(lambda: shop.api.credit_notes.create({"invoice": opened.id, "amount": 1501})).param == "amount"
    assert shop.api.credit_notes.void_credit_note(note.id).status == "void"
    shop.api.credit_notes.create({"invoice": opened.id, "amount": 2000})
    closed = shop.api.invoices.retrieve(opened.id)
    assert (closed.status, closed.amount_paid, closed.amount_remaining) == ("paid", 0, 0)


def test_less_than_a_card_is_charged_with_is_kept_as_a_debt(shop: Shop) -> None:
    small = shop.invoice(30)
    assert (small.status, small.amount_due) == ("paid", 0)
    assert shop.api.customers.retrieve(shop.dana).balance == 30
    assert shop.invoice(1000).amount_due == 1030


def test_an_issuer_that_declines_leaves_a_charge_with_the_reason(shop: Shop, refused: Refused) -> None:
    lost, opened = shop.fake.card(shop.dana, "lost_card"), shop.invoice(1000)
    error = refused(lambda: shop.api.invoices.pay(opened.id, {"payment_method": lost}), stripe.CardError)
    charge = shop.api.charges.retrieve(error.error.charge)
    assert (charge.status, charge.paid, charge.failure_code) == ("failed", False, "card_declined")
    assert charge.outcome.reason == error.error.decline_code == "lost_card"
    assert shop.api.invoices.retrieve(opened.id).attempt_count == 1
    again = refused(lambda: shop.api.invoices.pay(opened.id, {"payment_method": lost}), stripe.CardError)
    assert again.code == "card_declined"
    # What a person tries moves the count of automatic attempts once only.
    assert shop.api.invoices.retrieve(opened.id).attempt_count == 1


def test_a_card_whose_month_is_over_has_expired(shop: Shop, refused: Refused) -> None:
    old, opened = shop.fake.card(shop.dana, exp=(2026, 10)), shop.invoice(1000)
    error = refused(lambda: shop.api.invoices.pay(opened.id, {"payment_method": old}), stripe.CardError)
    assert (error.code, error.error.decline_code if "decline_code" in error.error else None) == ("expired_card", None)
    assert (
        shop.api.invoices.pay(opened.id, {"payment_method": shop.fake.card(shop.dana, exp=(2026, 11))}).status == "paid"
    )


def test_cards_of_the_documentation_pay_or_decline_when_they_are_saved(shop: Shop, refused: Refused) -> None:
    saved = shop.api.payment_methods.attach("pm_card_visa", {"customer": shop.dana})
    assert (saved.card.last4, saved.customer) == ("4242", shop.dana)
    funds = "pm_card_chargeDeclinedInsufficientFunds"
    error = refused(lambda: shop.api.payment_methods.attach(funds, {"customer": shop.dana}), stripe.CardError)
    assert error.error.decline_code == "insufficient_funds"
    assert [each.id for each in shop.api.customers.payment_methods.list(shop.dana).data] == [saved.id, shop.card]


def test_never_more_is_refunded_than_was_taken(shop: Shop, refused: Refused) -> None:
    charge = shop.charge(5000)
    for amount in (1, 4998):
        shop.api.refunds.create({"charge": charge.id, "amount": amount})
    error = refused(lambda: shop.api.refunds.create({"charge": charge.id, "amount": 2}))
    assert "greater than unrefunded amount on charge ($0.01)" in str(error)
    shop.api.refunds.create({"payment_intent": charge.payment_intent})
    assert refused(lambda: shop.api.refunds.create({"charge": charge.id})).code == "charge_already_refunded"
    told = shop.api.charges.retrieve(charge.id, {"expand": ["refunds"]})
    assert (told.amount_refunded, told.refunded, [each.amount for each in told.refunds.data]) == (
        5000,
        True,
        [1, 4998, 1],
    )


def test_a_disputed_charge_is_refunded_only_after_it_was_won(shop: Shop, refused: Refused) -> None:
    charge = shop.charge(5000)
    dispute = shop.fake.dispute(charge.id)
    assert shop.api.disputes.list({"charge": charge.id}).data[0].status == "needs_response"
    assert refused(lambda: shop.api.refunds.create({"charge": charge.id})).code == "charge_disputed"
    assert shop.api.disputes.update(dispute["id"], {"submit": True}).status == "under_review"
    assert shop.fake.settle(dispute["id"], won=True)["status"] == "won"
    moved = shop.api.balance_transactions.list({"source": dispute["id"]}).data
    assert sorted(each.amount for each in moved) == [-5000, 5000]
    assert shop.api.refunds.create({"charge": charge.id}).amount == 5000


def test_a_deleted_customer_is_told_as_deleted_and_their_subscriptions_end(shop: Shop, refused: Refused) -> None:
    made, charge = shop.subscribe(shop.team), shop.charge()
    assert shop.api.customers.delete(shop.dana).deleted is True
    assert shop.api.customers.retrieve(shop.dana).to_dict() == {"id": shop.dana, "object": "customer", "deleted": True}
    assert shop.api.subscriptions.retrieve(made.id).status == "canceled"
    for call in (
        lambda: shop.api.customers.update(shop.dana, {"name": "Dan"}),
        lambda: shop.api.invoices.create({"customer": shop.dana}),
    ):
        assert refused(call).code == "resource_missing"
    assert shop.api.refunds.create({"charge": charge.id, "amount": 1}).amount == 1


def test_a_customer_has_one_currency_and_yen_have_no_parts(shop: Shop, refused: Refused) -> None:
    kei = shop.api.customers.create({"name": "Kei"}).id
    card = shop.fake.card(kei)
    draft = shop.api.invoices.create({"customer": kei, "currency": "jpy", "default_tax_rates": [shop.tax]})
    shop.api.invoice_items.create({"customer": kei, "invoice": draft.id, "amount": 1205, "currency": "jpy"})
    paid = shop.api.invoices.pay(draft.id, {"payment_method": card})
    # Half a yen goes up.
    assert (paid.total, paid.amount_paid, paid.currency) == (1326, 1326, "jpy")
    for call in (
        lambda: shop.api.invoices.create({"customer": kei, "currency": "usd"}),
        lambda: shop.api.customers.balance_transactions.create(kei, {"amount": -1, "currency": "usd"}),
    ):
        assert "cannot combine currencies" in str(refused(call))
    asked = {"amount": 49, "currency": "jpy", "customer": kei}
    assert refused(lambda: shop.api.payment_intents.create(asked)).code == "amount_too_small"


@contextmanager
def receiver() -> Iterator[tuple[str, list[tuple[bytes, str]]]]:
    """Run something that takes webhooks."""
    taken: list[tuple[bytes, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append((self.rfile.read(int(self.headers["Content-Length"])), self.headers["Stripe-Signature"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/hook", taken
        server.shutdown()
        thread.join(10)


def test_events_are_sent_signed_in_any_order_again_and_corrupted(shop: Shop) -> None:
    charge = shop.charge()
    shop.api.refunds.create({"charge": charge.id, "amount": 100}, {"idempotency_key": "k"})
    succeeded, refunded = shop.fake.events(["charge.succeeded", "charge.refunded"])
    assert refunded["request"]["idempotency_key"] == "k"
    with receiver() as (url, taken):
        for event in (refunded, succeeded, refunded):
            assert shop.fake.deliver(url, event)[0] == 204
        shop.fake.deliver(url, refunded, corrupt=True)
        shop.fake.deliver(url, refunded, secret="whsec_other")
    verified = [stripe.Webhook.construct_event(*each, WEBHOOK_SECRET, tolerance=None) for each in taken[:3]]
    assert [event.id for event in verified] == [refunded["id"], succeeded["id"], refunded["id"]]
    assert verified[0].data.object.amount_refunded == 100
    assert verified[0].data.previous_attributes.amount_refunded == 0
    for body, header in taken[3:]:
        with pytest.raises(stripe.SignatureVerificationError):
            stripe.Webhook.construct_event(body, header, WEBHOOK_SECRET, tolerance=None)
    listed = shop.api.events.list({"types": ["charge.refunded"]}).data
    assert [event.id for event in listed] == [refunded["id"]]
