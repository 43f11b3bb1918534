"""Stripe's errors as ours: one table.

A read that failed had no effect. A write had none either when Stripe refused it or it never left, and nobody knows
otherwise. A declined card is no failure: whoever pays an invoice reads the answer first.
https://docs.stripe.com/api/errors and https://docs.stripe.com/error-low-level
"""

import re

import stripe

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from billing_agent.connectors.stripe.transport import Lost

KINDS: dict[type[stripe.StripeError], FailureKind] = {
    stripe.AuthenticationError: FailureKind.AUTH,
    stripe.PermissionError: FailureKind.AUTH,
    stripe.RateLimitError: FailureKind.RATE_LIMIT,
    stripe.QuotaExceededError: FailureKind.RATE_LIMIT,
    stripe.IdempotencyError: FailureKind.CONFLICT,
    stripe.CardError: FailureKind.CONFLICT,
    stripe.InvalidRequestError: FailureKind.VALIDATION,
    stripe.SignatureVerificationError: FailureKind.VALIDATION,
    stripe.APIConnectionError: FailureKind.UNAVAILABLE,
    stripe.APIError: FailureKind.UNAVAILABLE,
    # Of Stripe's second interface, which nothing here calls.
    stripe.AlreadyCanceledError: FailureKind.CONFLICT,
    stripe.BlockedByStripeError: FailureKind.CONFLICT,
    stripe.CannotProceedError: FailureKind.CONFLICT,
    stripe.CapabilityNotEnabledError: FailureKind.AUTH,
    stripe.ControlledByAlternateResourceError: FailureKind.CONFLICT,
    stripe.FeatureNotEnabledError: FailureKind.AUTH,
    stripe.FinancialAccountNotOpenError: FailureKind.CONFLICT,
    stripe.FxQuoteNeedsRefreshError: FailureKind.CONFLICT,
    stripe.InsufficientFundsError: FailureKind.CONFLICT,
    stripe.InvalidPaymentMethodError: FailureKind.VALIDATION,
    stripe.InvalidPayoutMethodError: FailureKind.VALIDATION,
    stripe.InvalidVaultedCredentialError: FailureKind.VALIDATION,
    stripe.NotCancelableError: FailureKind.CONFLICT,
    stripe.RecipientNotNotifiableError: FailureKind.VALIDATION,
    stripe.TemporarySessionExpiredError: FailureKind.AUTH,
    stripe.VerificationAttemptFailedError: FailureKind.CONFLICT,
    stripe.VerificationExpiredError: FailureKind.CONFLICT,
    stripe.VerificationNotInitiatedError: FailureKind.CONFLICT,
}
"""The kind of each class of error; one that is not listed has that of its nearest listed ancestor, or UNKNOWN."""

MISSING = "resource_missing"
# The objects do not allow it now; in another state the same request is right.
_STATES = re.compile(
    r"(charge|invoice|payment_intent|refund|setup_intent|subscription)_.*|.*_(already|expired|canceled|not_editable).*"
    r"|customer_max_subscriptions|missing"
)
_PERMISSION = re.compile(r"rak_[a-z0-9_]{1,60}", re.ASCII)
LONGEST_WAIT = 3_600.0
MOST_WORDS = 300


def failure_of(error: stripe.StripeError) -> ToolFailure:
    """Return the failure of a request that certainly had no effect."""
    kind = kind_of(error)
    return ToolFailure(kind, _words(error, kind), retry_after=_wait(error))


def is_unknown(error: stripe.StripeError) -> bool:
    """Return whether a write that ended in ``error`` may have had its effect.

    5xx says nothing, and neither does 409: a request with the same key is being carried out.
    """
    if isinstance(error, Lost):
        return not error.unsent
    return isinstance(error, stripe.APIError | stripe.APIConnectionError)


def write_failure_of(error: stripe.StripeError) -> ToolFailure | OutcomeUnknown:
    """Return what a write ended in: a failure when it certainly had no effect, otherwise nobody knows."""
    if is_unknown(error):
        return OutcomeUnknown("Stripe did not say what became of the request.")
    return failure_of(error)


def kind_of(error: stripe.StripeError) -> FailureKind:
    """Return our kind of an error."""
    kind = next((KINDS[one] for one in type(error).__mro__ if one in KINDS), FailureKind.UNKNOWN)
    if isinstance(error, Lost) and error.late:
        return FailureKind.TIMEOUT
    if kind is FailureKind.VALIDATION:
        if error.http_status == 404 or error.code == MISSING:
            return FailureKind.NOT_FOUND
        if error.code and _STATES.fullmatch(error.code):
            return FailureKind.CONFLICT
    return kind


def _words(error: stripe.StripeError, kind: FailureKind) -> str:
    """Return a sentence. What Stripe says about a key may hold a part of it, so it is not repeated."""
    told = " ".join((error.user_message or "").split())[:MOST_WORDS]
    if isinstance(error, stripe.PermissionError):
        lacking = _PERMISSION.search(error.user_message or "")
        named = f"the permission {lacking[0]}" if lacking else "a permission that this needs"
        return f"Stripe refuses: the key lacks {named}."
    if kind is FailureKind.AUTH:
        return "Stripe does not accept the key."
    if kind is FailureKind.RATE_LIMIT:
        return "Stripe asks to wait: too many requests."
    if isinstance(error, Lost):
        return told
    if kind is FailureKind.UNAVAILABLE:
        return f"Stripe failed (status {error.http_status})."
    return f"Stripe refuses: {told or 'it does not say why'}"


def _wait(error: stripe.StripeError) -> float | None:
    """Return how long Stripe asks to wait, in seconds."""
    said = str((error.headers or {}).get("retry-after", ""))
    if said.isascii() and said.isdigit() and len(said) < 6:
        return min(float(said), LONGEST_WAIT)
    return None
