"""A real model as a planner: one request, one proposal, no loop and no retries of its own."""

import asyncio
import ssl
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agentops.kernel.stopwatch import ms_since
from agentops.llm.configuration import ModelChoice, Provider
from agentops.llm.context import Prompt, assemble, context_record
from agentops.llm.explaining import assemble_question, words_of
from agentops.llm.failures import failure_of
from agentops.llm.prices import most_micro, usage_of
from agentops.llm.reading import proposal_of
from agentops.llm.transport import MAX_RESPONSE_BYTES, BoundedTransport, Received
from agentops.llm.wire import tool_inputs
from agentops.registry.planner import Answer as Explanation
from agentops.registry.planner import Malformed, PlanContext, PlannerUnavailable, Proposal, ToolCall, Turn, Usage

MAX_OUTPUT_TOKENS = 8_192
NO_KEY = "none"  # what a server without keys is sent; the libraries insist on a value


@dataclass(frozen=True)
class Answer:
    """How an exchange ended: with a response and the raw arguments of its calls, or with a failure."""

    received: Received
    response: ModelResponse | None = None
    arguments: tuple[str, ...] = ()
    failure: PlannerUnavailable | None = None


class ModelPlanner:
    """Asks one model for one proposal at a time.

    Nothing is shared between calls, so that threads and forked workers need no care: each call has a
    connection and an event loop of its own. ``salt`` is the secret of the markers around untrusted data.
    """

    def __init__(
        self,
        choice: ModelChoice,
        *,
        salt: bytes,
        connect_seconds: float = 5.0,
        total_seconds: float = 60.0,
        max_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._choice = choice
        self._salt = salt
        self._timeout = httpx2.Timeout(total_seconds, connect=connect_seconds)
        self._total_seconds = total_seconds
        self._max_bytes = max_bytes

    def __repr__(self) -> str:
        return f"ModelPlanner({self.name!r})"

    @property
    def name(self) -> str:
        """The provider and the model, for example ``anthropic:NAME``."""
        return self._choice.name

    def most_micro(self, context: PlanContext) -> int:
        """Return what the next proposal can cost at most."""
        sent = _bytes_sent(assemble(context, salt=self._salt))
        return most_micro(self._choice, sent=sent, most_output=MAX_OUTPUT_TOKENS)

    def propose(self, context: PlanContext) -> Turn:
        """Return one proposal. Raises PlannerUnavailable when the model gave no answer."""
        prompt = assemble(context, salt=self._salt)
        proposal, usage, raw = self._said(prompt)
        return Turn(proposal=proposal, usage=usage, raw=raw, context=context_record(prompt))

    def most_micro_to_explain(self, context: PlanContext, call: ToolCall, question: str) -> int:
        """Return what the answer to a question about a call can cost at most."""
        sent = _bytes_sent(assemble_question(context, call, question, salt=self._salt))
        return most_micro(self._choice, sent=sent, most_output=MAX_OUTPUT_TOKENS)

    def answer(self, context: PlanContext, call: ToolCall, question: str) -> Explanation:
        """Return what the model says about a call of its own. Raises PlannerUnavailable when it gave no answer."""
        prompt = assemble_question(context, call, question, salt=self._salt)
        proposal, usage, _ = self._said(prompt)
        return Explanation(words_of(proposal), usage, context_record(prompt))

    def _said(self, prompt: Prompt) -> tuple[Proposal, Usage, str]:
        started = time.monotonic()
        answer = _run(self._ask(prompt))
        latency_ms = ms_since(started)
        if answer.failure is not None:
            raise answer.failure
        received = answer.received
        proposal = (
            Malformed(f"The answer is larger than {self._max_bytes} bytes. Answer shorter.")
            if answer.response is None
            else proposal_of(answer.response, list(answer.arguments))
        )
        usage = usage_of(
            self._choice,
            None if answer.response is None else answer.response.usage,
            sent=_bytes_sent(prompt),
            received=self._max_bytes if answer.response is None else len(received.body),
            latency_ms=latency_ms,
        )
        return proposal, usage, received.body.decode("utf-8", "replace").replace("\x00", "")

    async def _ask(self, prompt: Prompt) -> Answer:
        received = Received()
        transport = BoundedTransport(
            httpx2.AsyncHTTPTransport(verify=_certificates()), received, max_bytes=self._max_bytes
        )
        try:
            async with (
                asyncio.timeout(self._total_seconds),
                httpx2.AsyncClient(transport=transport, follow_redirects=False, timeout=self._timeout) as http,
            ):
                response = await model_request(
                    self._model(http),
                    messages_of(prompt),
                    model_settings=_settings(self._choice.provider),
                    model_request_parameters=_parameters(prompt),
                    instrument=False,
                )
            return Answer(received, response, _arguments(self._choice.provider, response, received))
        # Which errors a hostile body raises inside the libraries is not documented; failure_of sorts them.
        except Exception as error:
            if received.too_large:
                return Answer(received)
            failure = failure_of(error, received, self._choice)
            if failure is None:
                raise
            return Answer(received, failure=failure)

    def _model(self, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the library's model. Address, key and retries are given, so that no environment variable counts."""
        choice = self._choice
        if choice.provider is Provider.ANTHROPIC:
            client = AsyncAnthropic(
                api_key=choice.key, base_url=choice.base_url, max_retries=0, timeout=self._timeout, http_client=http
            )
            return AnthropicModel(choice.model, provider=AnthropicProvider(anthropic_client=client))
        openai = AsyncOpenAI(
            api_key=choice.key or NO_KEY,
            base_url=choice.base_url,
            max_retries=0,
            timeout=self._timeout,
            http_client=http,
        )
        return OpenAIChatModel(choice.model, provider=OpenAIProvider(openai_client=openai))


@cache
def _certificates() -> ssl.SSLContext:
    """Return the trusted certificates, which take longer to read than a request to prepare."""
    return httpx2.create_ssl_context()


def messages_of(prompt: Prompt) -> list[ModelMessage]:
    """Return the conversation: the subject, each earlier call with its result, and the closing words."""
    requests = [ModelRequest(parts=[UserPromptPart(prompt.opening)])]
    messages: list[ModelMessage] = [*requests]
    for item in prompt.exchanges:
        if item.tool is None:
            request = ModelRequest(parts=[UserPromptPart(item.reply)])
        else:
            messages.append(ModelResponse(parts=[ToolCallPart(item.tool, item.arguments, item.call_id)]))
            request = ModelRequest(parts=[ToolReturnPart(item.tool, item.reply, item.call_id)])
        requests.append(request)
        messages.append(request)
    last = requests[-1]
    last.parts = [*last.parts, UserPromptPart(prompt.closing)]
    return messages


def _parameters(prompt: Prompt) -> ModelRequestParameters:
    # strict=False: otherwise a library rewrites the schemas into the subset that it can enforce itself.
    tools = [
        ToolDefinition(
            name=tool.name, parameters_json_schema=dict(tool.schema), description=tool.description, strict=False
        )
        for tool in prompt.tools
    ]
    return ModelRequestParameters(function_tools=tools, instruction_parts=[InstructionPart(content=prompt.system)])


def _settings(provider: Provider) -> ModelSettings:
    if provider is Provider.ANTHROPIC:
        return AnthropicModelSettings(
            max_tokens=MAX_OUTPUT_TOKENS,
            parallel_tool_calls=False,
            anthropic_cache_instructions=True,
            anthropic_cache_tool_definitions=True,
        )
    return OpenAIChatModelSettings(max_tokens=MAX_OUTPUT_TOKENS, parallel_tool_calls=False)


def _arguments(provider: Provider, response: ModelResponse, received: Received) -> tuple[str, ...]:
    """Return the JSON text of each call's arguments as the model wrote it.

    Anthropic's library has parsed the arguments, so the body is read again. With OpenAI's they are text,
    which several servers leave empty when there are none.
    """
    if provider is Provider.ANTHROPIC:
        return tuple(tool_inputs(received.body))
    calls = (part for part in response.parts if isinstance(part, ToolCallPart))
    return tuple(part.args if isinstance(part.args, str) and part.args else "{}" for part in calls)


def _bytes_sent(prompt: Prompt) -> int:
    schemas = sum(len(str(tool.schema)) + len(tool.description) for tool in prompt.tools)
    return prompt.size + schemas


def _run(exchange: Coroutine[Any, Any, Answer]) -> Answer:
    """Run ``exchange`` to its end in a thread of its own, because the caller's thread may have a loop already."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, exchange).result()
