"""What somebody could do to checkpoints, keys, witnesses and the manifest, and to a log before it was signed."""

from random import Random

from agentops.ledger.drilling.logs import FIRST, ORIGIN, SECOND, SINK, Log, Signer, rehash, seal, sign
from agentops.ledger.drilling.tampering import Harm


def _size(random: Random, log: Log, *, last: bool = True) -> int:
    return random.choice(log.sizes if last else log.sizes[:-1])


def _of_checkpoint(log: Log, size: int) -> Harm:
    """A checkpoint that is not good leaves the events unproven that it added."""
    return Harm.signed(log, size - 1)


def _forge(random: Random, log: Log) -> int:
    """Change an event and compute everything anew that needs no key. Returns its index."""
    index = random.randrange(len(log.events))
    log.events[index]["facts"] = {"forged": random.randint(0, 9)}
    rehash(log.events, index)
    return index


def tail_cut(random: Random, log: Log) -> Harm:
    """The last events are gone, with the checkpoints over them."""
    count = random.randrange(1, len(log.events))
    return end_at(log, count)


def tail_cut_at_checkpoint(random: Random, log: Log) -> Harm:
    """The export ends at an earlier checkpoint, as if it was made then."""
    return end_at(log, _size(random, log, last=False))


def end_at(log: Log, count: int) -> Harm:
    """Leave of the export what there was of it at ``count`` events; others keep what they have."""
    del log.events[count:]
    log.payloads[:] = [each for each in log.payloads if each["index"] < count]
    log.checkpoints = {size: note for size, note in log.checkpoints.items() if size <= count}
    log.manifest["size"] = count
    return Harm.at(count)


def checkpoint_dropped(random: Random, log: Log) -> Harm:
    """A checkpoint that others kept is missing."""
    size = _size(random, log)
    del log.checkpoints[size]
    return _of_checkpoint(log, size)


def checkpoints_dropped(random: Random, log: Log) -> Harm:
    """All checkpoints are gone, and an event was changed."""
    log.checkpoints.clear()
    _forge(random, log)
    return Harm.signed(log, log.sizes[0] - 1)


def signature_forged(random: Random, log: Log) -> Harm:
    """A signature has other bits."""
    size = _size(random, log)
    log.checkpoints[size] = _bent(random, log.checkpoints[size], log.signer)
    return _of_checkpoint(log, size)


def kept_signature_forged(random: Random, log: Log) -> Harm:
    """In a sink, a signature has other bits."""
    size = _size(random, log)
    log.kept[SINK][size] = _bent(random, log.kept[SINK][size], log.signer)
    return _of_checkpoint(log, size)


def _bent(random: Random, note: str, signer: Signer) -> str:
    """Return the note with another letter in the signature by this key."""
    start = note.index(f"— {signer.name} ") + len(signer.name) + 3 + random.randrange(8, 80)
    return note[:start] + ("A" if note[start] != "A" else "B") + note[start + 1 :]


def checkpoint_edited(random: Random, log: Log) -> Harm:
    """An event was changed, and a checkpoint's root to fit, under the old signature."""
    index = _forge(random, log)
    size = log.after(index)
    log.checkpoints[size] = _resigned(log, size)
    return Harm.signed(log, index)


def _resigned(log: Log, size: int) -> str:
    """Return the checkpoint that fits the events, with the signature of the honest one."""
    fitting = sign(log, [size], log.signer)[size].partition("\n\n")[0]
    return fitting + "\n\n" + log.checkpoints[size].partition("\n\n")[2]


def checkpoint_size_edited(random: Random, log: Log) -> Harm:
    """A checkpoint's note says another size than its line."""
    size = _size(random, log)
    log.checkpoints[size + 1] = log.checkpoints.pop(size)
    return _of_checkpoint(log, size)


def checkpoint_garbled(random: Random, log: Log) -> Harm:
    """A checkpoint cannot be read."""
    size = _size(random, log)
    log.checkpoints[size] = log.checkpoints[size].replace("\n\n", "\n")
    _forget(log, size)
    return _of_checkpoint(log, size)


def rewritten_with_other_key(random: Random, log: Log) -> Harm:
    """An event was changed and everything computed and signed anew, with a key of one's own."""
    index = _forge(random, log)
    log.checkpoints |= sign(log, (size for size in log.sizes if size > index), Signer.drawn(ORIGIN, random))
    return Harm.signed(log, index)


def replaced_with_other_log(random: Random, log: Log) -> Harm:
    """Manifest, checkpoints and events are those of somebody else's log."""
    _forge(random, log)
    other = Signer.drawn(ORIGIN, random)
    log.checkpoints = sign(log, log.sizes, other)
    log.manifest["keys"] = [other.vkey]
    return Harm.at(0)


def stolen_key(random: Random, log: Log) -> Harm:
    """Whoever stole the key rewrote what witnesses have seen, and signed it."""
    index = _forge(random, log)
    log.checkpoints = sign(log, log.sizes, log.signer)
    return Harm.signed(log, index)


def stolen_key_after_witnesses(random: Random, log: Log) -> Harm:
    """Whoever stole the key rewrote what came after the last checkpoint that witnesses have seen."""
    last = _size(random, log, last=False)
    index = random.randrange(last, len(log.events))
    log.events[index]["facts"] = {"forged": random.randint(0, 9)}
    rehash(log.events, index)
    log.checkpoints = sign(log, log.sizes, log.signer)
    log.kept = {name: {size: note for size, note in kept.items() if size <= last} for name, kept in log.kept.items()}
    log.quorum = random.choice((1, 2))
    return Harm(index, last)


def fork(random: Random, log: Log) -> Harm:
    """Two witnesses were shown two histories; the export has the first."""
    shown = log.copy()
    index = _forge(random, shown)
    sizes = [size for size in log.sizes if size > index]
    log.kept[SECOND] |= sign(shown, sizes, log.signer, [log.witnesses[SECOND]])
    return Harm.signed(log, index)


def fork_at_other_sizes(random: Random, log: Log) -> Harm:
    """Two witnesses were shown two histories, at different sizes."""
    shown = log.copy()
    index = _forge(random, shown)
    size = random.randrange(index + 1, len(log.events) + 1)
    shown.made_at = {**log.made_at, size: log.made_at[log.after(index)]}
    seen = {size: note for size, note in log.kept[SECOND].items() if size <= index}
    log.kept[SECOND] = seen | sign(shown, [size], log.signer, [log.witnesses[SECOND]])
    return Harm.signed(log, index)


def cosignature_forged(random: Random, log: Log) -> Harm:
    """A witness's signature has other bits."""
    size, name = _size(random, log), random.choice((FIRST, SECOND))
    log.kept[name][size] = _bent(random, log.kept[name][size], log.witnesses[name])
    return _of_checkpoint(log, size)


def cosignatures_missing(random: Random, log: Log) -> Harm:
    """From some size on one of the witnesses signed nothing, and all of them are asked for."""
    size = _size(random, log)
    for later in log.sizes:
        if later >= size:
            del log.kept[FIRST][later]
    if not log.kept[FIRST]:
        del log.kept[FIRST]
    log.quorum = 2
    return _of_checkpoint(log, size)


def signed_chain_wrong(random: Random, log: Log) -> Harm:
    """A checkpoint has the right root and another chain."""
    size = _size(random, log)
    chain = log.events[size - 1]["chain"]
    log.events[size - 1]["chain"] = random.randbytes(32).hex()
    note = sign(log, [size], log.signer)[size]
    log.events[size - 1]["chain"] = chain
    log.checkpoints[size] = note
    _forget(log, size)
    return _of_checkpoint(log, size)


def signed_root_wrong(random: Random, log: Log) -> Harm:
    """A checkpoint has the right chain and another root."""
    size = _size(random, log)
    leaf = log.events[0]["leaf"]
    log.events[0]["leaf"] = random.randbytes(32).hex()
    log.checkpoints |= sign(log, [size], log.signer)
    log.events[0]["leaf"] = leaf
    _forget(log, size)
    return _of_checkpoint(log, size)


def checkpoint_of_other_key(random: Random, log: Log) -> Harm:
    """A checkpoint says what is true, and somebody else signed it."""
    size = _size(random, log)
    log.checkpoints |= sign(log, [size], Signer.drawn(ORIGIN, random))
    _forget(log, size)
    return _of_checkpoint(log, size)


def second_signature_forged(random: Random, log: Log) -> Harm:
    """Below a good signature by the same key stands a bad one."""
    size = _size(random, log)
    log.checkpoints[size] += _bent(random, log.checkpoints[size], log.signer).partition("\n\n")[2]
    return _of_checkpoint(log, size)


def _forget(log: Log, size: int) -> None:
    """Have nobody else keep the checkpoint of this size, and need no witness."""
    for kept in log.kept.values():
        kept.pop(size)
    log.quorum = 0


def manifest_size(random: Random, log: Log) -> Harm:
    """The manifest speaks of another number of events."""
    stated = log.manifest["size"] = random.choice([n for n in range(2 * len(log.events)) if n != len(log.events)])
    return Harm.at(min(stated, len(log.events)))


def manifest_origin(random: Random, log: Log) -> Harm:
    """The manifest names another log."""
    log.manifest["origin"] = f"other-{random.randint(0, 9)}.example"
    return Harm.at(0)


def manifest_keys(random: Random, log: Log) -> Harm:
    """The manifest names a key that the auditor does not have."""
    log.manifest["keys"] = [Signer.drawn(ORIGIN, random).vkey]
    return Harm.at(0)


def position_twice_before_signing(random: Random, log: Log) -> Harm:
    """Two events of one place in a stream were signed."""
    index = random.randrange(1, len(log.events))
    log.events[index] = {**log.events[random.randrange(index)], "facts": {"forged": True}}
    return _signed_anew(random, log, index)


def tenant_changed_before_signing(random: Random, log: Log) -> Harm:
    """An event of somebody else's stream was signed for another tenant."""
    seen: set[str] = set()
    later = []
    for index, event in enumerate(log.events):
        if event["stream"] in seen:
            later.append(index)
        seen.add(event["stream"])
    index = random.choice(later)
    event = log.events[index]
    event["tenant"] = random.choice([each["tenant"] for each in log.events if each["tenant"] != event["tenant"]])
    return _signed_anew(random, log, index)


def left_out_before_signing(random: Random, log: Log) -> Harm:
    """An event was deleted before it was signed, and its stream went on; the log is hours longer."""
    places: dict[str, list[int]] = {}
    for index, event in enumerate(log.events[: len(log.events) // 2]):
        places.setdefault(event["stream"], []).append(index)
    last = {stream: max(log.events[index]["position"] for index in found) for stream, found in places.items()}
    inner = [index for found in places.values() for index in found if len(found) > 2]
    gone = random.choice([at for at in inner if log.events[at]["position"] < last[log.events[at]["stream"]]])
    stream, position = log.events[gone]["stream"], log.events[gone]["position"]
    for each in log.events[len(log.events) // 2 :]:
        each["at"] = each["at"].replace("2026-", "2027-")
    del log.events[gone]
    ahead = [
        index for index, event in enumerate(log.events) if event["stream"] == stream and event["position"] > position
    ]
    return _signed_anew(random, log, ahead[0])


def _signed_anew(random: Random, log: Log, index: int) -> Harm:
    """Everybody signs what was tampered with before: no checkpoint contradicts it."""
    log.payloads.clear()
    rehash(log.events, 0)
    log.checkpoints, log.kept = {}, {}
    seal(log, random)
    log.until = None
    return Harm.at(index)
