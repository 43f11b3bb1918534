"""The fake's door: keys, idempotency, what goes wrong, and what a client sees of it through the SDK."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stripe

from tests.billing_agent.fake_stripe.conftest import Shop
from tests.factories.fake_stripe import (
    AFTER,
    BEFORE,
    CUT,
    DURING,
    GARBAGE,
    HOLD,
    HUGE,
    SECRET_LIVE,
    SECRET_TEST,
    STATUS,
    ask,
)

Refused = Callable[..., Any]
DAY = 86_400


def key(name: str) -> dict[str, str]:
    return {"idempotency_key": name}


def test_the_same_key_is_answered_as_before_and_has_its_effect_once(shop: Shop) -> None:
    charge = shop.charge()
    first, again = (shop.api.refunds.create({"charge": charge.id, "amount": 100}, key("k")) for _ in range(2))
    assert again.to_dict() == first.to_dict()
    assert again.last_response.headers["Idempotent-Replayed"] == "true"
    assert again.last_response.headers["Original-Request"] == first.last_response.headers["Request-Id"]
    assert [entry["key"] for entry in shop.fake.effects("refund.created")] == ["k"]


def test_a_decline_is_kept_under_its_key(shop: Shop, refused: Refused) -> None:
    bad = shop.fake.card(shop.dana, "insufficient_funds")
    invoice = shop.invoice(1000)
    for _ in range(2):
        error = refused(lambda: shop.api.invoices.pay(invoice.id, {"payment_method": bad}, key("k")), stripe.CardError)
        assert (error.http_status, error.code, error.error.decline_code) == (402, "card_declined", "insufficient_funds")
    assert len(shop.fake.effects("charge.failed")) == 1


def test_a_key_with_other_parameters_or_for_another_endpoint_is_refused(shop: Shop, refused: Refused) -> None:
    charge = shop.charge()
    shop.api.refunds.create({"charge": charge.id, "amount": 100}, key("k"))
    for call in (
        lambda: shop.api.refunds.create({"charge": charge.id, "amount": 101}, key("k")),
        lambda: shop.api.customers.update(shop.dana, {"name": "Dan"}, key("k")),
    ):
        assert refused(call, stripe.IdempotencyError).http_status == 400
    assert shop.api.charges.retrieve(charge.id).amount_refunded == 100


def test_a_key_whose_parameters_were_wrong_is_still_free(shop: Shop, refused: Refused) -> None:
    charge = shop.charge()
    assert refused(lambda: shop.api.refunds.create({"charge": charge.id, "amount": 0}, key("k"))).http_status == 400
    assert shop.api.refunds.create({"charge": charge.id, "amount": 1}, key("k")).amount == 1


def test_what_the_objects_did_not_allow_is_kept_under_its_key(shop: Shop, refused: Refused) -> None:
    charge = shop.charge()
    whole = {"charge": charge.id, "amount": 9999}
    assert refused(lambda: shop.api.refunds.create(whole, key("k"))).param == "amount"
    again = refused(lambda: shop.api.refunds.create(whole, key("k")))
    assert again.headers["Idempotent-Replayed"] == "true"
    assert refused(lambda: shop.api.refunds.create({**whole, "amount": 1}, key("k")), stripe.IdempotencyError)


def test_a_key_is_forgotten_after_a_day(shop: Shop) -> None:
    charge = shop.charge()
    asked = {"charge": charge.id, "amount": 100}
    first = shop.api.refunds.create(asked, key("k"))
    shop.fake.pass_time(DAY - 1)
    assert shop.api.refunds.create(asked, key("k")).id == first.id
    shop.fake.pass_time(1)
    assert shop.api.refunds.create(asked, key("k")).id != first.id


def test_a_key_of_the_other_mode_is_another_key(shop: Shop) -> None:
    live = shop.client(SECRET_LIVE)
    made = live.customers.create({"name": "Dana"}, key("k"))
    assert made.livemode is True
    assert shop.api.customers.create({"name": "Erin"}, key("k")).livemode is False


def test_a_key_that_is_in_flight_is_a_conflict(shop: Shop, refused: Refused) -> None:
    charge = shop.charge()
    asked = {"charge": charge.id, "amount": 100}
    held = shop.fake.fault("POST /v1/refunds", HOLD, when=DURING)
    done: list[Any] = []
    slow = threading.Thread(target=lambda: done.append(shop.api.refunds.create(asked, key("k"))))
    slow.start()
    assert held.seen.wait(20)
    with pytest.raises(stripe.StripeError) as error:
        shop.api.refunds.create(asked, key("k"))
    assert (error.value.http_status, error.value.error.code) == (409, "idempotency_key_in_use")
    held.release()
    slow.join(20)
    assert shop.api.refunds.create(asked, key("k")).id == done[0].id
    assert len(shop.fake.effects("refund.created")) == 1


def test_many_equal_requests_at_once_have_one_effect(shop: Shop) -> None:
    charge, answers = shop.charge(), []

    def refund() -> None:
        try:
            answers.append(shop.api.refunds.create({"charge": charge.id, "amount": 100}, key("k")).id)
        except stripe.StripeError as error:
            answers.append(str(error.http_status))

    threads = [threading.Thread(target=refund) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    (made,) = shop.fake.objects("refund")
    assert len(answers) == 20
    assert set(answers) <= {made["id"], "409"}


@pytest.mark.parametrize(("when", "effects"), [(BEFORE, 0), (AFTER, 1)])
def test_a_connection_that_is_cut_tells_nothing_and_the_key_does(shop: Shop, when: str, effects: int) -> None:
    charge = shop.charge()
    asked = {"charge": charge.id, "amount": 100}
    shop.fake.fault("POST /v1/refunds", CUT, when=when)
    with pytest.raises(stripe.APIConnectionError):
        shop.api.refunds.create(asked, key("k"))
    assert len(shop.fake.effects("refund.created")) == effects
    shop.api.refunds.create(asked, key("k"))
    assert len(shop.fake.effects("refund.created")) == 1


def test_an_error_of_stripes_own_is_kept_only_when_it_is_said_to_be(shop: Shop, refused: Refused) -> None:
    charge = shop.charge()
    asked = {"charge": charge.id, "amount": 100}
    shop.fake.fault("POST /v1/refunds", STATUS, status=500, when=AFTER)
    assert refused(lambda: shop.api.refunds.create(asked, key("one")), stripe.APIError).http_status == 500
    assert shop.api.refunds.create(asked, key("one")).amount == 100
    shop.fake.fault("POST /v1/refunds", STATUS, status=500, when=AFTER, kept=True)
    for _ in range(2):
        assert refused(lambda: shop.api.refunds.create(asked, key("two")), stripe.APIError).http_status == 500
    assert len(shop.fake.effects("refund.created")) == 2


def test_a_limit_says_when_to_come_back(shop: Shop, refused: Refused) -> None:
    shop.fake.fault("GET /v1/customers", STATUS, status=429, retry_after="7", skip=1)
    assert shop.api.customers.list().data
    error = refused(shop.api.customers.list, stripe.RateLimitError)
    assert (error.http_status, error.error.code, error.headers["Retry-After"]) == (429, "rate_limit", "7")
    assert shop.api.customers.list().data


@pytest.mark.parametrize(("kind", "size"), [(GARBAGE, 0), (HUGE, 3_000_000)])
def test_an_answer_can_be_no_answer(shop: Shop, kind: str, size: int) -> None:
    shop.fake.fault("GET /v1/account", kind, size=size)
    request = urllib.request.Request(f"{shop.fake.url}/v1/account", headers={"Authorization": f"Bearer {SECRET_TEST}"})
    with urllib.request.urlopen(request) as answer:
        body = answer.read()
    assert len(body) > size
    if kind == GARBAGE:
        with pytest.raises(ValueError, match=r"decode|Expecting"):
            json.loads(body)


def test_a_wrong_key_and_a_revoked_one_are_refused(shop: Shop, refused: Refused) -> None:
    for secret in ("sk_test_never", ""):
        with pytest.raises(stripe.AuthenticationError):
            shop.client(secret or "x").customers.list()
    shop.fake.revoke(SECRET_TEST)
    error = refused(shop.api.customers.list, stripe.AuthenticationError)
    assert error.http_status == 401
    assert SECRET_TEST not in str(error)


def test_a_restricted_key_does_what_it_may(shop: Shop, refused: Refused) -> None:
    charge = shop.charge()
    may = shop.client(shop.fake.restricted_key("rk_test_0001", {"charge": "read", "customer": "write"}))
    assert may.charges.retrieve(charge.id).id == charge.id
    assert may.customers.update(shop.dana, {"name": "Dan"}).name == "Dan"
    for call, needed in (
        (lambda: may.refunds.create({"charge": charge.id}), "rak_charge_write"),
        (may.invoices.list, "rak_invoice_read"),
    ):
        error = refused(call, stripe.PermissionError)
        assert error.http_status == 403
        assert needed in str(error)


def test_test_and_live_do_not_see_each_other(shop: Shop, refused: Refused) -> None:
    live = shop.client(SECRET_LIVE)
    assert live.customers.list().data == []
    error = refused(lambda: live.customers.retrieve(shop.dana))
    assert (error.http_status, error.code) == (404, "resource_missing")
    assert "exists in test mode, but a live mode key was used" in str(error)


def test_another_version_endpoint_or_parameter_is_refused(shop: Shop, refused: Refused) -> None:
    assert "version" in str(refused(shop.client(SECRET_TEST, "2020-08-27").customers.list))
    assert refused(shop.api.balance.retrieve).http_status == 404
    error = refused(lambda: shop.api.refunds.create({"chrage": "ch_1"}))
    assert (error.code, error.param) == ("parameter_unknown", "chrage")
    for wrong in ("1.5", "1e3", "1,000", "9" * 30):
        error = refused(lambda wrong=wrong: shop.api.refunds.create({"charge": "ch_1", "amount": wrong}))
        assert (error.code, error.param) == ("parameter_invalid_integer", "amount")


def test_pages_follow_cursors_both_ways(shop: Shop, refused: Refused) -> None:
    made = [shop.api.customers.create({"name": str(number)}).id for number in range(24)]
    newest = [*reversed(made), shop.dana]
    first = shop.api.customers.list()
    assert ([each.id for each in first.data], first.has_more) == (newest[:10], True)
    second = shop.api.customers.list({"limit": 15, "starting_after": newest[9]})
    assert ([each.id for each in second.data], second.has_more) == (newest[10:], False)
    back = shop.api.customers.list({"limit": 5, "ending_before": newest[10]})
    assert ([each.id for each in back.data], back.has_more) == (newest[5:10], True)
    assert [each.id for each in shop.api.customers.list({"limit": 7}).auto_paging_iter()] == newest
    assert refused(lambda: shop.api.customers.list({"limit": 101})).param == "limit"
    assert refused(lambda: shop.api.customers.list({"starting_after": "cus_never"})).code == "resource_missing"


def test_a_search_lags_behind(shop: Shop) -> None:
    query = {"query": "metadata['case']:'c-1' AND email:'erin@example.com'"}
    erin = shop.api.customers.create({"email": "erin@example.com", "metadata": {"case": "c-1"}})
    assert shop.api.customers.search(query).data == []
    shop.fake.pass_time(60)
    assert [each.id for each in shop.api.customers.search(query).data] == [erin.id]
    shop.api.customers.update(erin.id, {"metadata": {"case": "c-2"}})
    assert [each.metadata["case"] for each in shop.api.customers.search(query).data] == ["c-1"]
    shop.fake.pass_time(60)
    assert shop.api.customers.search(query).data == []


def test_what_is_expanded_stands_where_its_id_stood(shop: Shop, refused: Refused) -> None:
    charge = shop.charge()
    told = shop.api.charges.retrieve(charge.id, {"expand": ["customer", "payment_intent.customer", "refunds"]})
    assert (told.customer.name, told.payment_intent.customer.name, told.refunds.data) == ("Dana", "Dana", [])
    listed = shop.api.charges.list({"expand": ["data.balance_transaction"]})
    assert listed.data[0].balance_transaction.net == 5000 - 145 - 30
    for path in ("customer", "data.nothing"):
        assert "cannot be expanded" in str(refused(lambda path=path: shop.api.charges.list({"expand": [path]})))
    deep = {"expand": ["data.payment_intent.latest_charge.payment_intent.customer"]}
    assert "more than 4 levels" in str(refused(lambda: shop.api.charges.list(deep)))


def test_the_process_outlives_a_client_that_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "effects"
    command = [sys.executable, "-m", "tests.factories.fake_stripe", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            ask(url, "fault", call="POST /v1/customers", kind=HOLD, when=AFTER)
            program = (
                f"import urllib.request as u; u.urlopen(u.Request('{url}/v1/customers', b'name=Dana',"
                f" {{'Authorization': 'Bearer {SECRET_TEST}', 'Idempotency-Key': 'k'}}))"
            )
            with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as client:
                while not (log.exists() and log.read_text()):
                    assert client.poll() is None, "the client ended before it was killed"
                os.kill(client.pid, signal.SIGKILL)
                client.wait(20)
            (entry,) = map(json.loads, log.read_text().splitlines())
            assert (entry["effect"], entry["key"], entry["n"]) == ("customer.created", "k", 1)
            assert ask(url, "effects") == [entry]
            with pytest.raises(urllib.error.HTTPError):
                ask(url, "no_such_command")
        finally:
            process.kill()
