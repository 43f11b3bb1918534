"""What the system checks say of vendors, and what tenants may consent to."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sre_agent import role
from sre_agent.checks import vendors_can_be_used
from sre_agent.connectors import CLOUDWATCH_KEY, SLACK_KEY


def found() -> list[str | None]:
    return [message.id for message in vendors_can_be_used()]


def test_vendors_that_nobody_uses_need_nothing(settings: Any) -> None:
    settings.PAGERDUTY_URL = settings.SLACK_URL = "http://attacker.example"
    assert found() == []


@pytest.mark.parametrize(
    ("setting", "vendor"), [("SRE_OBSERVATORY", "cloudwatch"), ("SRE_PAGER", "pagerduty"), ("SRE_BOARD", "slack")]
)
def test_a_vendor_needs_a_document(setting: str, vendor: str, settings: Any, tmp_path: Path) -> None:
    setattr(settings, setting, vendor)
    assert found() == ["sre.E003"]
    settings.SRE_VENDORS_FILE = str(tmp_path / "vendors.json")
    (tmp_path / "vendors.json").write_text('{"tenants": {}}', encoding="utf-8")
    assert found() == []


def test_addresses_are_the_vendors_own(settings: Any, tmp_path: Path) -> None:
    settings.SRE_VENDORS_FILE = str(tmp_path / "vendors.json")
    (tmp_path / "vendors.json").write_text('{"tenants": {}}', encoding="utf-8")
    settings.SRE_PAGER, settings.SRE_BOARD = "pagerduty", "slack"
    settings.PAGERDUTY_URL, settings.SLACK_URL = "https://api.eu.pagerduty.com", "http://slack.com/api"
    assert found() == ["sre.E004"]
    settings.SLACK_URL, settings.SRE_VENDOR_HOSTS = "https://gateway.example/slack", ["gateway.example"]
    assert found() == []


@pytest.fixture
def at_slack(settings: Any) -> Iterator[None]:
    board = settings.SRE_BOARD
    settings.SRE_BOARD = "slack"
    importlib.reload(role)
    yield
    settings.SRE_BOARD = board
    importlib.reload(role)


def test_tenants_consent_to_slack_where_it_is_used(at_slack: None) -> None:
    assert role.ROLE.credentials == (SLACK_KEY,)


def test_tenants_consent_to_what_a_platform_elsewhere_asks_how_its_services_do(settings: Any) -> None:
    # Not reloaded, as a role of another platform has other tools: what the role is made with is asked.
    settings.SRE_PLATFORM = "kubernetes"
    assert role._besides() == ()
    settings.SRE_OBSERVATORY = "cloudwatch"
    assert role._besides() == (CLOUDWATCH_KEY,)


def test_nobody_consents_to_slack_where_it_is_not_used() -> None:
    assert role.ROLE.credentials == ()
