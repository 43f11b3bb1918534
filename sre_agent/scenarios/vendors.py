"""The systems around the role fail, or act and do not answer: nothing happens twice, and nothing is claimed."""

from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.registry.scenario import Approves, Asked, Expected, Fails, LosesAnswer, Made, Scenario
from sre_agent.estate.company import trouble
from sre_agent.estate.values import Trouble
from sre_agent.scenarios.known import ended
from sre_agent.scenarios.making import scenario
from sre_agent.scenarios.stage import stage

BACK = {"service": "payments", "release": "1.9.0"}
PAYMENTS = stage(trouble(Trouble.BAD_DEPLOY, "payments", 20, 1))
SEARCH = stage(trouble(Trouble.TRAFFIC_SPIKE, "search", 40, 3), seed=3)
APPROVED = (Approves(tool="roll_back"),)
ASKED = (Asked("roll_back", 1, BACK),)
SCALED = {"service": "search"}


def _payments(name: str, title: str, expected: Expected, *disturbed: Any) -> Scenario:
    return scenario(name, title, stage=PAYMENTS, replies=APPROVED, expected=expected, disturbed=disturbed)


def _not_made(**records: Any) -> Expected:
    return Expected("escalated", asked=ASKED, records={"incident": "escalated", "writes": [], **records})


VENDORS = (
    _payments(
        "rollback-acts-and-its-answer-is-lost",
        "A rollback took effect and nobody heard of it: the platform is asked, and it is not made again",
        ended("roll_back", BACK),
        LosesAnswer("roll_back"),
    ),
    _payments(
        "rollback-is-lost-on-its-way",
        "A rollback did not take effect and nobody heard of that: it is made once",
        ended("roll_back", BACK),
        LosesAnswer("roll_back", acts=False),
    ),
    _payments(
        "rollback-of-which-nobody-can-tell",
        "Nobody can tell whether the rollback took effect: the session stops, and a person looks",
        Expected(
            "escalated",
            stopped="OUTCOME_UNKNOWN",
            asked=ASKED,
            records={"incident": "escalated", "writes": ["RollBack"]},
        ),
        LosesAnswer("roll_back", tells=False),
    ),
    scenario(
        "scaling-acts-and-its-answer-is-lost",
        "The same of more replicas: they are not added twice",
        stage=SEARCH,
        replies=(Approves(tool="scale_service"),),
        expected=ended("scale_service", SCALED),
        disturbed=(LosesAnswer("scale_service"),),
    ),
    _payments(
        "platform-asks-for-patience",
        "The platform takes no more calls for a moment: the rollback is made later",
        ended("roll_back", BACK),
        Fails("roll_back", FailureKind.RATE_LIMIT),
    ),
    _payments(
        "platform-is-away-for-a-moment",
        "The list of services cannot be had at first",
        ended("roll_back", BACK),
        Fails("list_services", FailureKind.UNAVAILABLE),
    ),
    _payments(
        "platform-does-not-know-the-agent",
        "The platform turns the agent away: nothing is changed, and a person goes on",
        _not_made(),
        Fails("roll_back", FailureKind.AUTH, times=2),
    ),
    scenario(
        "logs-cannot-be-read",
        "Without the logs there is not enough evidence for any change",
        stage=PAYMENTS,
        expected=Expected("escalated", records={"incident": "escalated", "writes": [], "pages": 1}),
        disturbed=(Fails("read_logs", FailureKind.AUTH, times=2),),
    ),
    _payments(
        "change-cannot-be-verified",
        "A rollback whose effect cannot be read is neither called a success nor taken back",
        Expected(
            "escalated",
            made=(Made("roll_back", BACK),),
            asked=ASKED,
            records={"incident": "escalated", "writes": ["RollBack"]},
        ),
        Fails("verify_change", FailureKind.AUTH, times=2),
    ),
    _payments(
        "pager-is-down",
        "Nobody can be called: the work goes on",
        ended("roll_back", BACK, pages=0),
        Fails("page_person", FailureKind.AUTH, times=2),
    ),
)
