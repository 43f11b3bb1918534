"""People publish status updates: in their words, once, and never an agent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from agentops.tenancy.models import Tenant
from sre_agent.connectors.board import EmbeddedBoard
from sre_agent.connectors.desk_people import NotPossible, discard_update, post_again, publish_update, thread_of
from sre_agent.models import Incident, StatusUpdate
from tests.factories.sre import NOW, at_once, make_incident, make_tenant

DRAFT = "We look into it."


@dataclass
class RecordingBoard:
    """A board that keeps what was posted; ``fails`` is raised instead, once."""

    posted: list[tuple[str, str, str]] = field(default_factory=list)
    fails: Exception | None = None

    def publish(self, tenant_id: UUID, update_ref: str, words: str, thread: str) -> str:
        if self.fails is not None:
            error, self.fails = self.fails, None
            raise error
        self.posted.append((update_ref, words, thread))
        return thread or "thread-1"


@pytest.fixture
def tenant(db: None) -> Tenant:
    return make_tenant()


@pytest.fixture
def incident(tenant: Tenant) -> Incident:
    return make_incident(tenant)


def draft(incident: Incident, ref: str = "SU-1") -> StatusUpdate:
    return StatusUpdate.objects.create(
        tenant=incident.tenant, incident=incident, ref=ref, text=DRAFT, drafted_by="agent", drafted_at=NOW
    )


def publish(tenant: Tenant, board: RecordingBoard | EmbeddedBoard, ref: str = "SU-1", text: str = "Ours.") -> str:
    update = publish_update(tenant_id=tenant.pk, update_ref=ref, text=text, person="alice", now=NOW, board=board)
    return f"{update.state} by {update.published_by}: {update.text}"


def test_a_person_publishes_in_their_own_words(tenant: Tenant, incident: Incident) -> None:
    draft(incident)
    board = RecordingBoard()
    assert publish(tenant, board, text="  We are on it. ") == "published by alice: We are on it."
    update = StatusUpdate.objects.get()
    assert (update.published_at, update.version) == (NOW, 2)
    assert board.posted == [("SU-1", "We are on it.", "")]
    assert list(incident.notes.values_list("actor", "text")) == [("alice", "Published status update SU-1.")]


def test_later_updates_go_into_the_thread_of_the_incident(tenant: Tenant, incident: Incident) -> None:
    board = RecordingBoard()
    for ref in ("SU-1", "SU-2"):
        draft(incident, ref)
        publish(tenant, board, ref)
    draft(make_incident(tenant, "INC-2"), "SU-3")
    publish(tenant, board, "SU-3")
    assert [thread for _, _, thread in board.posted] == ["", "thread-1", ""]
    assert thread_of(incident) == "thread-1"


def test_the_embedded_board_is_the_published_row(tenant: Tenant, incident: Incident) -> None:
    draft(incident)
    publish(tenant, EmbeddedBoard())
    assert StatusUpdate.objects.get().state == "published"
    assert thread_of(incident) == "SU-1"


@pytest.mark.parametrize("text", ["", "  ", "x" * 1_001, "a\x00b", "\ud800"])
def test_words_that_cannot_be_kept_are_not_published(tenant: Tenant, incident: Incident, text: str) -> None:
    draft(incident)
    board = RecordingBoard()
    with pytest.raises(NotPossible):
        publish(tenant, board, text=text)
    assert board.posted == []
    assert StatusUpdate.objects.get().state == "draft"


def test_what_is_not_a_draft_of_the_tenant_is_neither_published_nor_thrown_away(
    tenant: Tenant, incident: Incident
) -> None:
    draft(incident)
    south, board = make_tenant("south"), RecordingBoard()
    for wrong, ref in ((south, "SU-1"), (tenant, "SU-none")):
        with pytest.raises(NotPossible, match="There is no such status update"):
            publish(wrong, board, ref)
        with pytest.raises(NotPossible, match="There is no such status update"):
            discard_update(tenant_id=wrong.pk, update_ref=ref, person="alice", now=NOW)
    discard_update(tenant_id=tenant.pk, update_ref="SU-1", person="alice", now=NOW)
    with pytest.raises(NotPossible, match="SU-1 is discarded already"):
        publish(tenant, board)
    with pytest.raises(NotPossible, match="SU-1 is discarded already"):
        discard_update(tenant_id=tenant.pk, update_ref="SU-1", person="alice", now=NOW)
    assert board.posted == []
    assert list(incident.notes.values_list("actor", "text")) == [("alice", "Threw away status update SU-1.")]


def test_what_the_board_refused_is_a_draft_again(tenant: Tenant, incident: Incident) -> None:
    draft(incident)
    board = RecordingBoard(fails=ToolFailure(FailureKind.AUTH, "The token is not valid."))
    with pytest.raises(NotPossible, match="The token is not valid") as refused:
        publish(tenant, board)
    assert refused.value.next_step == "It is a draft again; publish it later."
    update = StatusUpdate.objects.get()
    assert (update.state, update.published_by, update.published_at) == ("draft", "", None)
    assert publish(tenant, board) == "published by alice: Ours."


def test_what_may_have_been_posted_stays_published_until_it_is_posted_again(tenant: Tenant, incident: Incident) -> None:
    draft(incident)
    board = RecordingBoard(fails=OutcomeUnknown("The board did not answer in time."))
    with pytest.raises(OutcomeUnknown):
        publish(tenant, board)
    assert StatusUpdate.objects.get().state == "published"
    with pytest.raises(NotPossible, match="published by alice already"):
        publish(tenant, board, text="Other words.")

    post_again(tenant_id=tenant.pk, update_ref="SU-1", now=NOW, board=board)
    assert board.posted == [("SU-1", "Ours.", "")]
    for wrong in (tenant, make_tenant("south")):
        with pytest.raises(NotPossible):
            post_again(tenant_id=wrong.pk, update_ref="SU-1", now=NOW, board=board)
    assert len(board.posted) == 1


@pytest.mark.django_db(transaction=True)
def test_two_people_who_publish_at_once_publish_once() -> None:
    tenant = make_tenant()
    draft(make_incident(tenant))
    board = RecordingBoard()

    def publishes(number: int) -> Callable[[], str]:
        def act() -> str:
            try:
                return publish(tenant, board, text=f"Words {number}")
            except NotPossible:
                return "too late"

        return act

    came_to = at_once([publishes(number) for number in range(6)])
    assert came_to.count("too late") == 5
    words = StatusUpdate.objects.get().text
    assert board.posted == [("SU-1", words, "")]
    assert f"published by alice: {words}" in came_to
