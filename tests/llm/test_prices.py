import pytest
from pydantic_ai.usage import RequestUsage

from agentops.llm.configuration import parse_choice
from agentops.llm.prices import DEFAULT_INPUT_PRICE, DEFAULT_OUTPUT_PRICE, usage_of
from agentops.registry.planner import Usage


def cost(model: str, tokens: RequestUsage | None, url: str = "") -> Usage:
    return usage_of(parse_choice(model, key="k", url=url), tokens, sent=3_000, received=301, latency_ms=12)


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9/v1", "https://api.openai.com/v1"])
def test_published_price_with_cached_tokens_at_their_own_price(url):
    # gpt-4o: $2.50 a million tokens in, $1.25 cached, $10 out; 2,000 in of which 1,500 cached, 100 out.
    tokens = RequestUsage(input_tokens=2_000, cache_read_tokens=1_500, output_tokens=100)
    assert cost("openai:gpt-4o", tokens, url) == Usage("openai:gpt-4o", 2_000, 100, 1_250 + 1_875 + 1_000, 12, False)


def test_price_is_rounded_up_to_whole_micro_dollars():
    assert cost("openai:gpt-4o", RequestUsage(input_tokens=1, output_tokens=0)).cost_micro == 3


def test_tokens_written_to_the_cache_cost_more():
    # claude-opus-4-8: $5 in, $6.25 written to the cache, $25 out.
    tokens = RequestUsage(input_tokens=1_000, cache_write_tokens=400, output_tokens=100)
    assert cost("anthropic:claude-opus-4-8", tokens).cost_micro == 600 * 5 + 2_500 + 2_500


def test_unknown_model_costs_the_default_and_says_so():
    usage = cost("openai:nobody-knows", RequestUsage(input_tokens=10, output_tokens=3))
    assert (usage.cost_micro, usage.estimated) == (10 * DEFAULT_INPUT_PRICE + 3 * DEFAULT_OUTPUT_PRICE, True)


@pytest.mark.parametrize(
    "tokens",
    [
        None,
        RequestUsage(),
        RequestUsage(input_tokens=-5, output_tokens=10),
        RequestUsage(input_tokens=10**12, output_tokens=10),
    ],
)
def test_missing_or_absurd_counts_are_estimated_from_bytes(tokens):
    usage = cost("openai:gpt-4o", tokens)
    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (1_000, 101, True)
    assert usage.cost_micro == 2_500 + 1_010


def test_counts_that_contradict_each_other_are_priced_by_default():
    usage = cost("openai:gpt-4o", RequestUsage(input_tokens=10, cache_read_tokens=20, output_tokens=0))
    assert (usage.cost_micro, usage.estimated) == (10 * DEFAULT_INPUT_PRICE, True)
