"""The document of vendors, the hosts that credentials may go to, and text from outside."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import ToolFailure
from sre_agent.connectors.hostile_text import visible
from sre_agent.connectors.vendor_config import pagerduty_of, slack_of
from sre_agent.connectors.vendor_door import is_safe, seconds_of
from sre_agent.connectors.vendor_schema import BadVendors, PagerDuty, Slack, vendors_from
from tests.sre_agent.vendors.cast import CLOUDWATCH, PAGERDUTY, SLACK

TENANT = uuid.UUID("0198c0de-0000-7000-8000-000000000001")


def written(**vendors: Any) -> bytes:
    return json.dumps({"tenants": {str(TENANT): vendors}}).encode()


def changed(name: str, **more: Any) -> dict[str, Any]:
    figures = {**CLOUDWATCH["figures"], name: {**CLOUDWATCH["figures"][name], **more}}
    return {**CLOUDWATCH, "figures": figures}


def test_the_example_of_the_docs_can_be_read() -> None:
    told = Path(__file__).parents[3] / "docs/incidents.md"
    example = told.read_text(encoding="utf-8").split("## CloudWatch, PagerDuty, Slack")[1].split("```json")[1]
    [vendors] = vendors_from(example.split("```")[0].encode()).values()
    assert vendors.pagerduty == PagerDuty("PABC123", "PDEF456", "agent@example.com")
    assert vendors.cloudwatch is not None
    assert vendors.cloudwatch.filled("search", vendors.cloudwatch.log_group) == "/ecs/shop/search"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "no JSON"),
        (b'{"tenants": {"shop": {}}}', "tenants"),
        (written(jira={}), "jira"),
        (written(slack={"channel": "#status"}), "channel"),
        (written(pagerduty={**PAGERDUTY, "from": "a@b\r\nX: y"}), "from"),
        (written(cloudwatch={**CLOUDWATCH, "region": "eu-central-1.attacker.example/"}), "region"),
        (written(cloudwatch={**CLOUDWATCH, "log_group": "/{cluster}/{service}"}), "has no word for {cluster}"),
        (written(cloudwatch=changed("latency_ms", unit="percent")), "latency_ms"),
        (written(cloudwatch=changed("errors_pm", unit="percent")), "has no per"),
        (written(cloudwatch=changed("processor_pm", unit="count")), "has to say what it is a part of"),
    ],
)
def test_a_document_that_is_wrong_says_where(body: bytes, words: str) -> None:
    with pytest.raises(BadVendors, match=words):
        vendors_from(body)


def test_a_change_of_the_document_holds_at_once(tmp_path: Path, settings: Any) -> None:
    path = tmp_path / "vendors.json"
    settings.SRE_VENDORS_FILE = str(path)
    path.write_bytes(written(slack=SLACK))
    assert slack_of(TENANT) == Slack("C0STATUS")
    path.write_bytes(written(slack={"channel": "C0OTHERS1"}))
    assert slack_of(TENANT) == Slack("C0OTHERS1")


@pytest.mark.parametrize("file", ["", "/nowhere/vendors.json"])
def test_without_a_document_there_is_nothing(file: str, tmp_path: Path, settings: Any) -> None:
    settings.SRE_VENDORS_FILE = file
    with pytest.raises(ToolFailure, match="SRE_VENDORS_FILE") as found:
        pagerduty_of(TENANT)
    assert found.value.kind is FailureKind.NOT_FOUND
    settings.SRE_VENDORS_FILE = str(tmp_path / "vendors.json")
    (tmp_path / "vendors.json").write_bytes(written(slack=SLACK))
    with pytest.raises(ToolFailure, match="nothing about PagerDuty"):
        pagerduty_of(TENANT)


HOSTS = ("slack.com", ".amazonaws.com")


@pytest.mark.parametrize(
    ("url", "sandbox", "production"),
    [
        ("https://slack.com/api", True, True),
        ("https://logs.eu-central-1.amazonaws.com", True, True),
        ("https://gateway.example/x", True, True),
        ("http://127.0.0.1:80/", True, False),
        ("https://localhost/", True, False),
        ("http://slack.com/api", False, False),
        ("https://slack.com:8443/api", False, False),
        ("https://slack.com@attacker.example/", False, False),
        ("https://slack.com.attacker.example/", False, False),
        ("https://attackeramazonaws.com/", False, False),
        ("https://127.0.0.1.attacker.example/", False, False),
        ("https://[::1", False, False),
        ("https://slack.com:99999/api", False, False),
        ("https://slack.com:port/api", False, False),
        ("ftp://slack.com", False, False),
        ("", False, False),
    ],
)
def test_hosts_that_a_credential_may_go_to(url: str, sandbox: bool, production: bool, settings: Any) -> None:
    settings.SRE_VENDOR_HOSTS = ["gateway.example"]
    assert is_safe(url, HOSTS) is sandbox
    settings.TOOL_ENVIRONMENT = "production"
    assert is_safe(url, HOSTS) is production


@pytest.mark.parametrize(("said", "seconds"), [("7", 7.0), ("0", 1.0), ("99999", 3_600.0), ("soon", 5.0), ("-1", 5.0)])
def test_how_long_a_vendor_asks_to_wait(said: str, seconds: float) -> None:
    assert seconds_of(said, 5.0) == seconds


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb", "a b"),
        ("a\r\nb\x00", "a\\x0d\\nb\\x00"),
        ("\u2066é 中\U000e0041", "\\u2066é 中\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("x" * 40, "x" * 29 + "…"),
        ("\x1b" * 30, "\\x1b" * 7 + "\\…"),
    ],
)
def test_text_from_outside_hides_nothing(text: str, shown: str) -> None:
    assert visible(text, 30) == shown
