"""Questions to the agent and what it answered."""

from collections.abc import Sequence

from django.contrib.auth.models import User

from agentops.console.reveal import reveal
from approvals.models import Act, ActKind
from approvals.request_presenters import Exchange, RequestStatus
from approvals.rows import name_of


def exchanges(acts: Sequence[Act], reader: User, status: RequestStatus) -> list[Exchange]:
    """Return questions and answers in their order. An answer belongs to the oldest question that has none yet."""
    answers = [act for act in acts if act.kind == ActKind.ANSWERED]
    questions = [act for act in acts if act.kind == ActKind.ASKED]
    found = []
    for number, asked in enumerate(questions):
        answer = answers[number] if number < len(answers) else None
        found.append(
            Exchange(
                at=asked.at,
                by=name_of(asked.person, reader) if asked.person else "",
                question=reveal(asked.words),
                answer=reveal(answer.words) if answer else (),
                answered_at=answer.at if answer else None,
                lapsed=answer is None and status != "pending",
            )
        )
    return found
