"""What a model call cost, in whole micro-dollars, from published prices."""

from decimal import ROUND_CEILING, Decimal

import genai_prices
from pydantic_ai.usage import RequestUsage

from agentops.llm.configuration import ModelChoice
from agentops.registry.planner import Usage

# Dollars a million tokens for a model without a published price: more than almost every model costs, so
# that a budget ends too early rather than too late.
DEFAULT_INPUT_PRICE = 15
DEFAULT_OUTPUT_PRICE = 75

# Used when a server reports no tokens. Text in any language is rarely less than this many bytes a token.
BYTES_PER_TOKEN = 3

_MOST_TOKENS = 100_000_000


def usage_of(choice: ModelChoice, tokens: RequestUsage | None, *, sent: int, received: int, latency_ms: int) -> Usage:
    """Return the usage of one call.

    ``tokens`` are the provider's counts, of which cached input tokens are a part; None, zero or absurd
    counts are replaced by an estimate from the ``sent`` and ``received`` bytes. The cost is rounded up.
    ``estimated`` is True when the counts or the price are guessed.
    """
    counted = tokens is not None and _plausible(tokens)
    if tokens is None or not counted:
        tokens = RequestUsage(input_tokens=-(-sent // BYTES_PER_TOKEN), output_tokens=-(-received // BYTES_PER_TOKEN))
    micro, priced = _micro(choice, tokens)
    return Usage(
        model=choice.name,
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cost_micro=micro,
        latency_ms=latency_ms,
        estimated=not (counted and priced),
    )


def most_micro(choice: ModelChoice, *, sent: int, most_output: int) -> int:
    """Return what a call can cost at most: ``sent`` bytes in, and every one of ``most_output`` tokens out."""
    return _micro(choice, RequestUsage(input_tokens=-(-sent // BYTES_PER_TOKEN), output_tokens=most_output))[0]


def _micro(choice: ModelChoice, tokens: RequestUsage) -> tuple[int, bool]:
    """Return whole micro-dollars, and whether the price is a published one."""
    dollars = _published_price(choice, tokens)
    if dollars is None:
        return tokens.input_tokens * DEFAULT_INPUT_PRICE + tokens.output_tokens * DEFAULT_OUTPUT_PRICE, False
    return int((dollars * 1_000_000).to_integral_value(ROUND_CEILING)), True


def _plausible(tokens: RequestUsage) -> bool:
    counts = (tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens)
    return all(0 <= count <= _MOST_TOKENS for count in counts) and tokens.input_tokens + tokens.output_tokens > 0


def _published_price(choice: ModelChoice, tokens: RequestUsage) -> Decimal | None:
    """Return dollars, or None when no price is published or the counts contradict each other."""
    if choice.own_server:
        try:
            return genai_prices.calc_price(tokens, choice.model, provider_api_url=choice.base_url).total_price
        except LookupError:
            pass  # Not the address of a provider with a price list: priced by the model's name below.
        except ValueError:
            return None
    try:
        return genai_prices.calc_price(tokens, choice.model, provider_id=choice.provider.value).total_price
    except (LookupError, ValueError):
        return None
