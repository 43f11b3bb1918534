"""Whoever is on call is called, and nobody twice while they have not answered."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import TextChange
from agentops.registry.tool import Change, Preview, ToolFailure
from sre_agent.connectors.desk_people import NotPossible
from sre_agent.connectors.pager import EmbeddedPager, acknowledge
from sre_agent.connectors.port import PagePerson, PagerWrite, WithdrawPage
from sre_agent.connectors.records import OnCall
from sre_agent.models import Incident, Operation, Page
from tests.factories.sre import HOUR, NOW, at_once, context_of, make_incident, make_shift, make_tenant

PAGER = EmbeddedPager()
MINUTE = timedelta(minutes=1)
WORDS = "checkout fails since 09:00"


@pytest.fixture
def incident(db: None) -> Incident:
    return make_incident(make_tenant())


def called(incident: Incident, level: int = 1, key: str = "k", minutes: int = 0) -> str:
    now = NOW + minutes * MINUTE
    preview = PAGER.preview(context_of(incident, now=now), PagePerson(level, WORDS))
    context = context_of(incident, key, now=now, expected_versions=preview.versions)
    return str(PAGER.write(context, PagePerson(level, WORDS))["person"])


def refused(incident: Incident, write: PagerWrite, **more: Any) -> tuple[FailureKind, str]:
    failures = []
    for act in (PAGER.preview, PAGER.write):
        with pytest.raises(ToolFailure) as failure:
            act(context_of(incident, "r", **more), write)
        failures.append((failure.value.kind, failure.value.message))
    assert failures[0][0] is failures[1][0]
    assert failures[0] == failures[1] or failures[0][0] is FailureKind.VALIDATION
    assert not Operation.objects.filter(key="r").exists()
    return failures[0]


def test_who_is_on_call_now_is_told_by_level(incident: Incident) -> None:
    make_shift(incident.tenant, "erik", 2)
    make_shift(incident.tenant, "dana", 1)
    make_shift(incident.tenant, "past", 1, ends_at=NOW)
    make_shift(incident.tenant, "later", 1, starts_at=NOW + MINUTE)
    make_shift(make_tenant("south"), "charlie")
    assert PAGER.on_call(context_of(incident)) == (
        OnCall("dana", "dana@example.com", 1, NOW + 7 * HOUR),
        OnCall("erik", "erik@example.com", 2, NOW + 7 * HOUR),
    )


def test_the_dry_run_names_who_is_called_and_with_which_words(incident: Incident) -> None:
    make_shift(incident.tenant)
    assert PAGER.preview(context_of(incident), PagePerson(1, f" {WORDS} ")) == Preview(
        effect="Call dana (level 1) about incident INC-1",
        target="incident:INC-1",
        changes=(Change("Called", "", "dana (level 1)"),),
        versions={"incident:INC-1": 1},
        measures={"incident_priority": 1},
        parts=(TextChange("Words", "", WORDS),),
    )
    assert called(incident) == "dana"
    page = Page.objects.get()
    assert (page.person, page.contact, page.words, page.paged_at) == ("dana", "dana@example.com", WORDS, NOW)
    assert [note.text for note in incident.notes.all()] == [f"Called dana (level 1): {WORDS}"]


@pytest.mark.parametrize(
    ("staffed", "wanted", "reached"),
    [({1: "dana", 2: "erik"}, 2, "erik"), ({2: "erik", 3: "fay"}, 1, "erik"), ({1: "dana", 2: "erik"}, 3, "erik")],
)
def test_where_nobody_is_on_call_the_next_level_is_called(
    incident: Incident, staffed: dict[int, str], wanted: int, reached: str
) -> None:
    for level, person in staffed.items():
        make_shift(incident.tenant, person, level)
    effect = PAGER.preview(context_of(incident), PagePerson(wanted, WORDS)).effect
    assert ("; nobody is on call at level" in effect) == (wanted not in staffed)
    assert called(incident, wanted) == reached


def test_without_anybody_on_call_the_refusal_says_what_to_do(incident: Incident) -> None:
    kind, message = refused(incident, PagePerson(1, WORDS))
    assert kind is FailureKind.CONFLICT
    assert message == "Nobody is on call now. Hand the incident to a person instead, with escalate_incident."


def test_nobody_is_called_twice_within_a_quarter_of_an_hour(incident: Incident) -> None:
    make_shift(incident.tenant)
    assert called(incident) == "dana"
    now = NOW + 14 * MINUTE
    kind, message = refused(incident, PagePerson(1, WORDS), now=now)
    assert kind is FailureKind.CONFLICT
    unanswered = "dana was called about this at 09:00 UTC and has not answered yet."
    assert message == f"{unanswered} Wait until 09:15 UTC, or call another level."
    assert called(make_incident(incident.tenant, "INC-2"), key="other", minutes=14) == "dana"
    assert called(incident, key="later", minutes=15) == "dana"


def test_a_second_person_of_the_level_is_called_next(incident: Incident) -> None:
    make_shift(incident.tenant, "dana", starts_at=NOW - 2 * HOUR)
    make_shift(incident.tenant, "erik")
    assert [called(incident, key="first"), called(incident, key="second")] == ["dana", "erik"]


def test_who_answered_or_was_told_off_may_be_called_again(incident: Incident) -> None:
    make_shift(incident.tenant)
    called(incident)
    page = Page.objects.get()
    acknowledge(tenant_id=incident.tenant_id, page_ref=page.ref, person="dana", now=NOW + MINUTE)
    assert called(incident, key="again", minutes=2) == "dana"

    latest = Page.objects.first()
    assert latest is not None
    result = PAGER.write(context_of(incident, "w", now=NOW + 3 * MINUTE), WithdrawPage(latest.ref))
    assert result == {"page_id": latest.ref}
    latest.refresh_from_db()
    assert (latest.withdrawn_at, latest.version) == (NOW + 3 * MINUTE, 2)
    assert called(incident, key="once more", minutes=4) == "dana"


def test_a_call_is_withdrawn_once_and_of_this_incident_only(incident: Incident) -> None:
    make_shift(incident.tenant)
    called(incident)
    page = Page.objects.get()
    preview = PAGER.preview(context_of(incident), WithdrawPage(page.ref))
    assert (preview.target, preview.versions) == (f"page:{page.ref}", {f"page:{page.ref}": 1})
    other = make_incident(incident.tenant, "INC-2")
    assert refused(other, WithdrawPage(page.ref))[0] is FailureKind.NOT_FOUND
    PAGER.write(context_of(incident, "w", expected_versions=preview.versions), WithdrawPage(page.ref))
    assert refused(incident, WithdrawPage(page.ref))[0] is FailureKind.CONFLICT


@pytest.mark.parametrize(
    "write",
    [PagePerson(0, WORDS), PagePerson(4, WORDS), PagePerson(1, " "), PagePerson(1, "\x00"), PagePerson(1, "x" * 501)],
)
def test_what_no_call_can_say_is_refused(incident: Incident, write: PagePerson) -> None:
    make_shift(incident.tenant)
    assert refused(incident, write)[0] is FailureKind.VALIDATION


def test_nobody_is_called_about_what_is_over(incident: Incident) -> None:
    make_shift(incident.tenant)
    Incident.objects.update(status="escalated")
    assert called(incident) == "dana"
    Incident.objects.update(status="resolved", resolved_at=NOW)
    assert refused(incident, PagePerson(1, WORDS), now=NOW + HOUR)[0] is FailureKind.CONFLICT


def test_one_key_calls_once(incident: Incident) -> None:
    make_shift(incident.tenant)
    context = context_of(incident, "k")
    assert PAGER.outcome(context) is None
    result = PAGER.write(context, PagePerson(1, WORDS))
    assert PAGER.write(context, PagePerson(1, WORDS)) == result == PAGER.outcome(context)
    with pytest.raises(ToolFailure, match="used for another call"):
        PAGER.write(context, PagePerson(2, WORDS))
    assert Page.objects.count() == 1


def test_nothing_of_another_tenant_is_seen(incident: Incident) -> None:
    make_shift(incident.tenant)
    called(incident)
    page = Page.objects.get()
    south = make_tenant("south")
    outsider = replace(context_of(incident, "o"), tenant_id=south.pk)
    for write in (PagePerson(1, WORDS), WithdrawPage(page.ref)):
        with pytest.raises(ToolFailure) as failure:
            PAGER.write(outsider, write)
        assert failure.value.kind is FailureKind.NOT_FOUND
    with pytest.raises(NotPossible):
        acknowledge(tenant_id=south.pk, page_ref=page.ref, person="charlie", now=NOW)


def test_who_answers_first_is_on_record(incident: Incident) -> None:
    make_shift(incident.tenant)
    called(incident)
    ref = Page.objects.get().ref
    first = acknowledge(tenant_id=incident.tenant_id, page_ref=ref, person="erik", now=NOW + MINUTE)
    again = acknowledge(tenant_id=incident.tenant_id, page_ref=ref, person="dana", now=NOW + 9 * MINUTE)
    assert (first.acknowledged_at, again.acknowledged_at) == (NOW + MINUTE, NOW + MINUTE)
    answered = incident.notes.exclude(actor="agent").values_list("actor", "text")
    assert list(answered) == [("erik", "Answered the call to dana.")]

    PAGER.write(context_of(incident, "w"), WithdrawPage(ref))
    with pytest.raises(NotPossible, match="no longer needed"):
        acknowledge(tenant_id=incident.tenant_id, page_ref=ref, person="dana", now=NOW)


@pytest.mark.django_db(transaction=True)
def test_of_calls_at_once_one_reaches_somebody() -> None:
    incident = make_incident(make_tenant())
    make_shift(incident.tenant)

    def calls(number: int) -> Callable[[], str]:
        def act() -> str:
            try:
                return str(PAGER.write(context_of(incident, f"k{number}"), PagePerson(1, WORDS))["person"])
            except ToolFailure as failure:
                return failure.kind.value

        return act

    assert sorted(at_once([calls(number) for number in range(6)])) == ["CONFLICT"] * 5 + ["dana"]
    assert Page.objects.count() == 1
