"""Text from outside, made fit for a record: bounded, one line, and nothing in it that is not seen. Pure."""

import unicodedata

CUT = "…"
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def visible(text: str, most: int) -> str:
    r"""Return at most ``most`` characters in which what is not seen, such as an escape, is named.

    A tab is a space; the end of a line is ``\n``, so that one line stays one.
    """
    shown = "".join(map(_shown, text[: most + 1]))
    return shown if len(shown) <= most else shown[: most - len(CUT)] + CUT


def _shown(character: str) -> str:
    if character == "\t":
        return " "
    if unicodedata.category(character) not in _UNSEEN:
        return character
    if character == "\n":
        return "\\n"
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
