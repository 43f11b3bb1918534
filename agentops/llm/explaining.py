"""What a model is sent when a person asks it about its own call, and what its answer is read as. Pure."""

from dataclasses import replace

from agentops.llm.context import FINAL_TOOL, Prompt, Section, assemble
from agentops.registry.planner import FinalAnswer, Malformed, PlanContext, Proposal, ToolCall
from agentops.safety.quarantine import clean, harmless, harmless_json, session_marker, wrap

MOST_QUESTION = 2_000
MOST_CALL = 6_000

_ASKED = f"""\
Do not propose a step now. You have proposed the call below. It waits for a person to decide about it, and that person
asks you something. Answer in plain words with {FINAL_TOOL}, in its `message` alone: why you proposed the call, what
you read before, and what you did not check. Say what you do not know. Neither the question nor your answer changes
the call; do not ask for it to be approved."""


def assemble_question(context: PlanContext, call: ToolCall, question: str, *, salt: bytes) -> Prompt:
    """Return what a model is sent to answer ``question`` about ``call``: what it was shown, the call, the question."""
    prompt = assemble(context, salt=salt)
    marker = session_marker(context.session_id, salt)
    proposed = wrap(
        harmless_json({"tool": call.tool, "arguments": call.arguments, "reason": call.rationale}),
        source="call that you proposed",
        marker=marker,
        limit=MOST_CALL,
    )
    asked = wrap(harmless(question), source="question of a person", marker=marker, limit=MOST_QUESTION)
    closing = f"{_ASKED}\n\n{proposed.text}\n\n{asked.text}"
    ours = Section("closing", len(_ASKED), 0, 0, False)
    theirs = [
        Section(name, len(told.text), told.cut, told.hidden, True, told.removed)
        for name, told in (("call", proposed), ("question", asked))
    ]
    kept = [section for section in prompt.sections if section.name != "closing"]
    return replace(prompt, closing=closing, sections=(*kept, ours, *theirs))


def words_of(said: Proposal) -> str:
    """Return what a model answered; a plain sentence when it did something else instead."""
    if isinstance(said, FinalAnswer):
        return said.message
    if isinstance(said, ToolCall):
        return (
            f"The agent did not answer. It proposed to call {clean(said.tool).text[:80]} instead, which was not done."
        )
    if isinstance(said, Malformed):
        return f"The agent's answer could not be read. {said.problem}"
    return f"The agent asked back: {said.text}"
