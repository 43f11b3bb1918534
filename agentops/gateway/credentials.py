"""The credential of one call: found, lent to the tool, taken back, and kept out of what the call says.

A tool names a capability. Its value is found for the tenant and the installation's environment, if the tenant has
consented. No consent, no value, or one that has expired is a failure AUTH, and nothing is called. The value is kept for
``SECRET_KEEP_SECONDS``; consent is looked up each time, so that taking it back holds from the next call on.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from agentops.gateway.consents import standing
from agentops.gateway.sources import Found, Source, SourceFailed, Wanted
from agentops.kernel.canonical import JSON
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.registry.secret import Secret
from agentops.registry.tool import CallContext, NotYet, OutcomeUnknown, Preview, ToolFailure, ToolSpec
from agentops.safety.scrub import Scrubber, SecretUnfit

log = logging.getLogger(__name__)

SOURCES = {
    "environment": "agentops.gateway.sources.EnvironmentSource",
    "files": "agentops.gateway.sources.FileSource",
    # Speaks HTTP, whose library is not loaded where nobody needs it.
    "vault": "agentops.gateway.vault.VaultSource",
}
_SHAPES_ONLY = Scrubber()


class NoCredential(ToolFailure):
    """The call has no credential and was not made."""

    code = "NO_CREDENTIAL"
    next_step = "See docs/operations.md, Secrets of tools: consent, value, and when it expires."


@dataclass(frozen=True)
class _Kept:
    found: Found
    scrubber: Scrubber
    until: float  # of the monotonic clock


class _Shelf:
    """The values that this process has found, each for a while."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: dict[Wanted, _Kept] = {}

    def get(self, wanted: Wanted) -> _Kept:
        """Return the value, found anew when it was not kept or is too old. Raises ToolFailure."""
        with self._guard:
            kept = self._kept.get(wanted)
        if kept is None or time.monotonic() >= kept.until or _has_expired(kept.found):
            kept = _find(wanted)
            with self._guard:
                self._kept[wanted] = kept
        return kept

    def drop(self, wanted: Wanted) -> None:
        """Forget a value that was refused, or that may no longer be used."""
        with self._guard:
            self._kept.pop(wanted, None)

    def clear(self) -> None:
        """Forget every value."""
        with self._guard:
            self._kept.clear()


shelf = _Shelf()


@cache
def source_of(name: str) -> Source:
    """Return the source called ``name``, made from the settings. Raises SourceFailed when they cannot be used."""
    made: Source = import_string(SOURCES[name])()
    return made


def _find(wanted: Wanted) -> _Kept:
    try:
        found = source_of(settings.SECRET_SOURCE).find(wanted)
    except SourceFailed as failure:
        log.warning("no credential: %s", failure.in_full, extra={"capability": wanted.capability})
        words = f"The credential {wanted.capability} could not be looked up."
        raise NoCredential(failure.kind, words) from None
    if found is None:
        raise NoCredential(FailureKind.AUTH, f"There is no {wanted.environment} credential {wanted.capability}.")
    if _has_expired(found):
        raise NoCredential(FailureKind.AUTH, f"The {wanted.environment} credential {wanted.capability} has expired.")
    try:
        scrubber = Scrubber([found.value])
    except SecretUnfit as unfit:
        log.warning("no credential: %s", unfit.in_full, extra={"capability": wanted.capability})
        raise NoCredential(FailureKind.AUTH, f"The credential {wanted.capability} cannot be used.") from None
    return _Kept(found, scrubber, time.monotonic() + settings.SECRET_KEEP_SECONDS)


def _has_expired(found: Found) -> bool:
    return found.expires_at is not None and found.expires_at <= utcnow()


class Loan:
    """A call's context with its credential, and what keeps both out of the call's words.

    ``removed`` counts the places where something was taken out.
    """

    def __init__(self, context: CallContext, wanted: Wanted | None) -> None:
        """Find the credential. Raises ToolFailure when there is none to be had."""
        self.context = context
        self.removed = 0
        self._wanted = wanted
        self._scrubbers = [_SHAPES_ONLY]
        if wanted is not None:
            self._lend(wanted)

    def _lend(self, wanted: Wanted) -> None:
        kept = shelf.get(wanted)
        self.end()
        self.context = replace(self.context, secret=Secret(wanted.capability, kept.found.value))
        # What was lent before is still a secret.
        self._scrubbers = [*(one for one in self._scrubbers if one is not _SHAPES_ONLY), kept.scrubber]

    def renew(self) -> None:
        """Drop the credential that was refused, and find it anew. Raises ToolFailure."""
        if self._wanted is not None:
            shelf.drop(self._wanted)
            self._lend(self._wanted)

    def end(self) -> None:
        """Take the credential back."""
        if self.context.secret is not None:
            self.context.secret.end()

    def text(self, text: str) -> str:
        """Return the call's words without secrets."""
        for scrubber in self._scrubbers:
            text, removed = scrubber.text(text)
            self.removed += removed
        return text

    def value(self, value: JSON) -> JSON:
        """Return the call's result, which is canonical JSON, without secrets."""
        for scrubber in self._scrubbers:
            value, removed = scrubber.value(value)
            self.removed += removed
        return value

    def preview(self, preview: Preview) -> Preview:
        """Return the call's dry run without secrets."""
        for scrubber in self._scrubbers:
            preview, removed = scrubber.preview(preview)
            self.removed += removed
        return preview

    def failure(self, error: ToolFailure | OutcomeUnknown | NotYet) -> None:
        """Take secrets out of what a failure says."""
        error.message = self.text(str(error.message))
        error.args = (error.message,)
        if isinstance(error, ToolFailure) and error.field:
            error.field = self.text(str(error.field))


@contextmanager
def lent(tool: ToolSpec, context: CallContext) -> Iterator[Loan]:
    """Lend the tool its credential for one call. Raises ToolFailure, and then nothing may be called."""
    loan = Loan(context, None if not tool.secret else _allowed(context.tenant_id, tool.secret))
    try:
        yield loan
    finally:
        loan.end()
        if loan.removed:
            log.warning("secrets were removed", extra={"tool": tool.name, "places": loan.removed})


@contextmanager
def lent_for_work(tenant_id: UUID, capability: str) -> Iterator[Secret]:
    """Lend a tenant's credential for work that is no call of a tool. Raises NoCredential, as a call would."""
    secret = Secret(capability, shelf.get(_allowed(tenant_id, capability)).found.value)
    try:
        yield secret
    finally:
        secret.end()


def _allowed(tenant_id: UUID, capability: str) -> Wanted:
    """Return which value may be had. Raises NoCredential without the tenant's consent."""
    wanted = Wanted(tenant_id, settings.TOOL_ENVIRONMENT, capability)
    consent = standing(tenant_id=wanted.tenant_id, capability=wanted.capability, environment=wanted.environment)
    if not consent.exists():
        shelf.drop(wanted)
        words = f"Nobody has allowed the use of the {wanted.environment} credential {wanted.capability}."
        raise NoCredential(FailureKind.AUTH, words)
    return wanted
