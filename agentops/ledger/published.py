"""The public keys of this installation's log, as they are given to auditors."""

from django.conf import settings

from agentops.ledger.notes import SigningKey


def published_keys() -> list[str]:
    """Return the keys that verify present checkpoints (C2SP verifier keys), none without a signing key.

    Raises BadNote for a signing key that cannot be read.
    """
    lines = str(getattr(settings, "LEDGER_KEY", "")).splitlines()
    return [SigningKey.from_skey(line).public.vkey() for line in lines if line.strip()]
