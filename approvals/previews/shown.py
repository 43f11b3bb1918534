"""What the templates of previews receive: frozen dataclasses, one for each type of part (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentops.console.marks import Text
from approvals.previews.diff import Diff


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldsShown:
    """Fields of a record: label, now, afterwards; and the labels of those that stay."""

    changes: Sequence[tuple[Text, Text, Text]]
    unchanged: Sequence[Text] = ()
    caption: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountShown:
    """An amount in words and in minor units, and the sums it changes: label, now, afterwards, both in minor units."""

    amount: str
    minor: str
    currency: str
    sums: Sequence[tuple[Text, str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MailShown:
    """A mail: its heads, what a reader of it would see, and its sources. ``notes`` say what a reader would not see."""

    heads: Sequence[tuple[str, Text]]
    read: Text
    source: Text
    text: Text = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextShown:
    """A text before and after, or the text of a file."""

    diff: Diff
    facts: Sequence[tuple[str, Text]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandShown:
    """A command: where it runs, and each argument by itself, or the one line."""

    place: Text
    arguments: Sequence[Text] = ()
    line: Text = ()
    word: str = ""
    body: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlShown:
    """A statement: operation, table and rows of its plan, the tables it touches, its parameters."""

    statement: Text
    tables: Sequence[Text]
    plan: Sequence[tuple[Text, Text, str]]
    parameters: Sequence[tuple[Text, Text]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueShown:
    """A value that cannot be shown: its facts."""

    facts: Sequence[tuple[str, Text]]


Body = FieldsShown | AmountShown | MailShown | TextShown | CommandShown | SqlShown | OpaqueShown


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One part of a preview on the page.

    ``name`` is what the form sends once it was opened ("part-1"). ``long``: it is folded, and must be opened before
    approving. ``uninspectable`` says why nobody can see all of it, which makes the request irreversible.
    """

    name: str
    kind: str
    title: Text
    size: str
    body: Body
    long: bool = False
    uninspectable: str = ""

    @property
    def template(self) -> str:
        """The template of its type."""
        return f"approvals/previews/{self.kind}.html"
