"""The people of one scenario: they say what the scenario has them say, through the doors that people use."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from agentops.evals.comparing import Found
from agentops.evals.ports import Waiting, people
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.registry.scenario import PEOPLE, Answers, Approves, Asked, Edits, LetsExpire, Rejects, Reply, Said
from agentops.runtime.questions import answer_question, expire_questions, open_question

_OF_ONE_PERSON = frozenset({"EXCLUDED", "SAME_PERSON", "ALREADY_DECIDED"})
"""Refusals that another person does not get."""

Passes = Callable[[int], None]
"""Lets so many seconds go by in the scenario's world."""


class Cast:
    """The people and what they have still to say. What they were asked, and what went wrong, goes into ``found``.

    ``passes`` lets so many seconds go by before each reply.
    """

    def __init__(self, tenant_id: UUID, replies: tuple[Said, ...], found: Found, passes: Passes) -> None:
        self._tenant_id = tenant_id
        self._passes = passes
        self._found = found
        self._places: dict[UUID, int] = {}
        self._acted: set[tuple[UUID, str]] = set()
        self._left = list(replies)

    def decide(self, session_id: UUID) -> bool:
        """Do what the next reply to the waiting call says. False when the session cannot go on."""
        waiting = people().waiting(session_id)
        if waiting is None:
            return self._fail("The session waits for a decision that is put to nobody.")
        if waiting.request_id not in self._places:
            self._places[waiting.request_id] = len(self._found.asked)
            self._found.asked.append(Asked(waiting.tool, waiting.people, waiting.arguments))
        reply = next((each for each in self._left if isinstance(each, Reply) and each.tool == waiting.tool), None)
        if reply is None:
            why = " ".join(waiting.why)
            return self._fail(f"People were asked about {waiting.tool}, and nobody has a reply to that. {why}".strip())
        self._left.remove(reply)
        self._passes(reply.after_s)
        if reply.meanwhile is not None:
            reply.meanwhile(self._tenant_id)
        return self._do(reply, waiting)

    def answer(self, session_id: UUID) -> bool:
        """Answer what the planner asked, or let its time pass. False when nobody has an answer."""
        self._found.questions += 1
        question = open_question(session_id)
        reply = next((each for each in self._left if isinstance(each, Answers)), None)
        if question is None or reply is None:
            return self._fail(f"The planner asked {question.text if question else ''!r}, and nobody has an answer.")
        self._left.remove(reply)
        self._passes(reply.after_s)
        if reply.words:
            answer_question(question_id=question.pk, actor=f"user:{PEOPLE[0]}", answer=reply.words)
            return True
        question.expires_at = utcnow()
        question.save(update_fields=["expires_at"])
        return bool(expire_questions(1))

    def leave(self) -> None:
        """Note what nobody wanted to hear."""
        for reply in self._left:
            about = "a question" if isinstance(reply, Answers) else reply.tool
            self._fail(f"A reply to {about} ({type(reply).__name__}) was not needed.")

    def _fail(self, words: str) -> bool:
        self._found.problems.append(words)
        return False

    def _do(self, reply: Reply, waiting: Waiting) -> bool:
        desk, request = people(), waiting.request_id
        match reply:
            case Approves(people=count):
                times = 1 if reply.by else count or waiting.missing
                for _ in range(times):
                    if not self._by_one(reply, waiting, lambda who: desk.approve(request, person=who)):
                        return False
            case Rejects(reason=reason):
                return self._by_one(reply, waiting, lambda who: desk.reject(request, person=who, reason=reason))
            case Edits(changes=changes, reason=reason):
                new = {**waiting.arguments, **changes}
                return self._by_one(
                    reply, waiting, lambda who: desk.edit(request, person=who, arguments=new, reason=reason)
                )
            case LetsExpire():
                desk.let_expire(request)
        return True

    def _by_one(self, reply: Reply, waiting: Waiting, act: Callable[[str], None]) -> bool:
        """Let the person who is named act, or the first one who may. What a named one is refused with is noted."""
        names = (reply.by,) if reply.by else [name for name in PEOPLE if (waiting.request_id, name) not in self._acted]
        for person in names:
            try:
                act(person)
            except AgentOpsError as error:
                if reply.by:
                    self._refused(waiting, error.code)
                    return True
                if error.code not in _OF_ONE_PERSON:
                    raise
            else:
                self._acted.add((waiting.request_id, person))
                return True
        return self._fail(f"Nobody may decide about {waiting.tool}.")

    def _refused(self, waiting: Waiting, code: str) -> None:
        place = self._places[waiting.request_id]
        asked = self._found.asked[place]
        self._found.asked[place] = replace(asked, refused=(*asked.refused, code))
