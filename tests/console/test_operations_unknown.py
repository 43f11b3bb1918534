"""The reconciliation queue."""

import re
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from agentops.console.operations import queries
from agentops.registry import roles
from agentops.runtime.audit import audit_session
from agentops.runtime.models import Invocation
from tests.console.conftest import Stage, pay
from tests.console.operators import become_unknown, queries_of, read, words_of
from tests.factories.sums import sums_of_targets

URL = "/operations/unknown/"


def settle(
    client: Client, call: Invocation, happened: str = "yes", evidence: str = "Receipt r-1 in the vendor's list."
) -> int:
    response = client.post(f"{URL}{call.pk}/settle/", {"happened": happened, "evidence": evidence})
    return response.status_code


def state_of(call: Invocation) -> str:
    call.refresh_from_db()
    assert audit_session(call.session_id) == []
    return call.state


def test_evidence_is_all_there(stage: Stage, bob: Client) -> None:
    call = become_unknown(stage)
    page = bob.get(URL).content.decode()
    words = words_of(page)
    for found in (
        "Pay $5.00 from a-1",
        "Tool pay",
        "account a-1",
        "minor 500",
        call.idempotency_key or "?",
        "Unknown since",
    ):
        assert found in words
    assert "The worker stopped during the call. Asking the system of record about it failed." in words
    assert "A person must check with the system of record." in words
    assert f'href="/sessions/{call.session_id}/?at={call.position}#step-{call.position}"' in page
    assert "Unknown outcomes 1" in words
    assert "1 to look at" in words
    assert "1 call has an unknown outcome" in read(bob, "/")


def test_system_of_record_is_asked_again(stage: Stage, bob: Client) -> None:
    call = become_unknown(stage)
    stage.toy.vendor.deaf = True
    deaf = bob.post(f"{URL}{call.pk}/ask/")
    assert deaf.status_code == 409
    assert "The system of record does not answer." in words_of(deaf.content.decode())
    assert state_of(call) == "unknown"
    stage.toy.vendor.deaf = False
    told = bob.post(f"{URL}{call.pk}/ask/", follow=True)
    assert "The system of record says: It took effect." in words_of(told.content.decode())
    assert "Every outcome is known." in words_of(told.content.decode())
    assert (state_of(call), len(stage.toy.vendor.calls)) == ("succeeded", 1)


def test_person_says_that_it_happened(stage: Stage, bob: Client) -> None:
    call = become_unknown(stage)
    assert settle(bob, call) == 302
    assert (state_of(call), sums_of_targets().get().total_minor) == ("succeeded", 500)
    assert stage.toy.vendor.balances["a-1"] == 99_500


def test_person_says_that_it_did_not_happen(stage: Stage, bob: Client) -> None:
    call = become_unknown(stage)
    assert settle(bob, call, "no") == 302
    assert (state_of(call), call.idempotency_key, sums_of_targets().get().total_minor) == ("failed", None, 0)


def test_person_cannot_say_too_early_that_it_did_not_happen(stage: Stage, bob: Client, settings: Settings) -> None:
    settings.RECONCILE_AFTER_SECONDS = 300
    call = become_unknown(stage)
    response = bob.post(f"{URL}{call.pk}/settle/", {"happened": "no", "evidence": "Not on the statement."})
    assert response.status_code == 409
    assert "nobody can say yet that it did not happen. Look again in 5 min." in words_of(response.content.decode())
    assert state_of(call) == "unknown"


@pytest.mark.parametrize(
    ("happened", "evidence", "words"),
    [
        ("yes", "  ", "Say how you know: name the record or the number that you saw."),
        ("", "Receipt r-1.", "Say whether it happened."),
        ("perhaps", "Receipt r-1.", "perhaps is not one of the available choices."),
    ],
)
def test_half_an_answer_is_none(stage: Stage, bob: Client, happened: str, evidence: str, words: str) -> None:
    call = become_unknown(stage)
    response = bob.post(f"{URL}{call.pk}/settle/", {"happened": happened, "evidence": evidence})
    page = response.content.decode()
    assert response.status_code == 422
    assert words in words_of(page)
    assert '<details class="fold" open>' in page
    assert evidence.strip() in page
    assert state_of(call) == "unknown"


def test_second_answer_finds_it_known(stage: Stage, bob: Client) -> None:
    call = become_unknown(stage)
    settle(bob, call)
    late = bob.post(f"{URL}{call.pk}/settle/", {"happened": "no", "evidence": "I saw nothing."})
    assert late.status_code == 409
    assert "What became of this call is known by now." in words_of(late.content.decode())
    assert state_of(call) == "succeeded"


def test_approver_reads_and_outsider_finds_nothing(stage: Stage, alice: Client, charlie: Client) -> None:
    call = become_unknown(stage)
    page = alice.get(URL).content.decode()
    assert "Pay $5.00 from a-1" in page
    assert "<form" not in page.split('<article class="sec"')[1].split("</article>")[0]
    assert settle(alice, call) == 404
    assert "Every outcome is known." in read(charlie, URL)
    for client in (charlie, alice):
        assert client.post(f"{URL}{call.pk}/ask/").status_code == 404
        assert client.post(f"{URL}{uuid4()}/ask/").status_code == 404
    assert state_of(call) == "unknown"


def make_many(call: Invocation, count: int) -> None:
    """Put further unknown calls of the same session into the queue, as they stand after ``call``."""
    for n in range(count):
        Invocation.objects.create(
            session_id=call.session_id,
            tenant_id=call.tenant_id,
            position=1000 + n,
            tool="pay",
            tool_version=1,
            arguments=pay(n + 1).arguments,
            preview={"effect": f"Effect number {n}."},
            state="unknown",
            idempotency_key=f"key-{n}",
            unknown_since=call.unknown_since,
            created_at=call.created_at,
        )


def test_pages_follow_each_other_without_gap(stage: Stage, bob: Client) -> None:
    make_many(become_unknown(stage), 31)
    first = bob.get(URL).content.decode()
    following = re.search(r'href="(\?from=[^"]*)" rel="next"', first)
    assert following
    second = bob.get(URL + following[1]).content.decode()
    seen = re.findall(r"Effect number (\d+)\.", first) + re.findall(r"Effect number (\d+)\.", second)
    assert seen == [str(n) for n in range(31)]
    assert "32 calls may or may not have taken effect." in words_of(first)
    assert 'rel="next"' not in second
    assert 'rel="first"' in second


def test_answer_that_is_refused_stands_beside_its_call(stage: Stage, bob: Client) -> None:
    make_many(become_unknown(stage), queries.PAGE + 1)
    last = Invocation.objects.order_by("id").last()
    assert last is not None
    page = bob.post(f"{URL}{last.pk}/settle/", {"happened": "yes", "evidence": ""}).content.decode()
    assert re.findall(r"Effect number (\d+)\.", page) == ["30"]
    assert "Say how you know" in words_of(page)


@pytest.mark.parametrize("remembers", [None, timedelta(days=1)])
def test_one_query_count_for_one_and_for_thirty(
    stage: Stage, bob: Client, remembers: timedelta | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = become_unknown(stage)
    role = roles.get_role("toy")
    tools = tuple(replace(tool, key_lifetime=remembers) for tool in role.tools)
    monkeypatch.setattr(roles, "all_roles", lambda: (replace(role, tools=tools),))
    one = queries_of(bob, URL)
    make_many(call, 29)
    assert queries_of(bob, URL) == one


def test_tool_that_is_gone_is_left_to_a_person(stage: Stage, bob: Client) -> None:
    call = become_unknown(stage)
    Invocation.objects.filter(pk=call.pk).update(tool="gone")
    assert "The system of record cannot be asked by program" in read(bob, URL)
    assert bob.post(f"{URL}{call.pk}/ask/").status_code == 409
