"""Text from outside as a person may read it: bounded, on one line, and marked as what it is (pure)."""

from agentops.registry.offline.ending import cut

MOST_QUOTED = 120


def quoted(text: str) -> str:
    """Return words that anybody may have written, in marks that they cannot close."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    inner = " ".join(printable.replace("“", "'").replace("”", "'").split())
    return f"text from outside: “{cut(inner, MOST_QUOTED)}”"
