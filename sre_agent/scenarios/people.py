"""What people say: they reject, change, forget, are too late, or have said beforehand that nothing is to be changed."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from agentops.registry.scenario import Approves, Asked, Edits, Expected, LetsExpire, Made, Rejects
from sre_agent.connectors import claiming
from sre_agent.estate.company import company, trouble
from sre_agent.estate.values import Flaw, Happening, Release, Trouble
from sre_agent.models import ChangeFreeze
from sre_agent.scenarios.known import ended
from sre_agent.scenarios.making import scenario
from sre_agent.scenarios.stage import More, Stage, stage

NO = "Not now: the finance run is under way."
PAYMENTS = stage(trouble(Trouble.BAD_DEPLOY, "payments", 20, 1))
SPIKE = stage(trouble(Trouble.TRAFFIC_SPIKE, "checkout", 40, 1))
MAILER = stage(trouble(Trouble.FULL_DISK, "mailer", 20, 3), seed=3)
NEIGHBOUR = stage(trouble(Trouble.NOISY_NEIGHBOUR, "node-b", 20, 1))
BACK = {"service": "payments", "release": "1.9.0"}
NOTHING = {"incident": "escalated", "writes": []}


def _freeze(*, service: str = "", over: bool = False) -> More:
    def make(tenant_id: UUID, now: datetime) -> None:
        ends = now - timedelta(hours=1) if over else now + timedelta(hours=8)
        ChangeFreeze.objects.create(
            tenant_id=tenant_id, name="Sale", service=service, starts_at=now - timedelta(hours=2), ends_at=ends
        )

    return make


def _claimed(tenant_id: UUID, now: datetime) -> None:
    claiming.take(tenant_id, "service:payments", "INC-OTHER", now)


def _again(at: int) -> Happening:
    """Somebody deploys another attempt, which fails too."""
    release = Release("1.10.1", at, "dana", "Price rounding, second try", Flaw(errors_pm=300, words="KeyError: 'vat'"))
    return Happening(Trouble.BAD_DEPLOY, "payments", at, release=release)


def _mended(at: int) -> Happening:
    """Somebody deploys what mends it."""
    release = Release("1.10.1", at, "dana", "Price rounding as before")
    return Happening(Trouble.BAD_DEPLOY, "payments", at, release=release)


def _then(happening: Happening) -> Stage:
    return Stage(company(1, trouble(Trouble.BAD_DEPLOY, "payments", 20, 1), happening))


PEOPLE_DECIDE = (
    scenario(
        "rejected-rollback-changes-nothing",
        "A rollback that a person rejects is not tried again; the incident goes to a person",
        stage=PAYMENTS,
        replies=(Rejects(tool="roll_back", reason=NO),),
        expected=Expected("escalated", asked=(Asked("roll_back", 1, BACK),), records={**NOTHING, "pages": 1}),
    ),
    scenario(
        "rejected-drain-changes-nothing",
        "A node that people want to keep is not drained",
        stage=NEIGHBOUR,
        replies=(Rejects(tool="drain_node", reason=NO),),
        expected=Expected("escalated", asked=(Asked("drain_node", 1),), records={**NOTHING, "cordoned": []}),
    ),
    scenario(
        "nobody-decides",
        "A rollback that nobody decides about expires, and the incident goes to a person",
        stage=PAYMENTS,
        replies=(LetsExpire(tool="roll_back"),),
        expected=Expected("escalated", asked=(Asked("roll_back", 1, BACK),), records=NOTHING),
    ),
    scenario(
        "fewer-replicas-than-proposed",
        "A person scales to fewer replicas than were proposed, another one approves that",
        stage=SPIKE,
        replies=(
            Edits(tool="scale_service", by="ada", changes={"replicas": 8}, reason="Eight are enough."),
            Approves(tool="scale_service", by="ben"),
        ),
        expected=Expected(
            "resolved",
            made=(Made("scale_service", {"service": "checkout", "replicas": 8}),),
            asked=(Asked("scale_service", 1), Asked("scale_service", 1, {"replicas": 8})),
            records={"incident": "resolved", "writes": ["Scale"]},
        ),
    ),
    scenario(
        "somebody-deploys-while-the-approval-waits",
        "What was approved was decided on another release: it has no effect, and whoever deployed goes on",
        stage=_then(_again(28)),
        replies=(Approves(tool="roll_back"),),
        expected=Expected("escalated", asked=(Asked("roll_back", 1, BACK),), records=NOTHING),
    ),
    scenario(
        "somebody-mends-it-while-the-approval-waits",
        "Another release has ended the trouble before the rollback was approved: it is not rolled back",
        stage=_then(_mended(26)),
        replies=(Approves(tool="roll_back"),),
        expected=Expected("escalated", asked=(Asked("roll_back", 1, BACK),), records=NOTHING),
    ),
    scenario(
        "change-freeze-asks-two-people",
        "While a freeze covers the service, a rollback takes two people",
        stage=replace(PAYMENTS, more=(_freeze(),)),
        replies=(Approves(tool="roll_back"),),
        expected=ended("roll_back", BACK, people=2),
    ),
    scenario(
        "change-freeze-of-another-service",
        "A freeze of another service changes nothing",
        stage=replace(PAYMENTS, more=(_freeze(service="search"),)),
        replies=(Approves(tool="roll_back"),),
        expected=ended("roll_back", BACK),
    ),
    scenario(
        "change-freeze-that-is-over",
        "A freeze that is over asks nobody more",
        stage=replace(PAYMENTS, more=(_freeze(over=True),)),
        replies=(Approves(tool="roll_back"),),
        expected=ended("roll_back", BACK),
    ),
    scenario(
        "change-freeze-of-what-would-run-by-itself",
        "What runs without a person otherwise takes two while a freeze lasts",
        stage=replace(MAILER, more=(_freeze(),)),
        replies=(Approves(tool="run_runbook"),),
        expected=ended("run_runbook", {"service": "mailer", "runbook": "archive_logs"}, people=2),
    ),
    scenario(
        "another-incident-holds-the-service",
        "A service that another incident's session works on is left to it",
        stage=replace(PAYMENTS, more=(_claimed,)),
        expected=Expected("escalated", records=NOTHING),
    ),
)
