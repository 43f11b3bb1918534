"""Soft writes to the case itself: it is done, it is not done after all, or it goes to a person."""

from agentops.registry.declare import OUT_REF, closed, text
from agentops.registry.tool import Arguments, DataClass, Result, Tier, ToolSpec, UndoCall
from billing_agent.connectors.port import CloseCase, EscalateCase, ReopenCase
from billing_agent.tools import flows
from billing_agent.tools.parts import OUT_STATUS, OWNER, previews, reconcile, runs

MOST_NOTE = 2_000
MOST_REASON = 300

_OUT = closed({"case_id": OUT_REF, "status": OUT_STATUS, "former_status": OUT_STATUS})


def _close(arguments: Arguments) -> CloseCase:
    return CloseCase(arguments["note"])


def _reopen(arguments: Arguments) -> ReopenCase:
    return ReopenCase()


def _escalate(arguments: Arguments) -> EscalateCase:
    return EscalateCase(arguments["reason"], arguments["summary"])


def _close_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    return "reopen_case", {}


def _reopen_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    return "close_case", {"note": "It was done; opening it again was a mistake."}


CLOSE_CASE = ToolSpec(
    name="close_case",
    version=1,
    owner=OWNER,
    description=(
        "Marks this case as done, with a note for colleagues that says what was done and why. Not possible once it is"
        " with a person."
    ),
    input_schema=closed({"note": text(MOST_NOTE, "What was done and why; only colleagues see it.")}),
    output_schema=_OUT,
    tier=Tier.WRITE_SOFT,
    auth_scope="billing:cases:write",
    data_class=DataClass.INTERNAL,
    flow=flows.CLOSE_CASE,
    run=runs(_close),
    examples=({"note": "Invoice INV-000042 was explained to the customer by mail; nothing is left to do."},),
    undo="the case can be opened again; the note stays",
    undo_call=_close_undone,
    preview=previews(_close),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="billing-mail",
    tags=("cases",),
    worst="closes a case that is not done",
    stopped_by="the case can be opened again; one that is with a person cannot be closed",
)

REOPEN_CASE = ToolSpec(
    name="reopen_case",
    version=1,
    owner=OWNER,
    description="Opens this case again after close_case, when something is left to do after all. Its notes stay.",
    input_schema=closed({}),
    output_schema=_OUT,
    tier=Tier.WRITE_SOFT,
    auth_scope="billing:cases:write",
    data_class=DataClass.INTERNAL,
    flow=flows.REOPEN_CASE,
    run=runs(_reopen),
    examples=({},),
    undo="the case can be closed again",
    undo_call=_reopen_undone,
    preview=previews(_reopen),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="billing-mail",
    tags=("cases",),
    worst="opens a case that is done",
    stopped_by="this case only, and only when it is closed",
)

ESCALATE_CASE = ToolSpec(
    name="escalate_case",
    version=1,
    owner=OWNER,
    description=(
        "Hands this case to a person. Use it when nobody is known under the sender's address, when no tool does what"
        " is wanted, when somebody else's account is meant, when a dispute, a lawyer or fraud is spoken of, or when"
        " you cannot tell what is wanted. Say what is wanted, what you found, what was done and what is left. Nothing"
        " is sent to the customer."
    ),
    input_schema=closed(
        {
            "reason": text(MOST_REASON, "Why a person is needed, in one sentence."),
            "summary": text(4_000, "What is wanted, what was found and done, what is left."),
        }
    ),
    output_schema=_OUT,
    tier=Tier.WRITE_SOFT,
    auth_scope="billing:cases:write",
    data_class=DataClass.INTERNAL,
    flow=flows.ESCALATE_CASE,
    run=runs(_escalate),
    examples=(
        {
            "reason": "The customer disputes the charge with their bank.",
            "summary": "Dana Ruiz asks for $29.00 back. The charge is disputed, so nothing was refunded.",
        },
    ),
    undo="the person who has it gives it back",
    preview=previews(_escalate),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="billing-mail",
    tags=("cases",),
    outcome="escalated",
    worst="floods people with cases",
    stopped_by="one case a session",
)

CASES = (CLOSE_CASE, REOPEN_CASE, ESCALATE_CASE)
