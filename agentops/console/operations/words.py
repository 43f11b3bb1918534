"""What operators read of events, freezes and breakers, in words (pure)."""

from datetime import datetime

from agentops.console.marks import State

WISHES = {"pause": "pauses", "take_over": "goes to a person", "cancel": "is cancelled"}
"""What a session does after its present step, by the wish that is recorded for it."""

_DOING = {
    "session.claimed": "reads what is on record, plans",
    "session.stopping": "is stopping: undoes or hands over what is open",
    "call.intended": "calls {tool}",
    "call.retried": "calls {tool} again",
    "call.reconciled": "heard what became of {tool}",
    "model.malformed": "plans anew: its last proposal could not be read",
}
_AFTER = "plans its next step, after {tool}"


def doing(kind: str, tool: str) -> str:
    """Return what a worker does whose session's newest event is ``kind``."""
    if kind in _DOING:
        return _DOING[kind].format(tool=tool)
    return _AFTER.format(tool=tool) if kind.startswith("call.") and tool else "plans its next step"


def scope_words(*, tenant: str, agent: str, tool: str) -> str:
    """Return what a freeze covers. ``tenant`` empty: every tenant; ``agent`` and ``tool`` empty: all of them."""
    where = f"the agent {agent}" if agent else f"all agents of {tenant}" if tenant else "all agents of every tenant"
    return f"{tool}, for {where}" if tool else where[0].upper() + where[1:]


def breaker_state(state: str, *, failures: int, retry_at: datetime | None, now: datetime) -> State:
    """Return the state of a breaker; the time until which it is off stands beside it."""
    if state == "half_open":
        return State("plain", "being tried")
    if state == "open":
        return (
            State("stop", "off until") if retry_at and retry_at > now else State("gone", "off, the next call tries it")
        )
    return State("plain", "working, but has failed") if failures else State("ok", "working")


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun: "1 session", "3 sessions"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
