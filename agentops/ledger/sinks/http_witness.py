"""A witness over HTTP, by the protocol of C2SP's tlog-witness."""

from agentops.ledger.log import consistency
from agentops.ledger.notes import BadNote, ForgedNote, PublicKey, Signature, parse_note, parse_signatures, verify_note
from agentops.ledger.sinks.port import SECONDS, Contradicted, Delivered, SinkFailed, Witnessed
from agentops.ledger.witness import SIZE_TYPE, format_request
from agentops.net.http import NotReached, Reply, post

_MOST_BYTES = 10_000
_MOST_DIGITS = 18
_SIGNED, _CONFLICT, _INCONSISTENT = 200, 409, 422


class HttpWitness:
    """Asks for the cosignature of ``key`` at ``url``, which ends in a slash."""

    latest_only = True

    def __init__(self, name: str, url: str, key: PublicKey) -> None:
        """Connect to nothing yet."""
        self.name, self._url, self.key = name, url, key

    def deliver(self, checkpoint: Delivered, *, last: int) -> Witnessed:
        """Return the witness's cosignature, verified. Raises SinkFailed, and Contradicted when it saw another log."""
        reply = self._ask(checkpoint, last)
        if reply.status == _CONFLICT:
            seen = _size_of(reply)
            if seen is None or seen == last:
                raise Contradicted(f"{self.name} signed another log of {checkpoint.size} entries")
            if seen > checkpoint.size:
                raise Contradicted(f"{self.name} signed a log of {seen} entries, and this one has {checkpoint.size}")
            reply = self._ask(checkpoint, seen)
        if reply.status in (_CONFLICT, _INCONSISTENT):
            raise Contradicted(f"{self.name} signed a log that this one does not go on from")
        if reply.status != _SIGNED:
            raise SinkFailed(f"{self.name} answered {reply.status}")
        return Witnessed((self._cosignature(checkpoint, reply),))

    def _ask(self, checkpoint: Delivered, old: int) -> Reply:
        body = format_request(old, consistency(old, checkpoint.size), checkpoint.note)
        try:
            return post(f"{self._url}add-checkpoint", body, headers={}, seconds=SECONDS, most_bytes=_MOST_BYTES)
        except NotReached as error:
            raise SinkFailed(f"{self.name} {error.message}") from None

    def _cosignature(self, checkpoint: Delivered, reply: Reply) -> Signature:
        try:
            lines = parse_signatures(reply.body.decode().removesuffix("\n"))
            verify_note(parse_note(checkpoint.note).with_signatures(lines), [self.key])
        except (UnicodeDecodeError, BadNote, ForgedNote):
            raise SinkFailed(f"{self.name} answered with what is not its signature") from None
        return next(one for one in lines if (one.name, one.key_id) == (self.key.name, self.key.key_id))


def _size_of(reply: Reply) -> int | None:
    """Return the size that the witness signed last, None when it does not say."""
    text = reply.body.removesuffix(b"\n")
    if reply.headers.get("content-type") != SIZE_TYPE or not text.isdigit() or len(text) > _MOST_DIGITS:
        return None
    return int(text)
