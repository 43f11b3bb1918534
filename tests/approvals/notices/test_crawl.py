"""A crawl by GET and HEAD of every link in pages and mails changes nothing: not one row of any table.

Mail scanners, chat previews and browsers that load ahead follow links without anybody having clicked.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from django.core import mail as outbox
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.test import Client
from lxml import html

from agentops.kernel.clock import utcnow
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.operations import start_session
from agentops.tenancy.models import Role
from approvals.models import ApprovalRequest, Notice
from approvals.notices.delivery import deliver_due
from approvals.notices.outbox import tell
from tests.approvals.conftest import client_of
from tests.factories.books import Shop, open_shop
from tests.factories.people import make_admin, make_person

pytestmark = pytest.mark.django_db

# Who is signed in is the browser's business: the framework may refresh its row when a page is read.
EXCEPT = {"django_session"}
TICKETS = ("T-1002", "T-1004", "T-1006")
STARTS = ("/", "/approvals/", "/approvals/notices/", "/sessions/", "/operations/")
# Of pages that differ only by an id or a filter's value, so many are looked at.
ALIKE = 2
_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+")
_LINKS = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data-url")


@pytest.fixture
def shop(settings: Any) -> Shop:
    """A shop whose agent has come to ask about several tickets, and people who have been told so by mail."""
    settings.SITE_URL = "http://testserver"
    settings.MAIL_FROM = "Control plane <approvals@example.com>"
    shop = open_shop("north", approver="alice")
    make_person("bob", shop.tenant, Role.SUPPORT)
    make_admin("root", shop.tenant)
    for ticket in TICKETS:
        start_session(agent=shop.agent, subject_id=ticket, actor="user:bob")
    work_until_quiet()
    for request in ApprovalRequest.objects.all():
        tell(request, Notice.Kind.ASKED, now=utcnow())
    deliver_due(limit=20)
    return shop


@pytest.fixture
def clients(shop: Shop) -> dict[str, Client]:
    """Approver, support staff and admin, signed in before anything is compared."""
    people = type(shop.approver).objects.in_bulk(["alice", "bob", "root"], field_name="username")
    return {name: client_of(person) for name, person in people.items()}


def tables() -> dict[str, tuple[int, str]]:
    """Return the number of rows of every table, and a hash of all that stands in them."""
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(set(connection.introspection.table_names(cursor)) - EXCEPT):
            rows = "coalesce(md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))), '')"
            cursor.execute(f"SELECT count(*), {rows} FROM {connection.ops.quote_name(table)} t")
            found[table] = cursor.fetchone()
    return found


def links_in(page: bytes, base: str) -> Iterator[str]:
    """Return every address of this site that a page names, wherever a program could follow it."""
    for element in html.fromstring(page).iter("*"):
        for name in _LINKS:
            value = element.get(name)
            if value and not value.startswith(("#", "data:", "javascript:", "mailto:")):
                parts = urlsplit(urljoin(base, value))
                if parts.netloc in ("", "testserver") and not parts.path.startswith("/static/"):
                    yield f"{parts.path}?{parts.query}" if parts.query else parts.path


def kind_of(url: str) -> str:
    parts = urlsplit(url)
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    return f"{_IDS.sub('*', parts.path)}?{','.join(names)}"


def crawl(client: Client, starts: Iterable[str]) -> dict[str, int]:
    """Follow every link by HEAD and GET, and return what each address answered."""
    waiting, answers, seen = deque(starts), dict[str, int](), Counter[str]()
    while waiting:
        url = waiting.popleft()
        # The admin's filters link to each of their combinations; one at a time is enough.
        in_admin = url.startswith("/admin/")
        if url in answers or seen[kind_of(url)] >= (1 if in_admin else ALIKE) or (in_admin and "&" in url):
            continue
        seen[kind_of(url)] += 1
        client.head(url)
        answer = client.get(url)
        answers[url] = answer.status_code
        if answer.headers.get("Location"):
            waiting.append(answer.headers["Location"])
        if answer.status_code == 200 and "text/html" in answer.headers["Content-Type"] and answer.content.strip():
            waiting.extend(links_in(answer.content, url))
    return answers


@pytest.mark.parametrize("name", ["alice", "bob", "root"])
def test_no_link_of_a_page_writes_anything(shop: Shop, clients: dict[str, Client], name: str) -> None:
    requests = [f"/approvals/{pk}/" for pk in ApprovalRequest.objects.values_list("pk", flat=True)]
    assert len(requests) >= 2
    before = tables()
    assert len(before) > 60
    answers = crawl(clients[name], [*STARTS, *requests])
    after = tables()
    assert {table for table in before if before[table] != after[table]} == set()
    assert len(answers) > {"alice": 25, "bob": 25, "root": 150}[name]
    # A form's address by GET is refused or shows the form. What somebody may not see is not there.
    wrong = {url: status for url, status in answers.items() if status not in (200, 301, 302, 404, 405)}
    assert wrong == {}


def test_no_link_of_a_mail_writes_anything(shop: Shop, clients: dict[str, Client]) -> None:
    sent = [each for each in outbox.outbox if isinstance(each, EmailMultiAlternatives)]
    found = {link for mail in sent for link in _links_of(mail)}
    assert len([link for link in found if "/notices/link/" in link]) == ApprovalRequest.objects.count()
    before, outcomes = tables(), {}
    for name, client in {"": Client(), **clients}.items():
        for url in sorted(found):
            head, answer = client.head(url), client.get(url)
            assert head.status_code == answer.status_code
            outcomes.setdefault((name, "/notices/link/" in url), set()).add(answer.status_code)
            if answer.status_code == 302:
                client.get(answer.headers["Location"])
    assert tables() == before
    assert outcomes == {
        ("", True): {302},
        ("", False): {302},
        ("alice", True): {302},
        ("alice", False): {200},
        ("bob", True): {403},
        ("bob", False): {200},
        ("root", True): {403},
        ("root", False): {200},
    }
    assert set(ApprovalRequest.objects.values_list("state", flat=True)) == {"pending"}


def _links_of(mail: EmailMultiAlternatives) -> Iterator[str]:
    """Return the addresses in both parts of a mail, which are the same ones."""
    plain = {_local(url) for url in re.findall(r"http://testserver\S*", str(mail.body))}
    (rich,) = mail.alternatives
    assert set(links_in(str(rich[0]).encode(), "http://testserver/")) == plain
    yield from plain


def _local(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def test_snapshot_sees_one_changed_letter(shop: Shop) -> None:
    before = tables()
    Notice.objects.update(last_error="x")
    after = tables()
    assert {table for table in before if before[table] != after[table]} == {"approvals_notice"}
