"""The keys that sign checkpoints, and the name of the log. They come from the settings, never from the database."""

from django.conf import settings

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.notes import ED25519, BadNote, PublicKey, SigningKey

MOST_KEYS = 4


class BadLogKey(AgentOpsError):
    """LEDGER_KEY holds no key of a log, or one with another name than the log's."""

    code = "BAD_LOG_KEY"
    next_step = "Make one with manage.py ledger keygen, and set LEDGER_KEY or LEDGER_KEY_FILE."


def log_keys() -> tuple[SigningKey, ...]:
    """Return the keys of LEDGER_KEY, one a line, all of which sign; none when it is not set. Raises BadLogKey."""
    lines = [line for line in settings.LEDGER_KEY.splitlines() if line.strip()]
    if len(lines) > MOST_KEYS:
        raise BadLogKey(f"LEDGER_KEY has more than {MOST_KEYS} keys.")
    try:
        keys = tuple(SigningKey.from_skey(line) for line in lines)
    except BadNote as error:
        raise BadLogKey(f"LEDGER_KEY cannot be used: {error.message}.") from None
    for key in keys:
        if key.kind != ED25519:
            raise BadLogKey("LEDGER_KEY holds the key of a witness.")
        if key.name != (settings.LEDGER_ORIGIN or keys[0].name):
            raise BadLogKey(f"A key of LEDGER_KEY has the name {key.name}, which is not that of the log.")
    return keys


def origin() -> str:
    """Return what the log is called: LEDGER_ORIGIN, otherwise the name of its key; empty without either."""
    keys = log_keys()
    return keys[0].name if keys else str(settings.LEDGER_ORIGIN)


def public_keys() -> tuple[PublicKey, ...]:
    """Return what verifies the checkpoints that are made now. Raises BadLogKey."""
    return tuple(key.public for key in log_keys())
