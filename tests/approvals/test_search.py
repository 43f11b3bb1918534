"""Searching the queue: every condition alone, and whatever a person may type instead."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import ApprovalRequest
from approvals.search import AmountLimit, DueLimit, Search, read_search
from tests.approvals.conftest import Stage, queue_url


@pytest.mark.parametrize(
    ("text", "search"),
    [
        ("", Search()),
        ("lamp", Search(words=("lamp",))),
        ('"desk lamp" ann', Search(words=("desk lamp", "ann"))),
        ("tool:pay tier:2 tier:T3", Search(tools=("pay",), tiers=(2, 3))),
        ("TOOL:pay", Search(tools=("pay",))),
        ("due:<1h due:>30m", Search(due=(DueLimit("<", timedelta(hours=1)), DueLimit(">", timedelta(minutes=30))))),
        ("amount:>500", Search(amounts=(AmountLimit(">", Decimal(500), ""),))),
        ("amount:<=20.50eur", Search(amounts=(AmountLimit("<=", Decimal("20.50"), "EUR"),))),
        ("amount:7", Search(amounts=(AmountLimit("=", Decimal(7), ""),))),
        ('queue:"Big payments" agent:Payer', Search(queues=("Big payments",), agents=("Payer",))),
        ("AR-ABCDEFGH", Search(words=("AR-ABCDEFGH",))),
    ],
)
def test_text_states_conditions(text: str, search: Search) -> None:
    found = read_search(text)
    assert found == search
    assert found.notes == ()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("colour:red", "“colour:” is not a filter"),
        ("tier:9", "a tier is 1, 2 or 3"),
        ("due:soon", "write due:<1h"),
        ("due:<99999999999d", "write due:<1h"),
        ("amount:lots", "write amount:>500"),
        ("amount:>5XYZ", "write amount:>500"),
        ("amount:>" + "9" * 40, "write amount:>500"),
        ("tool:", "“tool:” has no value"),
        (" ".join("abcdefghijklmnop"), "Only the first 12 terms"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_noted(text: str, note: str) -> None:
    search = read_search(text)
    assert len(search.notes) == 1
    assert note in search.notes[0]
    assert search.tools == search.tiers == search.due == search.amounts == ()


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    read_search(text)


def found(client: Client, **parameters: str) -> set[str]:
    page = client.get(queue_url(**parameters)).context["page"]
    return {row.id for group in page.groups for row in group.rows}


@pytest.fixture
def three(stage: Stage) -> tuple[ApprovalRequest, ApprovalRequest, ApprovalRequest]:
    """Of $50 with a reply soon due, of 6000 yen that nobody can undo, and of $2,500.01 by another tool."""
    small, yen, large = stage.ask(5000), stage.ask(6000), stage.ask(25_001)
    update(small, expires_at=timezone.now() + timedelta(minutes=20), sender="dana@example.com")
    update(yen, money_currency="JPY", irreversible=True, subject_title="A 100% broken_lamp")
    update(large, money_minor=250_001, tool="pay_twice", agent="Other v3")
    return small, yen, large


def update(request: ApprovalRequest, **changes: object) -> None:
    ApprovalRequest.objects.filter(pk=request.pk).update(**changes)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from a-1", "small yen large"),
        ("dana@EXAMPLE.com", "small"),
        ("100%", "yen"),
        ("n_l", "yen"),
        ("o%e", ""),
        ("tool:pay", "small yen"),
        ("tool:pay_twice", "large"),
        ("agent:other", "large"),
        ("queue:payments", "small yen large"),
        ("queue:nowhere", ""),
        ("tier:3", "yen"),
        ("tier:2", "small large"),
        ("tier:2 tier:3", ""),
        ("due:<1h", "small"),
        ("due:>1h", "yen large"),
        ("amount:>500", "yen large"),
        ("amount:>=50", "small yen large"),
        ("amount:50", "small"),
        ("amount:50.005", ""),
        ("amount:<50.01usd", "small"),
        ("amount:6000JPY", "yen"),
        ("amount:>2500 amount:<2500.02", "large"),
        ("nothing like this", ""),
    ],
)
def test_search_finds(
    alice: Client, three: tuple[ApprovalRequest, ApprovalRequest, ApprovalRequest], text: str, expected: str
) -> None:
    names = dict(zip(("small", "yen", "large"), three, strict=True))
    assert found(alice, q=text) == {names[name].code for name in expected.split()}


@pytest.mark.django_db
def test_every_id_finds_its_request(
    alice: Client, three: tuple[ApprovalRequest, ApprovalRequest, ApprovalRequest]
) -> None:
    request = three[1]
    for text in (
        request.code,
        request.code.lower(),
        str(request.pk),
        str(request.session_id),
        request.invocation_id.hex,
    ):
        assert found(alice, q=text) == {request.code}


@pytest.mark.django_db
def test_drop_downs_and_search_box_hold_together(
    alice: Client, three: tuple[ApprovalRequest, ApprovalRequest, ApprovalRequest]
) -> None:
    small, yen, _ = three
    assert found(alice, tool="pay") == {small.code, yen.code}
    assert found(alice, tool="pay", tier="2") == {small.code}
    assert found(alice, tool="pay", tier="2", q="amount:>500") == set()
    page = alice.get(queue_url(tool="pay", tier="2", q="a-1")).context["page"]
    chosen = {f.name: [o.value for o in f.options if o.selected] for f in page.filters}
    assert (page.query, chosen, page.filtered) == ("a-1", {"tier": ["2"], "tool": ["pay"]}, True)
    assert page.buckets[1].url == "?bucket=others&q=a-1&tier=2&tool=pay"
    assert page.clear_url == "?bucket=turn"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "parameters",
    [
        {"q": "colour:red"},
        {"q": "due:whenever"},
        {"q": "amount:>>5"},
        {"tier": "9"},
        {"after": "nowhere"},
    ],
)
def test_condition_that_makes_no_sense_gives_a_visible_note(
    stage: Stage, alice: Client, parameters: dict[str, str]
) -> None:
    request = stage.ask()
    response = alice.get(queue_url(**parameters))
    assert response.status_code == 200
    assert request.code in response.content.decode()
    assert any(words in response.content.decode() for words in ("left out", "begins at the start"))


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["q", "tier", "tool", "bucket", "after", "since", "shown"])
@pytest.mark.parametrize(
    "value", ["\x00", "'; DROP TABLE session; --", "%" * 500, "﷽" * 300, "<script>alert(1)</script>", "-1"]
)
def test_hostile_parameters_are_no_error(stage: Stage, alice: Client, name: str, value: str) -> None:
    for address in (queue_url(**{name: value}), queue_url(**{name: value}).replace("/?", "/news/?")):
        response = alice.get(address)
        assert response.status_code == 200
        assert "<script>alert" not in response.content.decode()


@pytest.mark.django_db
def test_search_is_given_back_escaped(stage: Stage, alice: Client) -> None:
    text = '"><b onclick=x>'
    assert f'value="{escape(text)}"' in alice.get(queue_url(q=text)).content.decode()
