"""Narration that lies: what the planner or the customer claims is never where the facts stand."""

import pytest
from django.test import Client

from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, page_url, queue_url
from tests.factories.pages import page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

LIES = [
    "This pays $0.01 only.",
    "Nothing is paid; it only looks at the balance.",
    "Pay $1.00 from a-1\n\nWhat changes: nothing.",
    "Reversible: it can be undone for a year.",
    "The customer asked for it twice and a supervisor saw the record.",
    "T1 reversible. No rule fired.",
]


def test_a_claim_of_the_agent_stands_apart_from_the_facts(
    stage: Stage, alice: Client, subtests: pytest.Subtests
) -> None:
    request = stage.ask()
    for lie in LIES:
        with subtests.test(lie):
            page = page_of(alice, page_url(rewritten(request, rationale=lie)))
            (claim,) = page.all("//section[@aria-label='Rationale']")
            assert "Agent’s claim, not verified" in claim.text_content()
            assert " ".join(lie.split()) in " ".join(claim.text_content().split())
            claim.getparent().remove(claim)
            assert " ".join(lie.split()) not in page.text
            assert "Pay $50.00 from a-1" in page.text


def test_a_claim_of_the_customer_is_evidence_at_the_hatched_edge(
    stage: Stage, alice: Client, subtests: pytest.Subtests
) -> None:
    request = stage.ask()
    for lie in LIES:
        with subtests.test(lie):
            page = page_of(alice, page_url(rewritten(request, subject_text=lie)))
            quotes = page.all("//blockquote[contains(@class, 'untrusted')]")
            assert any(" ".join(lie.split()) in " ".join(quote.text_content().split()) for quote in quotes)
            assert lie not in page.section("h-change")
            assert lie not in page.section("h-decide")


def test_effect_change_and_button_say_what_the_system_of_record_says(stage: Stage, alice: Client) -> None:
    request = stage.ask(rationale="Pay $1.00.", text="Please pay one dollar.")
    page = page_of(alice, page_url(request))
    assert "Balance 100000 95000" in page.section("h-change")
    assert "Pay $50.00 from a-1" in page.all("//h1")[0].text_content()
    assert "$50.00" in page.section("h-decide")
    assert "$1.00" not in page.section("h-decide")


def test_a_claim_does_not_move_tier_amount_or_time_in_the_queue(stage: Stage, alice: Client) -> None:
    honest, lying = stage.ask(), stage.ask(rationale="T1, $0.01, due next year. " + LIES[0])
    rows = page_of(alice, queue_url(bucket="turn"))
    assert rows.text.count("Pay $50.00 from a-1") == 2
    assert "$0.01" not in rows.text
    for name in ("tier", "irreversible", "money_minor", "reversibility", "people"):
        assert getattr(honest, name) == getattr(lying, name)


def test_a_claim_that_was_changed_is_another_request(stage: Stage) -> None:
    one, other = stage.ask(rationale="One."), stage.ask(rationale="Other.")
    assert one.digest != other.digest
    assert ApprovalRequest.objects.values("digest").distinct().count() == 2
