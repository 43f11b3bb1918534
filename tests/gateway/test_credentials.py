"""A tool gets its credential for one call, with consent, and nobody else sees it."""

import base64
import copy
import json
import logging
import pickle
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentops.gateway import credentials
from agentops.gateway.breakers import Breakers, breakers_of
from agentops.gateway.execute import Done, NotDone, Unknown, find_out, read, write
from agentops.gateway.models import Breaker
from agentops.gateway.prepare import Prepared, Refusal
from agentops.gateway.sources import Found, SourceFailed, Wanted
from agentops.kernel.errors import FailureKind
from agentops.registry.secret import Secret, SecretOver
from agentops.registry.tool import CallContext, Change, OutcomeUnknown, Preview, ToolFailure
from agentops.safety.shapes import REMOVED
from agentops.tenancy.models import Tenant
from tests.gateway.secrets import CAPABILITY, VALUE, FakeSource, consent_of, context_of
from tests.gateway.test_execute import prepared
from tests.gateway.tools import CONTEXT, GOOD, Run, raising, read_tool, write_tool

ANY = {"output_schema": {"type": "object"}, "secret": CAPABILITY}
AUTH = ToolFailure(FailureKind.AUTH, "The key is not valid.")


@pytest.fixture(autouse=True)
def empty_shelf() -> Iterator[None]:
    credentials.shelf.clear()
    yield
    credentials.shelf.clear()


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> FakeSource:
    made = FakeSource([Found(VALUE)])
    monkeypatch.setattr(credentials, "source_of", lambda name: made)
    return made


def never(*_: Any) -> Any:
    raise AssertionError("the tool was called")


def revealing(context: CallContext, *_: Any) -> dict[str, Any]:
    assert context.secret is not None
    return {"said": context.secret.reveal()}


# -- Lending -------------------------------------------------------------------------------------------


def test_tool_gets_the_value_for_its_call_only(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    kept: list[Secret] = []

    def run(context: CallContext, _: Any) -> Any:
        assert context.secret is not None
        kept.append(context.secret)
        assert context.secret.reveal() == VALUE
        return GOOD

    assert read(read_tool(run, secret=CAPABILITY), context_of(tenant), {}) == Done(GOOD)
    assert source.asked == [Wanted(tenant.pk, "sandbox", CAPABILITY)]
    with pytest.raises(SecretOver):
        kept[0].reveal()


def test_value_ends_with_a_call_that_fails(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    kept: list[CallContext] = []

    def run(context: CallContext, _: Any) -> Any:
        kept.append(context)
        raise ValueError

    read(read_tool(run, secret=CAPABILITY), context_of(tenant), {})
    secret = kept[0].secret
    assert secret is not None
    with pytest.raises(SecretOver):
        secret.reveal()


def test_secret_never_shows_its_value() -> None:
    secret = Secret(CAPABILITY, VALUE)
    context = CallContext(CONTEXT.tenant_id, CONTEXT.session_id, "w", None, CONTEXT.now, secret=secret)
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret:>50}",
        repr(context),
        json.dumps([secret], default=str),
    ]
    assert [text for text in shown if VALUE in text] == []
    assert repr(secret) == f"<secret {CAPABILITY}>"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars, lambda one: asdict(context)):
        with pytest.raises(TypeError):
            leak(secret)


def test_tool_without_a_secret_asks_nobody() -> None:
    seen: list[CallContext] = []

    def run(context: CallContext, _: Any) -> Any:
        seen.append(context)
        return GOOD

    assert read(read_tool(run), CONTEXT, {}) == Done(GOOD)
    assert seen[0] is CONTEXT


# -- Consent, values, expiry ---------------------------------------------------------------------------


def refused(tenant: Tenant, run: Run = never, **more: Any) -> Refusal:
    """What a read, a write, a question about a key and a dry run all come to."""
    tool = write_tool(run, secret=CAPABILITY, reconcile=run, preview=run, **more)
    context = context_of(tenant)
    outcome = read(read_tool(run, secret=CAPABILITY), context, {})
    written = write(tool, context, {})
    assert isinstance(outcome, NotDone)
    assert outcome == written
    assert isinstance(find_out(tool, context, words="Lost."), Unknown)
    assert prepared(tool, context=context) == outcome.refusal
    return outcome.refusal


def test_without_consent_nothing_is_called_or_looked_up(tenant: Tenant, source: FakeSource) -> None:
    refusal = refused(tenant)
    assert refusal.message == "Nobody has allowed the use of the sandbox credential shop_api."
    assert (refusal.code, refusal.next_step) == ("AUTH", "Hand over to a person; access is missing.")
    assert source.asked == []


def test_consent_of_another_tenant_environment_or_capability_does_not_count(tenant: Tenant, source: FakeSource) -> None:
    consent_of(Tenant.objects.create(slug="south", name="South Goods"))
    consent_of(tenant, "production")
    consent_of(tenant, capability="other_api")
    assert refused(tenant).code == "AUTH"
    assert source.asked == []


def test_consent_that_is_taken_back_ends_at_once_although_the_value_is_kept(tenant: Tenant, source: FakeSource) -> None:
    consent = consent_of(tenant)
    tool = read_tool(revealing, **ANY)
    assert isinstance(read(tool, context_of(tenant), {}), Done)
    consent.revoked_at, consent.revoked_by = timezone.now(), "user:root"
    consent.save()
    assert refused(tenant).code == "AUTH"
    assert len(source.asked) == 1
    consent_of(tenant)
    read(tool, context_of(tenant), {})
    assert len(source.asked) == 2, "a value that may not be used is not kept"


def test_environment_is_that_of_the_installation(tenant: Tenant, source: FakeSource, settings: Any) -> None:
    consent_of(tenant, "production")
    settings.TOOL_ENVIRONMENT = "production"
    assert isinstance(read(read_tool(revealing, **ANY), context_of(tenant), {}), Done)
    assert source.asked == [Wanted(tenant.pk, "production", CAPABILITY)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "There is no sandbox credential shop_api."),
        (Found(VALUE, timezone.now() - timedelta(seconds=1)), "The sandbox credential shop_api has expired."),
        (Found("short"), "The credential shop_api cannot be used."),
        (SourceFailed(f"The file {VALUE} is open."), "The credential shop_api could not be looked up."),
    ],
)
def test_without_a_usable_value_nothing_is_called(tenant: Tenant, source: FakeSource, answer: Any, words: str) -> None:
    consent_of(tenant)
    source.answers = [answer]
    refusal = refused(tenant)
    assert (refusal.code, refusal.message) == ("AUTH", words)


def test_source_that_is_down_is_worth_another_try_and_no_fault_of_the_tool(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    source.answers = [SourceFailed("The vault could not be reached.", FailureKind.UNAVAILABLE)]
    breakers = Breakers(tenant.pk, breakers_of(tenant.pk))
    outcome = write(write_tool(never, secret=CAPABILITY), context_of(tenant), {}, breakers=breakers)
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.code, outcome.retryable, outcome.definite) == ("UNAVAILABLE", True, True)
    prepared(write_tool(never, secret=CAPABILITY, preview=never), breakers, context=context_of(tenant))
    assert not Breaker.objects.exists()


def test_value_is_kept_for_a_while_and_looked_up_again_when_it_has_expired(
    tenant: Tenant, source: FakeSource, settings: Any
) -> None:
    consent_of(tenant)
    tool, context = read_tool(revealing, **ANY), context_of(tenant)
    read(tool, context, {})
    read(tool, context, {})
    assert len(source.asked) == 1
    credentials.shelf.clear()
    settings.SECRET_KEEP_SECONDS = 0
    read(tool, context, {})
    read(tool, context, {})
    assert len(source.asked) == 3


# -- Rotation ------------------------------------------------------------------------------------------


def test_value_that_was_refused_is_looked_up_again_once(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    source.answers = [Found(VALUE), Found("new-value-after-rotation")]
    shown: list[str] = []

    def run(context: CallContext, *_: Any) -> Any:
        assert context.secret is not None
        shown.append(context.secret.reveal())
        if len(shown) == 1:
            raise AUTH
        return {"old": shown[0], "new": shown[1]}

    outcome = read(read_tool(run, **ANY), context_of(tenant), {})
    assert outcome == Done({"old": REMOVED, "new": REMOVED}, scrubbed=2)
    assert shown == [VALUE, "new-value-after-rotation"]


def test_value_that_stays_refused_ends_the_call(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    made: list[int] = []

    def run(*_: Any) -> Any:
        made.append(1)
        raise AUTH

    outcome = write(write_tool(run, secret=CAPABILITY), context_of(tenant), {})
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.code, len(made), len(source.asked)) == ("AUTH", 2, 2)


def test_value_that_is_gone_after_it_was_refused_leaves_the_call_as_it_was(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    source.answers = [Found(VALUE), None]
    outcome = read(read_tool(raising(AUTH), secret=CAPABILITY), context_of(tenant), {})
    assert isinstance(outcome, NotDone)
    assert outcome.refusal.message == "The key is not valid."


# -- What the call says --------------------------------------------------------------------------------

ENCODED = base64.b64encode(f"user:{VALUE}".encode()).decode()


def test_result_is_freed_of_the_secret(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    result = {"echo": {"Authorization": f"Basic {ENCODED}"}, "hex": VALUE.encode().hex(), "note": "fine"}
    # The digit in which "user:" ends and the value begins belongs to both.
    clean = {"echo": {"Authorization": f"Basic dXNlcj{REMOVED}"}, "hex": REMOVED, "note": "fine"}
    for outcome in (
        read(read_tool(lambda *_: result, **ANY), context_of(tenant), {}),
        write(write_tool(lambda *_: result, **ANY), context_of(tenant), {}),
        find_out(write_tool(never, reconcile=lambda _: result, **ANY), context_of(tenant), words="Lost."),
    ):
        assert outcome == Done(clean, scrubbed=2)


@pytest.mark.parametrize("kind", [FailureKind.VALIDATION, FailureKind.UNAVAILABLE, FailureKind.AUTH])
def test_failure_is_freed_of_the_secret(tenant: Tenant, source: FakeSource, kind: FailureKind) -> None:
    consent_of(tenant)
    error = ToolFailure(kind, f"GET /?key={VALUE} failed.", field=f"x.{VALUE}")
    breakers = Breakers(tenant.pk, breakers_of(tenant.pk))
    outcome = read(read_tool(raising(error, error), secret=CAPABILITY), context_of(tenant), {}, breakers=breakers)
    assert isinstance(outcome, NotDone)
    assert (outcome.refusal.message, outcome.refusal.field) == (f"GET /?key={REMOVED} failed.", f"x.{REMOVED}")
    assert [VALUE in row.last_words for row in Breaker.objects.all()] == [False] * Breaker.objects.count()


def test_unusable_answer_is_freed_of_the_secret(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    outcome = read(read_tool(lambda *_: {"balance": VALUE}, secret=CAPABILITY), context_of(tenant), {})
    assert isinstance(outcome, NotDone)
    assert VALUE not in outcome.refusal.message
    done = write(write_tool(lambda *_: {"balance": VALUE}, secret=CAPABILITY), context_of(tenant), {})
    assert isinstance(done, Done)
    assert VALUE not in done.result["unreadable_answer"]
    assert REMOVED in done.result["unreadable_answer"]


def test_dry_run_is_freed_of_the_secret(tenant: Tenant, source: FakeSource) -> None:
    consent_of(tenant)
    dirty = Preview(f"Pay with {VALUE}.", "customer:ann", (Change("Key", "", VALUE),))
    tool = write_tool(never, secret=CAPABILITY, preview=lambda *_: dirty)
    found = prepared(tool, context=context_of(tenant))
    assert isinstance(found, Prepared)
    assert found.preview == Preview(f"Pay with {REMOVED}.", "customer:ann", (Change("Key", "", REMOVED),))


@pytest.mark.parametrize("error", [ValueError(VALUE), OutcomeUnknown(f"Lost {VALUE}."), KeyError(ENCODED)], ids=repr)
def test_log_is_freed_of_the_secret(
    tenant: Tenant, source: FakeSource, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    consent_of(tenant)

    def run(*_: Any) -> Any:
        try:
            raise RuntimeError(f"inner {VALUE}")
        except RuntimeError as inner:
            raise error from inner

    with caplog.at_level(logging.DEBUG):
        read(read_tool(run, secret=CAPABILITY), context_of(tenant), {})
        write(write_tool(run, secret=CAPABILITY, reconcile=run), context_of(tenant), {})
        prepared(write_tool(never, secret=CAPABILITY, preview=run), context=context_of(tenant))
    assert VALUE not in caplog.text
    assert ENCODED not in caplog.text
    assert "secrets were removed" in caplog.text


def test_log_says_where_and_why_a_tool_broke(caplog: pytest.LogCaptureFixture) -> None:
    def run(*_: Any) -> Any:
        try:
            raise KeyError("total")
        except KeyError:
            raise ValueError("no total") from None

    read(read_tool(run), CONTEXT, {})
    assert "ValueError: no total" in caplog.text
    assert 'raise ValueError("no total") from None' in caplog.text
    assert "because of" not in caplog.text


def test_shapes_are_hidden_for_tools_without_a_secret() -> None:
    schema = {"type": "object"}
    outcome = read(read_tool(lambda *_: {"card": "4111 1111 1111 1111"}, output_schema=schema), CONTEXT, {})
    assert outcome == Done({"card": "[card ending 1111]"}, scrubbed=1)
    failed = read(read_tool(raising(ToolFailure(FailureKind.CONFLICT, "AKIAIOSFODNN7EXAMPLE is no key."))), CONTEXT, {})
    assert isinstance(failed, NotDone)
    assert failed.refusal.message == f"{REMOVED} is no key."
