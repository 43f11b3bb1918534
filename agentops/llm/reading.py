"""From a model's answer to one proposal. Whatever is not exactly one proposal is ``Malformed``, in words."""

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.llm.context import ASK_SCHEMA, FINAL_SCHEMA, FINAL_TOOL, MAX_MESSAGE
from agentops.registry.planner import ASK_PERSON, FinalAnswer, Malformed, Proposal, Question, ToolCall
from agentops.registry.schemas import validator, violations
from agentops.safety.quarantine import clean, one_line

MAX_RATIONALE = 2_000
MAX_ARGUMENT_CHARACTERS = 100_000

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z", re.ASCII)


def proposal_of(response: ModelResponse, arguments: list[str]) -> Proposal:
    """Return what ``response`` proposes. ``arguments`` is the JSON text of each tool call, in order."""
    problem = _unfinished(response)
    if problem:
        return Malformed(problem)
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    text = clean("\n".join(part.content for part in response.parts if isinstance(part, TextPart))).text.strip()
    if len(calls) > 1:
        return Malformed(f"The answer holds {len(calls)} tool calls. Propose exactly one.")
    if calls:
        return _call(calls[0].tool_name, arguments[0], text)
    if not text:
        return Malformed(f"The answer is empty. Call one tool, or {FINAL_TOOL}.")
    if len(text) > MAX_MESSAGE:
        return Malformed(f"The answer has {len(text)} characters. At most {MAX_MESSAGE} are read.")
    return FinalAnswer(message=text)


def _unfinished(response: ModelResponse) -> str:
    """Say why the answer is not a finished one, empty when it is."""
    if response.finish_reason in ("stop", "tool_call"):
        return ""
    if response.finish_reason == "length":
        return "The answer was cut off because it reached the limit of output tokens. Answer shorter."
    details = response.provider_details or {}
    if response.finish_reason == "content_filter":
        words = one_line(clean(str(details.get("refusal", ""))).text)[:300]
        return f"The model refused to answer: {words}" if words else "The model refused to answer."
    reason = one_line(clean(str(details.get("finish_reason", "none"))).text)[:40]
    return f"The answer ended for a reason that is not known here: {reason}."


def _call(tool: str, arguments: str, rationale: str) -> Proposal:
    if not _TOOL_NAME.match(tool):
        return Malformed("The answer calls a tool by something that is not a tool's name.")
    if len(arguments) > MAX_ARGUMENT_CHARACTERS:
        return Malformed(f"The arguments have more than {MAX_ARGUMENT_CHARACTERS} characters.")
    if tool == FINAL_TOOL:
        return _final(arguments)
    if tool == ASK_PERSON:
        return _question(arguments)
    return ToolCall(tool=tool, arguments=arguments, rationale=rationale[:MAX_RATIONALE])


def _read(tool: str, arguments: str, schema: Mapping[str, Any]) -> dict[str, Any] | Malformed:
    try:
        value = parse_json(arguments)
    except BadJSON as error:
        return Malformed(f"The arguments of {tool} cannot be read: {error.message}.")
    wrong = violations(validator(schema), value, most=1)
    if wrong:
        place = f" at {wrong[0].path}" if wrong[0].path else ""
        return Malformed(f"The arguments of {tool} are wrong{place}: {wrong[0].message}.")
    return cast("dict[str, Any]", value)


def _question(arguments: str) -> Question | Malformed:
    value = _read(ASK_PERSON, arguments, ASK_SCHEMA)
    if isinstance(value, Malformed):
        return value
    question = clean(value["question"]).text.strip()
    if not question:
        return Malformed(f"The question of {ASK_PERSON} is empty.")
    return Question(question, tuple(clean(option).text for option in value.get("options", ())))


def _final(arguments: str) -> Proposal:
    value = _read(FINAL_TOOL, arguments, FINAL_SCHEMA)
    if isinstance(value, Malformed):
        return value
    message = clean(value["message"]).text.strip()
    if not message:
        return Malformed(f"The message of {FINAL_TOOL} is empty.")
    lists = {name: tuple(clean(item).text for item in value.get(name, ())) for name in ("verified", "blocked", "left")}
    return FinalAnswer(message=message, **lists)
