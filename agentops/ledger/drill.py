"""The drill: does the verifier find every way of tampering, and name the right place, and leave honest logs alone?"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Protocol

from agentops.ledger import auditverify
from agentops.ledger.drilling import history, tampering
from agentops.ledger.drilling.logs import SINK, Log, honest
from agentops.ledger.drilling.tampering import Harm, Way, edit, edit_and_chain, edit_and_hash

COLUMNS = ("stream", "position", "at", "tenant", "type", "actor", "refs", "facts", "payload")
TRIALS_OF_ONE_LOG = 10
"""So many trials of a class change the same honest log, each at a place of its own."""

_PLAIN = (
    tampering.index_edited,
    tampering.renumbered,
    tampering.payload_edited,
    tampering.salt_edited,
    tampering.payloads_swapped,
    tampering.payload_put_in,
    tampering.payload_twice,
    tampering.payload_of_nothing,
    tampering.payload_and_digest,
    tampering.deleted,
    tampering.deleted_and_renumbered,
    tampering.deleted_and_chained,
    tampering.inserted,
    tampering.inserted_and_renumbered,
    tampering.inserted_and_chained,
    tampering.appended,
    tampering.index_twice,
    tampering.event_twice,
    tampering.swapped,
    tampering.swapped_and_renumbered,
    tampering.swapped_and_chained,
    tampering.moved,
    tampering.moved_to_other_tenant,
    tampering.moved_to_other_stream,
    tampering.partly_chained,
    tampering.garbled,
    tampering.field_added,
    tampering.key_twice,
    tampering.cut_line,
    history.tail_cut,
    history.tail_cut_at_checkpoint,
    history.checkpoint_dropped,
    history.checkpoints_dropped,
    history.signature_forged,
    history.kept_signature_forged,
    history.checkpoint_edited,
    history.checkpoint_size_edited,
    history.checkpoint_garbled,
    history.rewritten_with_other_key,
    history.replaced_with_other_log,
    history.stolen_key,
    history.stolen_key_after_witnesses,
    history.fork,
    history.fork_at_other_sizes,
    history.cosignature_forged,
    history.cosignatures_missing,
    history.signed_chain_wrong,
    history.signed_root_wrong,
    history.checkpoint_of_other_key,
    history.second_signature_forged,
    history.manifest_size,
    history.manifest_origin,
    history.manifest_keys,
    history.position_twice_before_signing,
    history.tenant_changed_before_signing,
    history.left_out_before_signing,
)

CLASSES: Mapping[str, Way] = {
    **{f"{name}_edited": edit(name) for name in (*COLUMNS, "leaf", "chain")},
    **{f"{name}_edited_and_hashed": edit_and_hash(name) for name in COLUMNS},
    **{f"{name}_edited_and_chained": edit_and_chain(name) for name in COLUMNS},
    **{way.__name__: way for way in _PLAIN},
}
"""Every way of tampering, by its name."""


class Verifier(Protocol):
    """What the drill asks: the module ``auditverify``, or one that a test has broken."""

    @property
    def verify_export(self) -> Callable[..., Any]: ...  # noqa: D102 - as in auditverify

    @property
    def trust_of(self) -> Callable[..., Any]: ...  # noqa: D102 - as in auditverify


@dataclass
class Result:
    """What a drill found: ``trials`` of all ``classes``, how many were ``found``, how many honest logs alarmed."""

    classes: int = 0
    trials: int = 0
    found: int = 0
    honest: int = 0
    false_alarms: int = 0
    seed: int = 0
    missed: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True when everything was found at its place and nothing else alarmed; a drill of nothing has not passed."""
        return 0 < self.trials == self.found and not self.false_alarms


MOST_MISSED = 50


@dataclass(frozen=True)
class Case:
    """A log for the verifier. ``harm`` is what was done to it, None for an honest one."""

    name: str
    log: Log
    harm: Harm | None

    def answer(self, verifier: Verifier = auditverify) -> str:
        """Return what is wrong with the verifier's answer, empty when nothing is."""
        with tempfile.TemporaryDirectory(prefix="ledger-drill-") as name:
            kept = self.log.write(Path(name))
            trust = verifier.trust_of(*self.log.trust)
            report = verifier.verify_export(
                Path(name) / "export", trust, kept=kept, until=self.log.until, tail=self.log.tail
            )
        return _fault(report, self.harm)


def _fault(report: Any, harm: Harm | None) -> str:
    if harm is None:
        return "" if report.verdict == "ok" else f"{report.verdict}: {report.what}"
    if report.verdict != "tampered":
        return f"index {harm.place} was not found: {report.verdict} {report.what}"
    low, high = report.bad_range
    if report.first_bad_index != harm.named:
        return f"index {report.first_bad_index} was named instead of {harm.named}: {report.what}"
    if not low <= harm.place <= high:
        return f"index {harm.place} is not in the range {low} to {high}: {report.what}"
    return ""


def tampered(*, trials: int, seed: int) -> Iterator[Case]:
    """Yield ``trials`` logs of each class that were tampered with at random places."""
    for name, way in CLASSES.items():
        log = None
        for trial in range(trials):
            random = Random(f"{seed} {name} {trial}")  # noqa: S311 - a drill is to be repeatable
            if log is None or trial % TRIALS_OF_ONE_LOG == 0:
                log = honest(random)
            changed = log.copy()
            yield Case(f"{name}, trial {trial}", changed, way(random, changed))


def untouched(*, count: int, seed: int) -> Iterator[Case]:
    """Yield ``count`` honest logs."""
    for number in range(count):
        random = Random(f"{seed} honest {number}")  # noqa: S311 - see above
        yield Case(f"honest log {number}", _used(random, honest(random)), None)


def drill(*, trials: int, honest_logs: int, seed: int, verifier: Verifier = auditverify) -> Result:
    """Tamper with invented logs ``trials`` times in each class, and verify ``honest_logs`` that nobody touched.

    Found is what the verifier calls tampered, naming the index that it must name, in a range that has the first bad
    event. The same ``seed`` gives the same drill. Writes to temporary folders, needs no database.
    """
    result = Result(classes=len(CLASSES), seed=seed)
    for case in chain(tampered(trials=trials, seed=seed), untouched(count=honest_logs, seed=seed)):
        fault = case.answer(verifier)
        if case.harm is None:
            result.honest += 1
            result.false_alarms += bool(fault)
        else:
            result.trials += 1
            result.found += not fault
        if fault and len(result.missed) < MOST_MISSED:
            result.missed.append(f"{case.name}: {fault}")
    return result


def _used(random: Random, log: Log) -> Log:
    """Return an honest log as auditors meet it: sinks that missed some, bodies erased, an older export."""
    for notes in log.kept.values():
        if log.quorum == 0 and random.random() < 0.3:
            for size in random.sample(log.sizes[:-1], 2):
                notes.pop(size)
    if random.random() < 0.3:
        log.payloads = [each for each in log.payloads if random.random() < 0.5]
    if random.random() < 0.3:
        last = random.choice(log.sizes[1:-1])
        history.end_at(log, last)
        log.until = log.made_at[last]
    elif random.random() < 0.2 and log.quorum == 0:
        last = log.sizes.pop()
        log.tail = last - log.sizes[-2]
        for notes in (log.checkpoints, *log.kept.values()):
            notes.pop(last, None)
    elif random.random() < 0.2:
        log.kept = {SINK: log.kept[SINK]}
        log.quorum = 0
    return log
