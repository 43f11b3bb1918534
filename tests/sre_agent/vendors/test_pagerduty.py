"""Calls to people at PagerDuty: once each, whatever becomes of the answers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors import PAGERDUTY_KEY
from sre_agent.connectors.pagerduty import PagerDutyPager
from sre_agent.connectors.pagerduty.objects import moment_of
from sre_agent.connectors.port import PagePerson, Pager, WithdrawPage
from sre_agent.connectors.records import OnCall
from sre_agent.models import Operation, Page
from tests.factories.fake_pagerduty.account import KEY, Account
from tests.factories.loopback import AFTER, BEFORE, running
from tests.sre_agent.vendors.cast import NOW, PAGERDUTY, Cast, cast, document

pytestmark = pytest.mark.django_db
PAGER: Pager = PagerDutyPager()
CALL = PagePerson(1, "Three of four payments fail. A rollback waits for you.")
TITLE = "INC-7 (P1): Three of four payments fail. A rollback waits for you."
OPEN = "POST /incidents"


@pytest.fixture
def shop(tmp_path: Path, settings: Any) -> Cast:
    shop = cast(PAGERDUTY_KEY, KEY)
    settings.SRE_VENDORS_FILE = document(tmp_path, shop.tenant, pagerduty=PAGERDUTY)
    return shop


@pytest.fixture
def duty(shop: Cast, settings: Any) -> Iterator[Account]:
    account = Account()
    account.add("U1", "Dana Roe", 1)
    account.add("U2", "Erik Poe", 2, end=None)
    account.add("U3", "Boss", 4)
    with running(account):
        settings.PAGERDUTY_URL = account.url
        yield account


def refused(act: Any) -> ToolFailure:
    with pytest.raises(ToolFailure) as found:
        act()
    return found.value


def pages(shop: Cast) -> list[tuple[str, str, bool]]:
    return [
        (page.person, page.contact, page.withdrawn_at is not None) for page in Page.objects.filter(tenant=shop.tenant)
    ]


def test_who_is_on_call_comes_from_the_levels_of_the_policy(shop: Cast, duty: Account) -> None:
    duty.add("U4", "Late Shift", 1, end="2026-11-03T09:00:00Z")
    assert list(PAGER.on_call(shop.call())) == [
        OnCall("Dana Roe", "dana.roe@shop.example", 1, NOW.replace(hour=17, minute=0)),
        OnCall("Erik Poe", "erik.poe@shop.example", 2, NOW + timedelta(days=7)),
    ]


def test_everybody_is_listed_whatever_the_pages_hold(shop: Cast, duty: Account) -> None:
    for number in range(10, 35):
        duty.add(f"X{number}", f"Person {number}", 3)
    duty.page = 10
    assert len(PAGER.on_call(shop.call())) == 27


def test_a_dry_run_says_who_is_called_and_calls_nobody(shop: Cast, duty: Account) -> None:
    preview = PAGER.preview(shop.call(), CALL)
    assert preview.effect == "Call Dana Roe (level 1) about incident INC-7"
    assert (duty.called, duty.bodies, pages(shop)) == ([], [], [])


def test_a_page_is_one_incident_for_one_person_and_a_row_here(shop: Cast, duty: Account) -> None:
    result = PAGER.write(shop.call("k1"), CALL)

    assert duty.called == [("U1", TITLE)]
    assert pages(shop) == [("Dana Roe", "dana.roe@shop.example", False)]
    page = Page.objects.get()
    assert result == {"page_id": page.ref, "person": "Dana Roe"}
    assert duty.bodies[0]["incident_key"] == f"agentops/{shop.tenant.pk}/{page.ref}"
    assert duty.bodies[0]["urgency"] == "high"
    assert PAGER.outcome(shop.call("k1")) == result


def test_the_same_key_calls_nobody_again(shop: Cast, duty: Account) -> None:
    result = PAGER.write(shop.call("k1"), CALL)
    assert PAGER.write(shop.call("k1"), CALL) == result
    assert refused(lambda: PAGER.write(shop.call("k1"), PagePerson(2, "Else."))).kind is FailureKind.CONFLICT
    assert duty.called == [("U1", TITLE)]


def test_another_tenants_same_key_is_another_page(shop: Cast, duty: Account) -> None:
    PAGER.write(shop.call("k1"), CALL)
    assert duty.bodies[0]["incident_key"].split("/")[1] == str(shop.tenant.pk)


NOTHING = [(500, b"oops"), (503, {}), (201, b"{"), (201, {"incident": {}}), (408, {})]


@pytest.mark.parametrize(("status", "body"), NOTHING)
@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_an_answer_that_says_nothing_is_asked_about_and_calls_once(
    shop: Cast, duty: Account, status: int, body: Any, when: str
) -> None:
    duty.fails(f"{OPEN}$", status, body, when=when)
    with pytest.raises(OutcomeUnknown):
        PAGER.write(shop.call("k1"), CALL)
    assert pages(shop) == []

    told = PAGER.outcome(shop.call("k1"))
    if when == BEFORE:
        assert told is None
        told = PAGER.write(shop.call("k1"), CALL)
    assert told == {"page_id": Page.objects.get().ref, "person": "Dana Roe"}
    assert PAGER.write(shop.call("k1"), CALL) == told
    assert duty.called == [("U1", TITLE)]
    assert pages(shop) == [("Dana Roe", "dana.roe@shop.example", False)]
    assert Page.objects.get().words == CALL.words


@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_a_cut_connection_is_unknown_and_the_write_itself_looks_first(shop: Cast, duty: Account, when: str) -> None:
    duty.cuts(f"{OPEN}$", when=when)
    with pytest.raises(OutcomeUnknown):
        PAGER.write(shop.call("k1"), CALL)
    PAGER.write(shop.call("k1"), CALL)
    assert duty.called == [("U1", TITLE)]
    assert pages(shop) == [("Dana Roe", "dana.roe@shop.example", False)]


def test_a_page_that_was_taken_over_and_resolved_meanwhile_is_still_found(shop: Cast, duty: Account) -> None:
    duty.cuts(f"{OPEN}$", when=AFTER)
    with pytest.raises(OutcomeUnknown):
        PAGER.write(shop.call("k1"), CALL)
    duty.reassigned("Q0001", "U2")
    duty.incidents["Q0001"]["status"] = "resolved"

    assert PAGER.write(shop.call("k1"), CALL)["person"] == "Dana Roe"
    assert duty.called == [("U1", TITLE)]


def test_of_two_requests_at_once_the_second_one_is_the_first(
    shop: Cast, duty: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "k1"
    PAGER.write(shop.call(key), CALL)
    Operation.objects.all().delete()
    Page.objects.all().delete()
    # The look before the call sees nothing, as if both had looked at the same time.
    duty.fails("GET /incidents$", 200, {"incidents": [], "more": False})
    PAGER.write(shop.call(key), CALL)
    assert duty.called == [("U1", TITLE)]
    assert pages(shop) == [("Dana Roe", "dana.roe@shop.example", False)]


def test_a_withdrawn_page_is_resolved_with_a_note(shop: Cast, duty: Account) -> None:
    ref = PAGER.write(shop.call("k1"), CALL)["page_id"]
    withdraw = WithdrawPage(ref)
    assert PAGER.preview(shop.call(), withdraw).target == f"page:{ref}"
    assert PAGER.write(shop.call("k2"), withdraw) == {"page_id": ref}
    assert PAGER.write(shop.call("k2"), withdraw) == {"page_id": ref}

    assert duty.resolved == ["Q0001"]
    assert duty.notes["Q0001"][0]["content"].startswith("No longer needed for INC-7")
    assert pages(shop) == [("Dana Roe", "dana.roe@shop.example", True)]


@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_a_lost_answer_to_a_withdrawal_is_found_out(shop: Cast, duty: Account, when: str) -> None:
    withdraw = WithdrawPage(PAGER.write(shop.call("k1"), CALL)["page_id"])
    duty.cuts("PUT /incidents/", when=when)
    with pytest.raises(OutcomeUnknown):
        PAGER.write(shop.call("k2"), withdraw)
    told = PAGER.outcome(shop.call("k2"))
    assert told == (None if when == BEFORE else {"page_id": withdraw.page_ref})
    if told is None:
        PAGER.write(shop.call("k2"), withdraw)
    assert duty.resolved == ["Q0001"]
    assert pages(shop) == [("Dana Roe", "dana.roe@shop.example", True)]


def test_a_page_that_somebody_resolved_is_withdrawn_without_another_word(shop: Cast, duty: Account) -> None:
    withdraw = WithdrawPage(PAGER.write(shop.call("k1"), CALL)["page_id"])
    duty.incidents["Q0001"]["status"] = "resolved"
    PAGER.write(shop.call("k2"), withdraw)
    assert duty.resolved == []
    assert pages(shop) == [("Dana Roe", "dana.roe@shop.example", True)]


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, b"", "AUTH", "does not accept the key"),
        (403, {"error": {"message": "Access Denied"}}, "AUTH", "read-only"),
        (404, {}, "NOT_FOUND", "SRE_VENDORS_FILE"),
        (
            400,
            {"error": {"message": "Invalid", "errors": ["x\x1b[2J" + "y" * 500]}},
            "VALIDATION",
            "Invalid x\\x1b[2Jyyy",
        ),
        (429, {}, "RATE_LIMIT", "asks to wait"),
    ],
)
def test_refusals_have_our_kinds_and_are_not_tried_again(
    shop: Cast, duty: Account, status: int, body: Any, kind: str, words: str
) -> None:
    duty.fails(f"{OPEN}$", status, body, Retry_After="17")
    failure = refused(lambda: PAGER.write(shop.call("k1"), CALL))
    assert (failure.kind, words in failure.message, len(failure.message) < 300) == (FailureKind(kind), True, True)
    assert failure.retry_after == (17.0 if status == 429 else None)
    assert duty.calls.count(OPEN) == 1
    assert (duty.called, pages(shop)) == ([], [])


@pytest.mark.parametrize(("status", "kind"), [(429, "RATE_LIMIT"), (500, "UNAVAILABLE"), (401, "AUTH")])
def test_who_cannot_be_looked_up_is_not_called(shop: Cast, duty: Account, status: int, kind: str) -> None:
    duty.fails("GET /oncalls", status, {})
    assert refused(lambda: PAGER.write(shop.call("k1"), CALL)).kind is FailureKind(kind)
    duty.cuts("GET /incidents$")
    assert refused(lambda: PAGER.write(shop.call("k1"), CALL)).kind is FailureKind.UNAVAILABLE
    assert duty.called == []


def test_a_sender_that_pagerduty_does_not_know_calls_nobody(
    shop: Cast, duty: Account, tmp_path: Path, settings: Any
) -> None:
    other = {**PAGERDUTY, "from": "nobody@shop.example"}
    (tmp_path / "other").mkdir()
    settings.SRE_VENDORS_FILE = document(tmp_path / "other", shop.tenant, pagerduty=other)
    assert "Requester User Not Found" in refused(lambda: PAGER.write(shop.call("k1"), CALL)).message


def test_the_key_goes_nowhere_else_and_is_never_shown(
    shop: Cast, duty: Account, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    duty.fails(f"{OPEN}$", 401, b"")
    failure = refused(lambda: PAGER.write(shop.call("k1"), CALL))
    assert KEY not in failure.in_full + caplog.text
    assert KEY[-4:] not in failure.in_full
    count = len(duty.calls)
    settings.PAGERDUTY_URL = "https://api.pagerduty.com.attacker.example"
    assert "No credential is sent" in refused(lambda: PAGER.on_call(shop.call())).message
    assert refused(lambda: PAGER.on_call(shop.call(secret=None))).kind is FailureKind.AUTH
    assert len(duty.calls) == count


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("2026-11-03T10:00:00+01:00", datetime(2026, 11, 3, 9, 0, tzinfo=UTC)),
        ("2026-11-03T10:00:00", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("soon", None),
        (7, None),
        (None, None),
    ],
)
def test_a_moment_that_pagerduty_does_not_say_is_not_guessed(said: object, known: datetime | None) -> None:
    assert moment_of(said) == known


def test_a_page_whose_moment_cannot_be_read_is_recovered_all_the_same(shop: Cast, duty: Account) -> None:
    duty.cuts(f"{OPEN}$", when=AFTER)
    with pytest.raises(OutcomeUnknown):
        PAGER.write(shop.call("k1"), CALL)
    for incident in duty.incidents.values():
        incident["created_at"] = "no moment"
    context = shop.call("k1")
    found = PAGER.outcome(context)
    page = Page.objects.get()
    assert (found and found["page_id"], page.paged_at) == (page.ref, context.now)


def test_nobody_is_called_twice_within_a_quarter_of_an_hour(shop: Cast, duty: Account) -> None:
    PAGER.write(shop.call("k1"), CALL)
    failure = refused(lambda: PAGER.write(shop.call("k2"), CALL))
    assert (failure.kind, failure.field) == (FailureKind.CONFLICT, "level")
    assert PAGER.write(shop.call("k3"), PagePerson(2, "Dana does not answer."))["person"] == "Erik Poe"
    assert [user for user, _ in duty.called] == ["U1", "U2"]
