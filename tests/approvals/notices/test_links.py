"""A link leads its own person to the request, and does nothing else for anybody."""

import logging
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core import signing
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.tenancy.access import TENANT_KEY
from agentops.tenancy.models import Membership, Role
from approvals.models import ApprovalRequest, Decision
from approvals.notices.links import LONGEST, OldLink, link_to, read_link
from tests.approvals.conftest import Stage, client_of, page_url

pytestmark = pytest.mark.django_db


@pytest.fixture
def link(mail: None, stage: Stage, request_: ApprovalRequest) -> str:
    """Alice's link, as a path of this site."""
    return path_of(link_to(request_, stage.cast.alice, timezone.now()))


def path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


@pytest.mark.parametrize("method", ["get", "head"])
def test_own_person_is_led_to_the_request(alice: Client, link: str, request_: ApprovalRequest, method: str) -> None:
    answer = getattr(alice, method)(link)
    assert (answer.status_code, answer.headers["Location"]) == (302, page_url(request_))
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer.headers["Cache-Control"]
    assert not Decision.objects.exists()


def test_whoever_is_signed_out_signs_in_first(link: str, request_: ApprovalRequest) -> None:
    client = Client()
    answer = client.get(link)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/login/?next=/approvals/notices/link/")
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.cookies == {}
    signed = client.post(answer.headers["Location"], {"username": "alice", "password": "alice"}, follow=True)
    assert signed.redirect_chain[-1][0] == page_url(request_)


def test_forged_link_of_somebody_signed_out_looks_the_same(link: str) -> None:
    forged = link[:-4] + "AAAA"
    assert [Client().get(url).status_code for url in (link, forged, reverse("notice_link"))] == [302] * 3


@pytest.mark.parametrize("name", ["bob", "charlie"])
def test_other_person_is_told_so_and_nothing_else(
    stage: Stage, link: str, request_: ApprovalRequest, name: str
) -> None:
    answer = client_of(getattr(stage.cast, name)).get(link)
    page = answer.content.decode()
    assert answer.status_code == 403
    assert f"signed in as <b>{name}</b>" in page
    for word in ("alice", request_.code, str(request_.pk)):
        assert word not in page


def test_old_forged_and_foreign_links_are_one_plain_page(
    mail: None, stage: Stage, alice: Client, request_: ApprovalRequest, link: str
) -> None:
    token = link.partition("?t=")[2]
    now = timezone.now()
    other = ApprovalRequest(pk=request_.pk, digest="0" * 64, expires_at=request_.expires_at)
    late = ApprovalRequest(pk=request_.pk, digest=request_.digest, expires_at=now - timedelta(seconds=1))
    gone = ApprovalRequest(digest=request_.digest, expires_at=request_.expires_at)
    person = stage.cast.alice
    salted = signing.Signer(salt="something else").sign_object([person.pk, request_.pk.hex, request_.digest, 9e9])
    tokens = [
        "",
        "x",
        "\x00",
        token[:-1],
        f"{token}x",
        token.swapcase(),
        "a" * 5000,
        "%F0%9F%92%A9:x",
        salted,
        *(link_to(made, person, now).partition("?t=")[2] for made in (other, late, gone)),
    ]
    pages = [alice.get(reverse("notice_link"), {"t": each}) for each in tokens]
    assert {page.status_code for page in pages} == {410}
    for page in pages:
        text = page.content.decode()
        assert "This link is old" in text
        assert reverse("approval_queue") in text
        assert request_.code not in text


def test_link_ends_with_its_request_and_after_seven_days(mail: None, stage: Stage, request_: ApprovalRequest) -> None:
    now, person = timezone.now(), stage.cast.alice
    token = link_to(request_, person, now).partition("?t=")[2]
    assert read_link(token, request_.expires_at - timedelta(seconds=2)).person_id == person.pk
    with pytest.raises(OldLink):
        read_link(token, request_.expires_at)
    request_.expires_at = now + timedelta(days=30)
    token = link_to(request_, person, now).partition("?t=")[2]
    read_link(token, now + LONGEST - timedelta(seconds=2))
    with pytest.raises(OldLink):
        read_link(token, now + LONGEST)


def test_decided_request_is_still_shown(alice: Client, link: str, request_: ApprovalRequest) -> None:
    ApprovalRequest.objects.update(state="rejected", closed_at=timezone.now())
    assert alice.get(link).headers["Location"] == page_url(request_)


def test_person_who_left_the_tenant_is_led_nowhere(stage: Stage, alice: Client, link: str) -> None:
    Membership.objects.filter(user=stage.cast.alice).delete()
    assert alice.get(link).status_code == 410


def test_link_of_another_tenant_of_one_s_own_says_so_and_changes_nothing(
    stage: Stage, alice: Client, link: str, request_: ApprovalRequest
) -> None:
    Membership.objects.create(user=stage.cast.alice, tenant=stage.cast.other, role=Role.APPROVER)
    session = alice.session
    session[TENANT_KEY] = str(stage.cast.other.pk)
    session.save()
    answer = alice.get(link)
    assert answer.status_code == 409
    assert "This request belongs to North Goods" in answer.content.decode()
    assert alice.session[TENANT_KEY] == str(stage.cast.other.pk)
    alice.post(reverse("tenant"), {"tenant": str(stage.cast.tenant.pk)})
    assert alice.get(link).headers["Location"] == page_url(request_)


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_other_methods_are_refused(alice: Client, link: str, method: str) -> None:
    assert getattr(alice, method)(link).status_code == 405


def test_link_is_in_no_log(alice: Client, link: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "django.request")
    token = link.partition("?t=")[2]
    for client in (alice, Client()):
        for url in (link, f"{link}x"):
            client.get(url)
            client.post(url)
    assert "/approvals/notices/link/" in caplog.text
    assert token not in caplog.text


def test_links_differ_by_person_and_request(mail: None, stage: Stage, request_: ApprovalRequest) -> None:
    now = timezone.now()
    people: list[Any] = [stage.cast.alice, stage.cast.bob]
    other = ApprovalRequest(digest=request_.digest, expires_at=request_.expires_at)
    assert len({link_to(made, person, now) for made in (request_, other) for person in people}) == 4
