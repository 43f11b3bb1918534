"""Where mail to an address arrives, as SQL. Two addresses with one mailbox are one person."""


def mailbox(alias: str) -> str:
    """Return SQL for where a person's mail arrives, NULL for none. Two accounts with one mailbox are one person."""
    return mailbox_at(f"{alias}.email")


def mailbox_at(address: str) -> str:
    """Return SQL for where mail to an address, itself SQL, arrives: letter case and what follows a plus are left out.

    The index ``person_mailbox`` has this expression.
    """
    written = f"normalize(btrim({address}), NFKC)"
    return f"nullif(lower(regexp_replace({written}, '\\+[^@]*@', '@')), '')"
