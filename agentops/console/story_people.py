"""The sentences of a story about what people did to a session, and what was put right or taken back (pure)."""

from agentops.console.formats import duration_words
from agentops.console.happenings import PRIORITIES
from agentops.console.marks import plain
from agentops.console.records import Told
from agentops.console.reveal import reveal_cut
from agentops.console.said import actor_name
from agentops.console.teller import EFFECT, Sentence, Teller
from agentops.kernel.errors import IncidentCode


def _did(teller: Teller, moment: Told, words: str, after: str = "") -> None:
    """Say that somebody did something, as a link, with the reason they gave."""
    teller.begin(f"{actor_name(moment.actor)} ")
    teller.say(words, moment.position)
    teller.say(after)
    _reason(teller, moment)


def _reason(teller: Teller, moment: Told) -> None:
    reason = str(moment.facts.get("reason", ""))
    if not reason:
        teller.say(".")
        return
    teller.say(": “")
    teller.quote(reveal_cut(reason, EFFECT))
    teller.say("”" if reason.endswith((".", "!", "?")) else "”.")


def _does(words: str, after: str = "") -> Sentence:
    def sentence(teller: Teller, moment: Told) -> None:
        teller.people_took(moment.at)
        _did(teller, moment, words, after)

    return sentence


def _paused(teller: Teller, moment: Told) -> None:
    """A worker that gives the session up says nothing new: who wanted that was told before."""
    if moment.actor.startswith("user:"):
        _does("paused", " it")(teller, moment)
    elif moment.facts.get("code") == IncidentCode.ANOMALY:
        teller.begin("It was ")
        teller.say("paused", moment.position)
        teller.say(" for something unusual")
        _reason(teller, moment)
    teller.waits_since = moment.at


def _taken_over(teller: Teller, moment: Told) -> None:
    _does("took it over")(teller, moment)
    teller.waits_since = moment.at


def _asked(teller: Teller, moment: Told) -> None:
    teller.waits_since = moment.at
    teller.begin("It asked ")
    teller.say("a question", moment.position)
    teller.say(".")


def _answered(teller: Teller, moment: Told) -> None:
    teller.begin(f"After {duration_words(teller.people_took(moment.at))} {actor_name(moment.actor)} ")
    teller.say("answered", moment.position)
    teller.say(" it.")


def _unanswered(teller: Teller, moment: Told) -> None:
    teller.people_took(moment.at)
    teller.begin("Nobody ")
    teller.say("answered", moment.position)
    teller.say(" in time.")


def _overtaken(teller: Teller, moment: Told) -> None:
    teller.people_took(moment.at)
    teller.begin("Something happened ")
    teller.say("before anybody answered", moment.position)
    teller.say(".")


def _proposed(teller: Teller, moment: Told) -> None:
    tool = str(moment.facts.get("tool", ""))
    teller.people_took(moment.at)
    teller.ended_by_person = not tool
    _did(teller, moment, f"did a step ({tool})" if tool else "ended it", "" if tool else " with an answer")


def _ranked(teller: Teller, moment: Told) -> None:
    _did(teller, moment, "changed its priority", f" to {PRIORITIES.get(moment.facts.get('to', 1), '?')}")


def _made_way(teller: Teller, moment: Told) -> None:
    title = str(moment.facts.get("title", ""))
    teller.begin("It ")
    teller.say("made way", moment.position)
    teller.say(" for more urgent work")
    if title:
        teller.say(": ")
        teller.quote(reveal_cut(title, EFFECT))
    teller.say(".")


def _frozen(teller: Teller, moment: Told) -> None:
    teller.begin("It was ")
    teller.say("frozen", moment.position)
    teller.say(f" by {actor_name(str(moment.facts.get('by', '')))}")
    _reason(teller, moment)


def _cancelled(teller: Teller, moment: Told) -> None:
    teller.people_took(moment.at)
    if moment.facts.get("again"):
        return
    who = f" by {actor_name(moment.actor)}" if moment.actor.startswith("user:") else ""
    teller.begin("It was ")
    teller.say("cancelled", moment.position)
    teller.say(who)
    _reason(teller, moment)


def _undone(teller: Teller, moment: Told) -> None:
    teller.begin("That ")
    teller.say("undid", moment.position)
    teller.say(": ")
    teller.quote(teller.what(moment))
    teller.say(".")


def _reconciled(teller: Teller, moment: Told) -> None:
    happened = moment.facts.get("found") == "happened"
    teller.begin("It turned out that this ")
    teller.say("took effect" if happened else "never took effect", moment.position)
    teller.say(": ")
    teller.quote(teller.what(moment))
    teller.say(".")


def _process_failed(teller: Teller, moment: Told) -> None:
    teller.begin("The process ")
    teller.quote(plain(str(moment.facts.get("process", ""))), moment.position)
    teller.say(f" failed at “{moment.facts.get('from', '')}”.")


def _process_undone(teller: Teller, moment: Told) -> None:
    teller.begin("What the process ")
    teller.quote(plain(str(moment.facts.get("process", ""))), moment.position)
    all_of_it = moment.facts.get("to") == "compensated"
    teller.say(" had done was taken back." if all_of_it else " had done could not all be taken back.")


def _elevated(teller: Teller, moment: Told) -> None:
    _did(teller, moment, "allowed", f" the elevated scope {moment.facts.get('scope', '')}")


def _revoked(teller: Teller, moment: Told) -> None:
    _did(teller, moment, "took back", f" the elevated scope {moment.facts.get('scope', '')}")


TELL: dict[str, Sentence] = {
    "session.pause_requested": _does("paused", " it"),
    "session.take_over_requested": _does("took it over"),
    "session.cancel_requested": _does("asked to cancel it"),
    "session.paused": _paused,
    "session.taken_over": _taken_over,
    "session.resumed": _does("resumed", " it"),
    "session.handed_back": _does("handed it back"),
    "session.preempted": _made_way,
    "session.frozen": _frozen,
    "session.priority_changed": _ranked,
    "session.reopened": _does("opened it again", " to take something back"),
    "session.cancelled": _cancelled,
    "person.proposed": _proposed,
    "person.asked": _asked,
    "person.answered": _answered,
    "question.expired": _unanswered,
    "question.overtaken": _overtaken,
    "call.compensated": _undone,
    "call.reconciled": _reconciled,
    "process.failed": _process_failed,
    "process.compensated": _process_undone,
    "elevation.given": _elevated,
    "elevation.revoked": _revoked,
}
