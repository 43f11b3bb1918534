"""Pausing a session from within, because it does something unusual, until a person has looked at it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event
from agentops.policy.engine import Verdict
from agentops.policy.rules import Effect
from agentops.runtime.rate_rule import Anomaly
from agentops.runtime.record import Leaving, Took, record
from agentops.runtime.session import Held
from agentops.runtime.states import SessionStatus


@dataclass(frozen=True)
class Halted:
    """The session is paused because of what it proposed, which was not done; it is no longer held."""


def unsettled(held: Held, anomalies: Iterable[Anomaly], verdict: Verdict, at: datetime) -> tuple[Anomaly, ...]:
    """Return the anomalies that nobody has looked at yet and nobody is going to.

    Whoever resumes a session accepts what it was paused for, for as long as that counts.
    """
    asked = verdict.effect is Effect.ASK
    return tuple(
        one
        for one in anomalies
        if not (asked and one.settled_by_decision)
        and not (one.sign in held.accepted and held.accepted[one.sign] > at - one.window)
    )


def halt(
    held: Held,
    anomalies: Sequence[Anomaly],
    took: Took,
    facts: dict[str, Any],
    payload: dict[str, Any],
    *,
    at: datetime,
) -> Halted:
    """Pause the session instead of making the call that ``facts`` and ``payload`` describe. Raises StaleStream."""
    why = {
        "for": "",
        "code": IncidentCode.ANOMALY.value,
        "reason": " ".join(one.words for one in anomalies),
        "signs": [one.sign for one in anomalies],
    }
    event = Event("session.paused", "runtime", {**facts, **why}, {}, payload)
    record(
        held,
        [event],
        took,
        leaving=Leaving(SessionStatus.PAUSED, stop_code=IncidentCode.ANOMALY),
        at=at,
        as_decided=True,
    )
    return Halted()
