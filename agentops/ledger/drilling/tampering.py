"""What somebody could do to events and payloads of an export: each way changes a copy of an honest log.

A way returns where the first bad event is and which index the verifier must name. Somebody who computes hashes anew
is found by a checkpoint alone, so the verifier can then name no more than the first event that the checkpoint added.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from agentops.kernel.canonical import canonical_bytes
from agentops.ledger.drilling.logs import Log, rehash


@dataclass(frozen=True)
class Harm:
    """``place`` is the first bad event, ``named`` the index that the verifier must name."""

    place: int
    named: int

    @classmethod
    def at(cls, index: int) -> "Harm":
        """Return what is found exactly where it is."""
        return cls(index, index)

    @classmethod
    def signed(cls, log: Log, index: int) -> "Harm":
        """Return what is found by the first checkpoint that covers it."""
        return cls(index, log.before(index))


Way = Callable[[Random, Log], Harm]


def _place(random: Random, log: Log, *, first: int = 0, last: int = 0) -> int:
    """Return a random index from ``first`` on, at least ``last`` before the end."""
    return random.randrange(first, len(log.events) - last)


def _other(random: Random, name: str, value: Any) -> Any:
    """Return another value for a field of an event."""
    if name in ("stream", "tenant"):
        return str(UUID(int=random.getrandbits(128), version=4))
    if name in ("payload", "leaf", "chain"):
        return random.randbytes(32).hex()
    if name == "at":
        return value.replace("2026-", "2025-")
    if name == "position":
        return value + random.randint(1, 9)
    return {"forged": random.randint(0, 9)} if isinstance(value, dict) else f"{value}x"


def edit(name: str) -> Way:
    """Return the way that changes one column and nothing else."""

    def change(random: Random, log: Log) -> Harm:
        index = _place(random, log)
        log.events[index][name] = _other(random, name, log.events[index][name])
        return Harm.at(index)

    return change


def edit_and_hash(name: str) -> Way:
    """Return the way that changes one column and computes the leaf hash anew, not the chain."""

    def change(random: Random, log: Log) -> Harm:
        index = _place(random, log)
        chains = [event["chain"] for event in log.events]
        log.events[index][name] = _other(random, name, log.events[index][name])
        rehash(log.events, index, index + 1)
        log.events[index]["chain"] = chains[index]
        return Harm.at(index)

    return change


def edit_and_chain(name: str) -> Way:
    """Return the way that changes one column and computes leaf hash and chain anew to the end."""

    def change(random: Random, log: Log) -> Harm:
        index = _place(random, log)
        log.events[index][name] = _other(random, name, log.events[index][name])
        rehash(log.events, index)
        if name == "payload" and index in _with_body(log):
            return Harm.at(index)  # the body says so, before a checkpoint does
        return Harm.signed(log, index)

    return change


def index_edited(random: Random, log: Log) -> Harm:
    """One index is another number."""
    index = _place(random, log)
    log.events[index]["index"] += random.randint(1, 50)
    return Harm.at(index)


def renumbered(random: Random, log: Log) -> Harm:
    """All indexes from one on are higher."""
    index, by = _place(random, log), random.randint(1, 9)
    for event in log.events[index:]:
        event["index"] += by
    return Harm.at(index)


def _with_body(log: Log) -> set[int]:
    return {payload["index"] for payload in log.payloads}


def _payload(random: Random, log: Log) -> dict[str, Any]:
    return random.choice(log.payloads)


def payload_edited(random: Random, log: Log) -> Harm:
    """A body says something else."""
    payload = _payload(random, log)
    payload["body"] = {**payload["body"], "n": payload["body"]["n"] + 1}
    return Harm.at(payload["index"])


def salt_edited(random: Random, log: Log) -> Harm:
    """A body has another salt."""
    payload = _payload(random, log)
    payload["salt"] = random.randbytes(32).hex()
    return Harm.at(payload["index"])


def payloads_swapped(random: Random, log: Log) -> Harm:
    """Two events have each other's body."""
    one, other = random.sample(log.payloads, 2)
    one["body"], other["body"] = {**other["body"], "n": -100}, one["body"]
    one["salt"], other["salt"] = other["salt"], one["salt"]
    return Harm.at(min(one["index"], other["index"]))


def payload_put_in(random: Random, log: Log) -> Harm:
    """An event that never had a body has one."""
    index = random.choice([each["index"] for each in log.events if each["payload"] is None])
    log.payloads.append({"index": index, "salt": None, "body": {"n": 1}})
    log.payloads.sort(key=lambda payload: int(payload["index"]))
    return Harm.at(index)


def payload_twice(random: Random, log: Log) -> Harm:
    """A body stands there a second time, as another one."""
    at = random.randrange(len(log.payloads))
    log.payloads.insert(at + 1, {**log.payloads[at], "body": {}})
    return Harm.at(log.payloads[at]["index"])


def payload_of_nothing(random: Random, log: Log) -> Harm:
    """There is a body beyond the last event."""
    log.payloads.append({"index": len(log.events) + random.randint(0, 9), "salt": None, "body": {}})
    return Harm.at(len(log.events))


def payload_and_digest(random: Random, log: Log) -> Harm:
    """A body, its digest in the event and the leaf hash say something else."""
    payload = _payload(random, log)
    index, body = payload["index"], {"forged": random.randint(0, 9)}
    payload |= {"body": body, "salt": None}
    chain = log.events[index]["chain"]
    log.events[index]["payload"] = hashlib.sha256(canonical_bytes(body)).hexdigest()
    rehash(log.events, index, index + 1)
    log.events[index]["chain"] = chain
    return Harm.at(index)


def deleted(random: Random, log: Log) -> Harm:
    """A line is gone."""
    index = _place(random, log)
    del log.events[index]
    return Harm.at(index)


def deleted_and_renumbered(random: Random, log: Log) -> Harm:
    """A line is gone, and the numbers have no gap."""
    index = _place(random, log)
    del log.events[index]
    for number, event in enumerate(log.events):
        event["index"] = number
    _shift_payloads(log, index, -1)
    return Harm.at(index)


def deleted_and_chained(random: Random, log: Log) -> Harm:
    """A line is gone, and numbers and chain are computed anew."""
    index = _place(random, log)
    covered = log.after(index)
    del log.events[index]
    _shift_payloads(log, index, -1)
    rehash(log.events, index)
    # Of the last checkpoint's events one is missing at the end; no other checkpoint says which.
    return Harm(index, log.before(index) if covered <= len(log.events) else len(log.events))


def _shift_payloads(log: Log, since: int, by: int) -> None:
    """Move the bodies with their events; those of the event that is gone go with it."""
    if by < 0:
        log.payloads[:] = [each for each in log.payloads if each["index"] != since]
    for payload in log.payloads:
        if payload["index"] >= since:
            payload["index"] += by


def _invented(random: Random, log: Log, index: int) -> dict[str, Any]:
    """Return an event to put in at ``index``, of a stream of its own."""
    return {
        **log.events[min(index, len(log.events) - 1)],
        "index": index,
        "stream": str(UUID(int=random.getrandbits(128), version=4)),
        "position": 0,
        "facts": {"forged": True},
        "payload": None,
    }


def _put_in(random: Random, log: Log, index: int) -> None:
    log.events.insert(index, _invented(random, log, index))
    rehash(log.events, index, index + 1)


def inserted(random: Random, log: Log) -> Harm:
    """A line is put in, with hashes that fit, and no other line is changed."""
    index = _place(random, log)
    _put_in(random, log, index)
    if index + 1 in log.sizes and index not in _with_body(log):
        return Harm.signed(log, index)
    return Harm.at(index)


def inserted_and_renumbered(random: Random, log: Log) -> Harm:
    """A line is put in, with hashes that fit, and the numbers after it are one higher."""
    index = _place(random, log)
    _put_in(random, log, index)
    for number, event in enumerate(log.events):
        event["index"] = number
    _shift_payloads(log, index, 1)
    return Harm.signed(log, index) if index + 1 in log.sizes else Harm.at(index)


def inserted_and_chained(random: Random, log: Log) -> Harm:
    """A line is put in, and numbers and chain are computed anew."""
    index = _place(random, log)
    _put_in(random, log, index)
    _shift_payloads(log, index, 1)
    rehash(log.events, index)
    return Harm.signed(log, index)


def appended(random: Random, log: Log) -> Harm:
    """A line is put at the end, where no checkpoint reaches."""
    index = len(log.events)
    _put_in(random, log, index)
    log.manifest["size"] = index + 1
    log.quorum = 0
    return Harm.at(index)


def index_twice(random: Random, log: Log) -> Harm:
    """A line stands there twice."""
    index = _place(random, log)
    log.events.insert(index + 1, dict(log.events[index]))
    return Harm.at(index)


def event_twice(random: Random, log: Log) -> Harm:
    """An event is repeated under a number of its own, and all is computed anew."""
    index = _place(random, log)
    log.events.insert(index + 1, dict(log.events[index]))
    _shift_payloads(log, index + 1, 1)
    rehash(log.events, index + 1)
    if index + 1 == log.sizes[-1]:
        return Harm.at(index + 1)  # found by its position, before anything says that no checkpoint covers it
    return Harm.signed(log, index + 1)


def _two(random: Random, log: Log) -> tuple[int, int]:
    first, second = sorted(random.sample(range(len(log.events)), 2))
    events = log.events
    events[first], events[second] = events[second], events[first]
    return first, second


def swapped(random: Random, log: Log) -> Harm:
    """Two lines have changed places."""
    return Harm.at(_two(random, log)[0])


def swapped_and_renumbered(random: Random, log: Log) -> Harm:
    """Two events have changed places, and the numbers rise."""
    first, second = _two(random, log)
    log.events[first]["index"], log.events[second]["index"] = first, second
    return Harm.at(first)


def swapped_and_chained(random: Random, log: Log) -> Harm:
    """Two events have changed places, and all is computed anew."""
    first, second = _two(random, log)
    for payload in log.payloads:
        payload["index"] = {first: second, second: first}.get(payload["index"], payload["index"])
    log.payloads.sort(key=lambda payload: int(payload["index"]))
    rehash(log.events, first)
    return Harm.signed(log, first)


def moved(random: Random, log: Log) -> Harm:
    """A line was moved towards the end."""
    index = _place(random, log, last=2)
    log.events.insert(random.randrange(index + 1, len(log.events)), log.events.pop(index))
    return Harm.at(index)


def moved_to_other_tenant(random: Random, log: Log) -> Harm:
    """An event was given to another tenant, with hashes computed anew."""
    index = _place(random, log)
    event = log.events[index]
    event["tenant"] = random.choice([each["tenant"] for each in log.events if each["tenant"] != event["tenant"]])
    rehash(log.events, index)
    return Harm.signed(log, index)


def moved_to_other_stream(random: Random, log: Log) -> Harm:
    """An event was put at the end of another stream, with hashes computed anew."""
    index = _place(random, log)
    event = log.events[index]
    other = random.choice([each for each in log.events if each["stream"] != event["stream"]])
    held = [each["position"] for each in log.events if each["stream"] == other["stream"]]
    event |= {"stream": other["stream"], "tenant": other["tenant"], "position": max(held) + 1}
    rehash(log.events, index)
    return Harm.signed(log, index)


def partly_chained(random: Random, log: Log) -> Harm:
    """An event was changed and the chain computed anew, but not to the end: it breaks where that stopped."""
    start = random.choice([0, *log.sizes[:-1]])
    if log.after(start) - start < 3:
        return edit("facts")(random, log)
    index = random.randrange(start, log.after(start) - 2)
    stop = random.randrange(index + 1, log.after(start) - 1)
    log.events[index]["facts"] = {"forged": random.randint(0, 9)}
    rehash(log.events, index, stop)
    return Harm(index, stop)


def garbled(random: Random, log: Log) -> Harm:
    """A line is no JSON any more."""
    index = _place(random, log)
    raw = canonical_bytes(log.events[index])
    log.raw_lines[index] = raw[: random.randrange(1, len(raw))] + b"\n"
    return Harm.at(index)


def field_added(random: Random, log: Log) -> Harm:
    """A line says something that no hash covers."""
    index = _place(random, log)
    log.events[index]["note"] = "approved by the manager"
    return Harm.at(index)


def key_twice(random: Random, log: Log) -> Harm:
    """A line has a key twice, so that two readers see two events."""
    index = _place(random, log)
    log.raw_lines[index] = b'{"actor":"user:alice",' + canonical_bytes(log.events[index])[1:] + b"\n"
    return Harm.at(index)


def cut_line(random: Random, log: Log) -> Harm:
    """The file ends within its last line."""
    index = len(log.events) - 1
    raw = canonical_bytes(log.events[index])
    log.raw_lines[index] = raw[: random.randrange(1, len(raw))]
    return Harm.at(index)
