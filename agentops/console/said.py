"""Names and values from the ledger in the words that screens use. Pure."""

from collections.abc import Mapping
from typing import Any

from agentops.console.formats import cost_words, duration_words
from agentops.console.marks import Rule, State
from agentops.kernel.canonical import canonical_bytes


def actor_name(actor: str) -> str:
    """Return who did something, without the kind that the ledger puts before the name ("user:alice")."""
    kind, _, name = actor.partition(":")
    if kind in ("user", "agent", "worker") and name:
        return name
    return {"sweep": "by itself", "runtime": "by itself", "intake": "from the inbox"}.get(actor, actor)


def one_line(value: Any) -> str:
    """Return a value of JSON in a line: an object as "key: value · key: value", nested values as JSON."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return " · ".join(f"{key}: {_short(part)}" for key, part in value.items())
    return _short(value)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else canonical_bytes(value).decode()


def ms_words(milliseconds: int) -> str:
    """Return a short time; nothing for nothing."""
    if milliseconds <= 0:
        return ""
    return "<\u20600.1\u00a0s" if milliseconds < 50 else duration_words(milliseconds / 1000)


def took_words(facts: Mapping[str, Any]) -> str:
    """Return how long the model and the tool took together."""
    return ms_words(int(facts.get("model_ms", 0)) + int(facts.get("tool_ms", 0)))


_EFFECTS = {"allow": "allows", "ask": "asks", "forbid": "denies"}


def rules_of(body: Mapping[str, Any]) -> list[Rule]:
    """Return the rules that fired, as the verdict in a payload lists them."""
    reasons = (body.get("verdict") or {}).get("reasons", ())
    return [Rule(text=words, code=rule, effect=_EFFECTS.get(effect, effect)) for rule, effect, words in reasons]


def cost_of(facts: Mapping[str, Any]) -> str:
    """Return what a model call cost, with a sign when the price is an estimate; nothing for nothing."""
    micro = facts.get("cost_micro", 0)
    if not micro:
        return ""
    return f"about {cost_words(micro)}" if facts.get("estimated") else cost_words(micro)


def tokens_of(facts: Mapping[str, Any]) -> str:
    """Return how many tokens a model call read and wrote, nothing for none."""
    count = int(facts.get("input_tokens", 0)) + int(facts.get("output_tokens", 0))
    return f"{count:,} token{'' if count == 1 else 's'}" if count else ""


_STANDING = {
    "queued": State("plain", "queued"),
    "running": State("plain", "running"),
    "sleeping": State("gone", "tries again later"),
    "waiting_approval": State("notice", "waits for a person"),
    "waiting_person": State("notice", "waits for an answer"),
    "paused": State("notice", "paused"),
    "cancelled": State("gone", "cancelled"),
    "stopped": State("stop", "stopped"),
}
_OUTCOMES = {
    "escalated": State("notice", "escalated"),
    "no action": State("plain", "no action"),
}


_WISHES = {"pause": "pausing", "take_over": "being taken over", "cancel": "cancelling"}


def standing(status: str, outcome: str, *, taken_by: str = "", wanted: str = "") -> State:
    """Return how a session stands: its outcome once it finished, its status before, and that it was stopped.

    ``taken_by`` is who has taken it over, ``wanted`` what an operator wants of it next.
    """
    if wanted in _WISHES:
        return State("notice", _WISHES[wanted])
    if status == "paused" and taken_by:
        return State("notice", f"taken over by {actor_name(taken_by)}")
    if status != "finished":
        return _STANDING.get(status, State("plain", status))
    return _OUTCOMES.get(outcome, State("ok", outcome or "finished"))
