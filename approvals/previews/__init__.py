"""How the dry run of a call is laid out for the person who decides (pure).

`shown_parts` makes the parts of a preview ready for the templates, `must_open` names those that are folded and have to
be opened before approving, and `uninspectable` says whether anything in the call cannot be shown at all.
"""

from collections.abc import Mapping
from typing import Any

from approvals.previews.parts import (
    is_long,
    must_open,
    short_changes,
    shown_parts,
    statements,
    uninspectable_parts,
)
from approvals.previews.unshowable import digest_of, unshowable_in

__all__ = [
    "digest_of",
    "is_long",
    "must_open",
    "short_changes",
    "shown_parts",
    "statements",
    "uninspectable",
    "unshowable_in",
]


def uninspectable(preview: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Return whether a part of the preview or an argument cannot be shown, which makes a request irreversible."""
    return bool(uninspectable_parts(preview)) or any(unshowable_in(dict(arguments)))
