"""A request of the toy role, an installation that sends mail, and a Slack on loopback."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentops.gateway import credentials
from agentops.gateway.sources import EnvironmentSource, Wanted, variable_of
from approvals.models import ApprovalRequest, Notice, NoticePreference, SlackChannel
from approvals.notices.delivery import deliver_due
from tests.approvals.conftest import Stage
from tests.factories.fake_slack.notices import TOKEN, FakeSlack, fake_slack
from tests.factories.people import make_approver

CHANNEL = "C012AB3CD"
MEMBER = "U0ALICE01"


class Clock:
    """The time as a test sets it."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def on(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime.now(UTC))


@pytest.fixture
def mail(settings: Any) -> None:
    settings.SITE_URL = "https://control.example.com/"
    settings.MAIL_FROM = "Control plane <approvals@example.com>"


@pytest.fixture
def request_(stage: Stage) -> ApprovalRequest:
    return ask(stage)


def ask(stage: Stage, minor: int = 5000, **said: str) -> ApprovalRequest:
    """Ask, and forget that people were told of it."""
    request = stage.ask(minor, **said)
    Notice.objects.filter(request=request).delete()
    return request


@pytest.fixture
def dave(stage: Stage) -> User:
    """A second approver of the same queue."""
    return make_approver("dave", stage.cast.queue)


@pytest.fixture
def slack(stage: Stage, mail: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSlack]:
    """Slack is set up for the tenant, the queue has a channel, and Alice is a member."""
    SlackChannel.objects.create(tenant=stage.cast.tenant, queue=stage.cast.queue, channel=CHANNEL)
    NoticePreference.objects.create(person=stage.cast.alice, mail=False, slack_user=MEMBER)
    variable = variable_of(Wanted(stage.cast.tenant.pk, "sandbox", "slack_bot"))
    monkeypatch.setattr(credentials, "source_of", lambda name: EnvironmentSource({variable: TOKEN}))
    credentials.shelf.clear()
    with fake_slack(CHANNEL, MEMBER) as slack:
        settings.SLACK_URL = slack.url
        yield slack
    credentials.shelf.clear()


def deliver(clock: Clock, limit: int = 50) -> int:
    return deliver_due(limit=limit, clock=clock)


def states() -> list[tuple[str, str, str, str]]:
    """Return kind, channel, reader and state of every notice."""
    rows = Notice.objects.order_by("id").select_related("person")
    return [(row.kind, row.channel, row.person.username if row.person else "", row.state) for row in rows]
