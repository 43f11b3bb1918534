"""The real planner over HTTP: what is sent, and what is made of each kind of answer."""

import asyncio
import json
import logging
import os
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.llm.context import ASK_SCHEMA, ASK_WORDS, FINAL_SCHEMA, assemble, context_record
from agentops.registry.planner import FinalAnswer, Malformed, Question, ToolCall, Usage
from agentops.safety.quarantine import session_marker
from tests.llm.conftest import KEY, MODELS
from tests.llm.contexts import (
    LOOKUP,
    LOOKUP_SCHEMA,
    REFUND,
    REFUND_SCHEMA,
    SALT,
    SESSION,
    make_context,
    make_observation,
    make_tool,
)
from tests.llm.stub_provider import Says

CLOSE_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["done"],
    "properties": {"done": {"type": "boolean"}},
}
LOOK_UP = ("look_up_order", '{"order_id":"#W1"}')


def system_of(body):
    """Return the text of every slot that a provider treats as the system's."""
    slots = [body.get("system", [])] + [
        [{"text": item["content"]}] for item in body["messages"] if item["role"] in ("system", "developer")
    ]
    return "".join(part["text"] for slot in slots for part in slot)


def blocks_of(body):
    """Return each block of the conversation as text, whatever message it is grouped into."""
    messages = [item for item in body["messages"] if item["role"] != "system"]
    return [
        f"{item['role']} {json.dumps(block)}"
        for item in messages
        for block in (item["content"] if isinstance(item["content"], list) else [item])
    ]


def offered(body):
    """Return what was sent about each tool, without the marks of caching."""
    tools = [tool.get("function", tool) for tool in body["tools"]]
    return [{name: value for name, value in tool.items() if name != "cache_control"} for tool in tools]


def final(**arguments):
    return Says(calls=(("final_answer", json.dumps(arguments)),))


def test_one_call_is_a_proposal(planner, stub, provider):
    stub.script = [Says(text="I look it up.", calls=(LOOK_UP,))]
    turn = planner.propose(make_context())
    assert turn.context == context_record(assemble(make_context(), salt=SALT))
    assert turn.proposal == ToolCall("look_up_order", '{"order_id":"#W1"}', rationale="I look it up.")
    assert planner.name == turn.usage.model == f"{provider}:{MODELS[provider]}"
    assert '"stub"' in turn.raw
    assert len(stub.received) == 1


def test_text_alone_is_a_final_answer(planner, stub):
    stub.script = [Says(text="We are\u202e sorry.\U000e0041")]
    assert planner.propose(make_context()).proposal == FinalAnswer("We are sorry.")


def test_question_is_for_a_person(planner, stub):
    asked = {"question": "Which of the two orders?", "options": ["#1", "#2"]}
    stub.script = [Says(calls=(("ask_person", json.dumps(asked)),))]
    assert planner.propose(make_context()).proposal == Question("Which of the two orders?", ("#1", "#2"))


@pytest.mark.parametrize(
    "asked", [{}, {"question": ""}, {"question": "\u200b"}, {"question": "x", "to": "y"}, {"question": 1}]
)
def test_question_that_cannot_be_asked_is_malformed(planner, stub, asked):
    stub.script = [Says(calls=(("ask_person", json.dumps(asked)),))]
    assert isinstance(planner.propose(make_context()).proposal, Malformed)


def test_final_answer_tool_says_what_was_done(planner, stub):
    stub.script = [final(message="Done.", verified=["#W1 was damaged"], blocked=["refund"], left=["ask Alice"])]
    assert planner.propose(make_context()).proposal == FinalAnswer(
        "Done.", verified=("#W1 was damaged",), blocked=("refund",), left=("ask Alice",)
    )


def test_request_carries_key_model_and_whole_tool_schemas(planner, stub, provider):
    stub.script = [Says(text="ok")]
    # A schema that a library could enforce itself is the one that it would like to rewrite.
    closing = make_tool("close_ticket", CLOSE_SCHEMA)
    planner.propose(make_context(tools=(REFUND, LOOKUP, closing)))
    request = stub.received[0]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"
    assert (request.body["model"], request.body["stream"]) == (MODELS[provider], False)
    slot = {"anthropic": "input_schema", "openai": "parameters"}[provider]
    final_words = "Ends the work: the answer, what was verified, what was blocked, what is left."
    assert offered(request.body) == [
        {"name": "close_ticket", "description": "Does close_ticket.", slot: CLOSE_SCHEMA},
        {"name": "issue_refund", "description": "Does issue_refund.", slot: REFUND_SCHEMA},
        {"name": "look_up_order", "description": "Does look_up_order.", slot: LOOKUP_SCHEMA},
        {"name": "ask_person", "description": ASK_WORDS, slot: ASK_SCHEMA},
        {"name": "final_answer", "description": final_words, slot: FINAL_SCHEMA},
    ]


def test_system_slot_holds_no_untrusted_text(planner, stub):
    stub.script = [Says(text="ok")]
    context = make_context(text="EVIL ticket", history=(make_observation(1, result={"note": "EVIL result"}),))
    planner.propose(context)
    body = stub.received[0].body
    assert system_of(body) == assemble(context, salt=SALT).system
    marker = session_marker(SESSION, SALT)
    fences = re.findall(
        rf'<untrusted id=\\"{marker}\\" source=\\"[a-z_ ]+\\">(.*?)</untrusted id=\\"{marker}\\">', json.dumps(body)
    )
    assert [fence.count("EVIL") for fence in fences] == [1, 1]
    assert json.dumps(body).count("EVIL") == 2


def test_history_is_sent_as_calls_with_their_results(planner, stub, provider):
    stub.script = [Says(text="ok")]
    notes = make_observation(2, tool="", arguments=None, result={"code": "MALFORMED"})
    planner.propose(make_context(history=(make_observation(1), notes, make_observation(3))))
    text = json.dumps(stub.received[0].body["messages"])
    assert [text.count(f"call_{number}") for number in (1, 2, 3)] == [2, 0, 2]
    assert "Your answer at this step could not be used." in text
    assert "Step 4. The time is" in text
    roles = [item["role"] for item in stub.received[0].body["messages"] if item["role"] != "system"]
    result = "user" if provider == "anthropic" else "tool"
    assert roles[:3] == ["user", "assistant", result]


def test_prefix_is_the_same_between_steps(planner, stub):
    history = tuple(make_observation(step) for step in range(1, 4))
    stub.script = [Says(text="ok")] * 4
    for count in range(4):
        planner.propose(make_context(history=history[:count]))
    bodies = [request.body for request in stub.received]
    for body in bodies:
        assert json.dumps(body["tools"]) == json.dumps(bodies[0]["tools"])
        assert system_of(body) == system_of(bodies[0])
    sent = [blocks_of(body) for body in bodies]
    assert [len(blocks) for blocks in sent] == [2, 4, 6, 8]
    for earlier, later in pairwise(sent):
        assert "The time is" in earlier[-1]
        assert later[: len(earlier) - 1] == earlier[:-1]


@pytest.mark.parametrize(
    "arguments",
    ['{"order_id":"#W1","order_id":"#W2"}', '{"amount_minor":1.50}', '{"amount_minor":1e400}', '{"amount_minor":-0}'],
)
def test_arguments_arrive_as_the_model_wrote_them(planner, stub, arguments):
    stub.script = [Says(calls=(("look_up_order", arguments),))]
    assert planner.propose(make_context()).proposal == ToolCall("look_up_order", arguments)


def test_duplicate_key_reaches_the_strict_reader(planner, stub):
    stub.script = [Says(calls=(("issue_refund", '{"amount_minor": 1, "amount_minor": 900000}'),))]
    proposal = planner.propose(make_context()).proposal
    with pytest.raises(BadJSON, match="'amount_minor' stands twice"):
        parse_json(proposal.arguments)


def test_unknown_tool_is_passed_on_to_be_refused(planner, stub):
    stub.script = [Says(calls=(("drop_tables", '{"all":true}'),))]
    assert planner.propose(make_context()).proposal == ToolCall("drop_tables", '{"all":true}')


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        (Says(calls=(LOOK_UP, LOOK_UP)), "The answer holds 2 tool calls. Propose exactly one."),
        (Says(), "The answer is empty. Call one tool, or final_answer."),
        (Says(text=" \u200b\n"), "The answer is empty. Call one tool, or final_answer."),
        (Says(refusal="I\u202e can't\nhelp."), "The model refused to answer: I can't help."),
        (Says(text="hm", stop="dreaming"), "The answer ended for a reason that is not known here: dreaming."),
        (Says(text="x" * 8_001), "The answer has 8001 characters. At most 8000 are read."),
        (Says(calls=(("look up", "{}"),)), "The answer calls a tool by something that is not a tool's name."),
        (
            Says(calls=(("look_up_order", json.dumps({"order_id": "x" * 100_000})),)),
            "The arguments have more than 100000 characters.",
        ),
        (
            final(message="x", extra=1),
            "The arguments of final_answer are wrong: Additional properties are not allowed ('extra' was unexpected).",
        ),
        (final(message="\u200b "), "The message of final_answer is empty."),
        (
            final(message="x", left=[1]),
            'The arguments of final_answer are wrong at left.0: 1 is not of type "string".',
        ),
        (
            Says(calls=(("final_answer", '{"message":"a","message":"b"}'),)),
            "The arguments of final_answer cannot be read: the key 'message' stands twice.",
        ),
    ],
)
def test_answer_that_is_no_proposal_is_malformed(planner, stub, says, problem):
    stub.script = [says]
    turn = planner.propose(make_context())
    assert turn.proposal == Malformed(problem)
    assert turn.usage.cost_micro > 0


def test_answer_cut_off_at_the_token_limit_is_malformed(planner, stub, provider):
    stop = {"anthropic": "max_tokens", "openai": "length"}[provider]
    stub.script = [Says(calls=(LOOK_UP,), stop=stop)]
    assert planner.propose(make_context()).proposal == Malformed(
        "The answer was cut off because it reached the limit of output tokens. Answer shorter."
    )


def test_huge_output_is_malformed_and_not_read_to_its_end(make_planner, stub):
    stub.script = [Says(text="x" * 3_000_000)]
    turn = make_planner(max_bytes=10_000).propose(make_context())
    assert turn.proposal == Malformed("The answer is larger than 10000 bytes. Answer shorter.")
    assert (turn.usage.output_tokens, turn.usage.estimated, turn.raw) == (3_334, True, "")


@pytest.mark.parametrize("arguments", ["", "null", "[1]", '{"order_id":', "not JSON"])
@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_broken_argument_text_is_passed_on_to_be_refused(planner, stub, arguments):
    stub.script = [Says(calls=(("look_up_order", arguments),))]
    assert planner.propose(make_context()).proposal == ToolCall("look_up_order", arguments or "{}")


def test_usage_counts_cached_tokens_at_their_price(planner, stub, provider):
    stub.script = [Says(text="ok", tokens=(2_000, 1_500, 100))]
    usage = planner.propose(make_context()).usage
    cost = {"anthropic": 500 * 5 + 1_500 // 2 + 100 * 25, "openai": 1_250 + 1_875 + 1_000}[provider]
    assert usage == Usage(planner.name, 2_000, 100, cost, usage.latency_ms, False)
    assert 0 <= usage.latency_ms < 60_000


def test_missing_usage_is_estimated(planner, stub):
    stub.script = [Says(text="ok", tokens=None)]
    usage = planner.propose(make_context()).usage
    assert usage.estimated
    assert usage.input_tokens > 500
    assert usage.output_tokens > 20


def test_unknown_model_is_marked_as_estimated(make_planner, stub):
    stub.script = [Says(text="ok")]
    usage = make_planner(model="homegrown-1").propose(make_context()).usage
    assert (usage.cost_micro, usage.estimated) == (1_000 * 15 + 100 * 75, True)


def test_planner_works_inside_a_running_loop_and_from_many_threads(planner, stub):
    stub.script = [Says(text="ok")] * 9

    async def inside():
        return planner.propose(make_context()).proposal

    assert asyncio.run(inside()) == FinalAnswer("ok")
    with ThreadPoolExecutor(4) as pool:
        turns = list(pool.map(lambda _: planner.propose(make_context()), range(8)))
    assert [turn.proposal for turn in turns] == [FinalAnswer("ok")] * 8


def test_environment_of_the_libraries_does_not_count(make_planner, stub, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setitem(os.environ, name, "other-key")
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setitem(os.environ, name, "http://127.0.0.1:9")
    stub.script = [Says(text="ok")]
    assert make_planner().propose(make_context()).proposal == FinalAnswer("ok")
    assert "other-key" not in json.dumps(stub.received[0].headers)


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_own_server_without_a_key_is_sent_none(make_planner, stub):
    stub.script = [Says(text="ok")]
    make_planner(key="").propose(make_context())
    assert stub.received[0].headers["authorization"] == "Bearer none"


def test_key_is_never_logged_or_printed(planner, stub, caplog):
    stub.script = [Says(text="ok")]
    with caplog.at_level(logging.DEBUG):
        turn = planner.propose(make_context())
    assert stub.received[0].headers["authorization"].endswith(KEY)
    assert KEY not in caplog.text
    assert KEY not in f"{planner!r}{turn!r}{turn.raw}"
