"""What the role does not know, what is over already, and what is more than one trouble."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from agentops.registry.scenario import Approves, Asked, Expected, Made
from sre_agent.estate.company import company, trouble
from sre_agent.estate.values import Estate, Flaw, Happening, Trouble
from sre_agent.models import Alert, Source
from sre_agent.scenarios.known import ended
from sre_agent.scenarios.making import scenario
from sre_agent.scenarios.stage import More, Stage, stage

LEFT = Expected("escalated", records={"incident": "escalated", "writes": []})
OVER = Expected("resolved", records={"incident": "resolved", "writes": [], "pages": 0, "drafts": 0})
QUIET = Stage(company(5), ticks=30)
PAYMENTS = stage(trouble(Trouble.BAD_DEPLOY, "payments", 20, 1))


def told(service: str, *, times: int = 1, ended: bool = False, words: str = "More than 5 % of requests fail.") -> More:
    """Return what makes an alert of a monitoring of the company's own."""

    def make(tenant_id: UUID, now: datetime) -> None:
        Alert.objects.create(
            tenant_id=tenant_id,
            ref="AL-TOLD",
            source=Source.ALERTMANAGER,
            fingerprint="told",
            rule="ErrorsHigh",
            service=service,
            words=words,
            priority=2,
            times=times,
            began_at=now - timedelta(minutes=9),
            ended_at=now if ended else None,
        )

    return make


def flawed(service: str, words: str = "upstream schema v7 is not understood") -> Estate:
    """Return an estate in which the release that a service has run for long begins to fail: nothing was changed."""
    estate = company(2)
    found = estate.services[service]
    release = replace(found.releases[-1], flaw=Flaw(errors_pm=400, words=words))
    return estate.with_service(replace(found, releases=(*found.releases[:-1], release)))


UNCLEAR = (
    scenario(
        "unknown-trouble-goes-to-a-person",
        "A service fails, and nothing that is known explains it: a person is called and told what was found",
        stage=Stage(flawed("payments")),
        expected=Expected("escalated", records={**LEFT.records, "pages": 1, "drafts": 1}),
    ),
    scenario(
        "unknown-trouble-of-little-urgency",
        "The same of a service that can wait: nobody is called",
        stage=Stage(flawed("mailer")),
        expected=Expected("escalated", records={**LEFT.records, "pages": 0, "drafts": 0}),
    ),
    scenario(
        "unknown-trouble-with-nobody-on-call",
        "Nobody is on call: the incident goes to a person all the same",
        stage=Stage(flawed("payments"), on_call=()),
        expected=Expected("escalated", records={**LEFT.records, "pages": 0}),
    ),
    scenario(
        "known-trouble-with-only-the-second-level-on-call",
        "Nobody is on call at the first level: the second one is called, and the trouble is ended",
        stage=replace(PAYMENTS, on_call=(2,)),
        replies=(Approves(tool="roll_back"),),
        expected=ended("roll_back", {"service": "payments", "release": "1.9.0"}, pages=1),
    ),
    scenario(
        "false-alarm-on-a-quiet-day",
        "An alert has ended and every figure is sound: nothing is touched, nobody is called",
        stage=replace(QUIET, more=(told("search", ended=True),)),
        expected=OVER,
    ),
    scenario(
        "quiet-day-without-any-alert",
        "Somebody says that something is slow, and nothing is",
        stage=QUIET,
        expected=OVER,
    ),
    scenario(
        "flapping-alert-of-a-sound-service",
        "An alert has come and gone nine times and fires: the figures are sound, so a person looks at the alert",
        stage=replace(QUIET, more=(told("search", times=9),)),
        expected=LEFT,
    ),
    scenario(
        "over-when-the-session-begins",
        "A spike has passed by itself before the session began: nothing is scaled",
        stage=Stage(company(1, Happening(Trouble.TRAFFIC_SPIKE, "search", 20, amount=2_000, until=32)), ticks=45),
        expected=OVER,
    ),
    scenario(
        "alert-that-names-a-service-that-does-not-exist",
        "The alert names no known service: the one that fails is found all the same, and the alert is a person's",
        stage=replace(
            PAYMENTS,
            service="payment-svc",
            without=("payments", "checkout"),
            more=(told("payment-svc"),),
        ),
        replies=(Approves(tool="roll_back"),),
        expected=Expected(
            "escalated",
            made=(Made("roll_back", {"service": "payments", "release": "1.9.0"}),),
            asked=(Asked("roll_back", 1),),
            records={"incident": "escalated", "writes": ["RollBack"]},
        ),
    ),
    scenario(
        "bad-deploy-and-noisy-neighbour-of-one-service",
        "Two causes are possible, and what ends one can make the other worse: a person decides what comes first",
        stage=Stage(
            company(
                3,
                trouble(Trouble.BAD_DEPLOY, "ledger-db", 20, 3),
                trouble(Trouble.NOISY_NEIGHBOUR, "node-c", 21, 3),
            )
        ),
        expected=LEFT,
    ),
    scenario(
        "certificate-of-a-service-with-a-bad-deploy",
        "The certificate is renewed, which helps; the release that fails too is a person's",
        stage=Stage(
            company(
                3,
                trouble(Trouble.BAD_DEPLOY, "payments", 19, 3),
                trouble(Trouble.EXPIRED_CERTIFICATE, "payments", 20, 3),
            )
        ),
        replies=(Approves(tool="run_runbook"),),
        expected=Expected(
            "escalated",
            made=(Made("run_runbook", {"service": "payments", "runbook": "renew_certificate"}),),
            asked=(Asked("run_runbook", 1),),
            records={"incident": "escalated", "writes": ["RunBook"]},
        ),
    ),
    scenario(
        "two-full-disks-one-after-the-other",
        "When the first disk is mended the second service still fails: it is mended too, and all is over",
        stage=Stage(
            company(
                3,
                trouble(Trouble.FULL_DISK, "payments", 20, 3),
                trouble(Trouble.FULL_DISK, "session-cache", 20, 3),
            ),
            ticks=45,
        ),
        replies=(Approves(tool="run_runbook"), Approves(tool="run_runbook")),
        expected=Expected(
            "resolved",
            made=(Made("run_runbook", {"service": "payments"}), Made("run_runbook", {"service": "session-cache"})),
            asked=(Asked("run_runbook", 1), Asked("run_runbook", 1)),
            records={"incident": "resolved", "writes": ["RunBook", "RunBook"]},
        ),
    ),
    scenario(
        "rollback-that-does-not-help-is-taken-back",
        "The ledger begins to fail while people decide: the rollback shows nothing, so it is taken back",
        stage=Stage(
            company(
                1,
                trouble(Trouble.BAD_DEPLOY, "payments", 20, 1),
                trouble(Trouble.EXPIRED_CERTIFICATE, "ledger-db", 28, 1),
            )
        ),
        replies=(Approves(tool="roll_back"), Approves(tool="roll_back")),
        expected=Expected(
            "escalated",
            made=(
                Made("roll_back", {"service": "payments", "release": "1.9.0"}),
                Made("roll_back", {"service": "payments", "release": "1.10.0"}),
            ),
            asked=(Asked("roll_back", 1), Asked("roll_back", 1)),
            records={"incident": "escalated", "writes": ["RollBack", "RollBack"], "releases": {"payments": "1.10.0"}},
        ),
    ),
)
