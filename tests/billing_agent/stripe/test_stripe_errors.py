"""Each error of Stripe has one kind of ours."""

import inspect

import pytest
import stripe
from stripe import _error

from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from billing_agent.connectors.stripe.errors import KINDS, failure_of, kind_of, write_failure_of
from billing_agent.connectors.stripe.transport import Lost

CLASSES = {
    each
    for _, each in inspect.getmembers(_error, inspect.isclass)
    if issubclass(each, stripe.StripeError) and each.__module__ == _error.__name__
}


def invalid(code: str | None, status: int = 400) -> stripe.InvalidRequestError:
    return stripe.InvalidRequestError("No.", "x", code, http_status=status)


def test_every_class_of_the_sdk_is_in_the_table() -> None:
    abstract = {stripe.StripeError, stripe.StripeErrorWithParamCode}
    assert CLASSES - abstract == set(KINDS)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (invalid("resource_missing"), FailureKind.NOT_FOUND),
        (invalid(None, 404), FailureKind.NOT_FOUND),
        (invalid("charge_already_refunded"), FailureKind.CONFLICT),
        (invalid("invoice_not_editable"), FailureKind.CONFLICT),
        (invalid("parameter_unknown"), FailureKind.VALIDATION),
        (invalid(None), FailureKind.VALIDATION),
        (stripe.RateLimitError("No."), FailureKind.RATE_LIMIT),
        (stripe.AuthenticationError("No."), FailureKind.AUTH),
        (stripe.CardError("No.", None, "card_declined"), FailureKind.CONFLICT),
        (Lost(NotReached("is away", unsent=True)), FailureKind.UNAVAILABLE),
        (Lost(NotReached("was late", late=True)), FailureKind.TIMEOUT),
        (stripe.StripeError("No."), FailureKind.UNKNOWN),
    ],
)
def test_kind_of_an_error(error: stripe.StripeError, kind: FailureKind) -> None:
    assert kind_of(error) is kind


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Lost(NotReached("is away", unsent=True)), ToolFailure),
        (Lost(NotReached("was late")), OutcomeUnknown),
        (stripe.APIError("No.", http_status=500), OutcomeUnknown),
        (stripe.APIError("In use.", http_status=409), OutcomeUnknown),
        (stripe.RateLimitError("No."), ToolFailure),
        (invalid("x"), ToolFailure),
        (stripe.IdempotencyError("No."), ToolFailure),
    ],
)
def test_write_is_unknown_exactly_when_it_may_have_happened(error: stripe.StripeError, expected: type) -> None:
    assert type(write_failure_of(error)) is expected


def test_permission_that_is_lacking_is_named_and_the_key_is_not() -> None:
    told = "The key 'rk_test_abcdef' lacks access. Having the 'rak_refund_write' permission would allow it."
    failure = failure_of(stripe.PermissionError(told, http_status=403))
    assert "rak_refund_write" in failure.message
    assert "rk_test_abcdef" not in failure.in_full
    named = failure_of(stripe.AuthenticationError("Invalid API Key provided: sk_test_abcdef", http_status=401))
    assert "sk_test" not in named.in_full


@pytest.mark.parametrize(("said", "seconds"), [("7", 7.0), ("", None), ("soon", None), ("99999", 3600.0), ("-1", None)])
def test_how_long_stripe_asks_to_wait(said: str, seconds: float | None) -> None:
    assert failure_of(stripe.RateLimitError("No.", headers={"retry-after": said})).retry_after == seconds
