"""Who is on call, which procedures there are, calls to people, and words that people may publish."""

from agentops.registry.declare import closed, integer, listed, ref, text, undone_by
from agentops.registry.tool import Arguments, CallContext, DataClass, LatencyClass, Result, Tier, ToolSpec
from sre_agent.connectors import the_pager
from sre_agent.connectors.book_rules import BOOKS, OPPOSITES
from sre_agent.connectors.port import DiscardStatus, DraftStatus, PagePerson, WithdrawPage
from sre_agent.tools import flows, shapes
from sre_agent.tools.parts import INCIDENTS, ON_DESK, ON_PAGER, OUT_NAME, OWNER, desk_write

MOST_LEVEL, MOST_WORDS, MOST_STATUS = 3, 500, 1_000
MOST_RUNBOOKS = 50

_PAGE_ID = ref("The page_id that page_person returned.")
_UPDATE_ID = ref("The update_id that draft_status_update returned.")


def _list_on_call(context: CallContext, arguments: Arguments) -> Result:
    return {"people": [shapes.person_json(person) for person in the_pager().on_call(context)[: shapes.MOST_PEOPLE]]}


def _list_runbooks(context: CallContext, arguments: Arguments) -> Result:
    return {
        "runbooks": [
            {"runbook": book, "what_it_does": f"It {does}.", "opposite": OPPOSITES.get(book, "")}
            for book, does in BOOKS.items()
        ]
    }


def _page(arguments: Arguments) -> PagePerson:
    return PagePerson(arguments["level"], arguments["words"])


def _withdraw(arguments: Arguments) -> WithdrawPage:
    return WithdrawPage(arguments["page_id"])


def _draft(arguments: Arguments) -> DraftStatus:
    return DraftStatus(arguments["text"])


def _discard(arguments: Arguments) -> DiscardStatus:
    return DiscardStatus(arguments["update_id"])


LIST_ON_CALL = ToolSpec(
    name="list_on_call",
    version=1,
    owner=OWNER,
    description="Returns who is on call now, by level: 1 is called first, 2 and 3 when that one does not answer.",
    input_schema=closed({}),
    output_schema=closed({"people": listed(shapes.PERSON, shapes.MOST_PEOPLE)}),
    tier=Tier.READ,
    auth_scope="sre:people:read",
    data_class=DataClass.PERSONAL,
    flow=flows.LIST_ON_CALL,
    run=_list_on_call,
    examples=({},),
    worst="shows the planner who is on call",
    stopped_by="names and shifts only, no address",
)

LIST_RUNBOOKS = ToolSpec(
    name="list_runbooks",
    version=1,
    owner=OWNER,
    description="Returns the procedures that run_runbook may run, what each does, and which takes it back.",
    input_schema=closed({}),
    output_schema=closed(
        {
            "runbooks": listed(
                closed({"runbook": OUT_NAME, "what_it_does": text(300), "opposite": text(64, least=0)}), MOST_RUNBOOKS
            )
        }
    ),
    tier=Tier.READ,
    auth_scope="sre:services:read",
    data_class=DataClass.INTERNAL,
    flow=flows.LIST_RUNBOOKS,
    run=_list_runbooks,
    latency=LatencyClass.INSTANT,
    slo_ms=100,
    examples=({},),
    worst="shows the planner which procedures there are",
    stopped_by="a list that is written in the program",
)

PAGE_PERSON = ToolSpec(
    name="page_person",
    version=1,
    owner=OWNER,
    description=(
        "Calls whoever is on call at a level about this incident, also at night. Use it for P0 and P1 that you cannot"
        " end, and before escalate_incident when somebody has to act at once. words are what that person reads first."
    ),
    input_schema=closed(
        {
            "level": integer("1 is called first.", least=1, most=MOST_LEVEL),
            "words": text(MOST_WORDS, "What is wrong, what was done, what is needed."),
        }
    ),
    output_schema=closed({"page_id": OUT_NAME, "person": text(150)}),
    tier=Tier.WRITE_SOFT,
    auth_scope="sre:people:page",
    data_class=DataClass.PERSONAL,
    flow=flows.PAGE_PERSON,
    run=ON_PAGER.runs(_page),
    examples=({"level": 1, "words": "checkout fails since 09:40. The rollback did not help; the cause is not known."},),
    undo="they can be told that they are not needed any more",
    undo_call=undone_by("withdraw_page", {"page_id": "page_id"}),
    preview=ON_PAGER.previews(_page),
    reconcile=ON_PAGER.reconcile,
    reconcile_is_final=True,
    identity=("level",),
    versioned=True,
    queue=INCIDENTS,
    tags=("outbound",),
    worst="wakes somebody at night for nothing",
    stopped_by="whoever is on call and nobody else; each level once while nothing has changed; it can be withdrawn",
)

WITHDRAW_PAGE = ToolSpec(
    name="withdraw_page",
    version=1,
    owner=OWNER,
    description="Tells somebody whom page_person called that they are not needed any more.",
    input_schema=closed({"page_id": _PAGE_ID}),
    output_schema=closed({"page_id": OUT_NAME}),
    tier=Tier.WRITE_SOFT,
    auth_scope="sre:people:page",
    data_class=DataClass.PERSONAL,
    flow=flows.WITHDRAW_PAGE,
    run=ON_PAGER.runs(_withdraw),
    examples=({"page_id": "PG-90AA17"},),
    undo="somebody who is on call can be paged by a person",
    preview=ON_PAGER.previews(_withdraw),
    reconcile=ON_PAGER.reconcile,
    reconcile_is_final=True,
    queue=INCIDENTS,
    tags=("outbound",),
    worst="sends somebody back to sleep who is needed",
    stopped_by="pages of this incident only; alerts go on calling people",
)

DRAFT_STATUS_UPDATE = desk_write(
    name="draft_status_update",
    version=1,
    description=(
        "Keeps words for customers about this incident as a draft. Nothing is published: a person reads it and"
        " publishes it, or not. Say what customers notice, since when, and what is being done; no names, no causes that"
        " are not certain, no promises."
    ),
    input_schema=closed({"text": text(MOST_STATUS, "What customers would read.")}),
    output_schema=closed({"update_id": OUT_NAME}),
    auth_scope="sre:incidents:write",
    flow=flows.DRAFT_STATUS_UPDATE,
    run=ON_DESK.runs(_draft),
    examples=({"text": "Some orders could not be placed since 09:40 UTC. We are putting it right."},),
    undo="the draft can be thrown away; nothing was published",
    undo_call=undone_by("discard_status_update", {"update_id": "update_id"}),
    preview=ON_DESK.previews(_draft),
    tags=("incidents",),
    worst="leaves a bad draft with the incident",
    stopped_by="only a person publishes; it can be thrown away",
)

DISCARD_STATUS_UPDATE = desk_write(
    name="discard_status_update",
    version=1,
    description="Throws away a draft that draft_status_update kept. Only for a draft that is wrong.",
    input_schema=closed({"update_id": _UPDATE_ID}),
    output_schema=closed({"update_id": OUT_NAME}),
    auth_scope="sre:incidents:write",
    flow=flows.DISCARD_STATUS_UPDATE,
    run=ON_DESK.runs(_discard),
    examples=({"update_id": "SU-31D0C2"},),
    undo="it can be drafted again",
    preview=ON_DESK.previews(_discard),
    tags=("incidents",),
    worst="throws away a draft that somebody wanted to publish",
    stopped_by="drafts of this incident only, none that is published; it can be drafted again",
)

PEOPLE_READS = (LIST_ON_CALL, LIST_RUNBOOKS)
PEOPLE_WRITES = (PAGE_PERSON, WITHDRAW_PAGE, DRAFT_STATUS_UPDATE, DISCARD_STATUS_UPDATE)
