"""The blast radius of every tool, from what roles declare: the worst call and the control that stops it (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentops.registry.role import GrantDefault, RoleSpec
from agentops.registry.tool import DataClass, Dial, Tier, ToolSpec

MARKER = "<!-- From here on written by: manage.py blast_radius --write -->\n"
"""Stands in the document between what people write and what is generated."""

TIERS = {Tier.READ: "reads", Tier.WRITE_SOFT: "soft write", Tier.WRITE_HARD: "hard write"}
DIALS = {
    Dial.OBSERVE: "may only read",
    Dial.SUGGEST: "proposes, nothing runs",
    Dial.ASK: "asks",
    Dial.BOUNDED: "runs within limits",
    Dial.AUTONOMOUS: "runs",
}


@dataclass(frozen=True)
class BlastRow:
    """One tool of one role. ``dial`` is None when a fresh agent is not granted it; ``limits`` are sentences.

    ``always_asks``: a person is asked whatever the dial says, because it cannot be undone or destroys something.
    """

    role: str
    role_title: str
    tool: str
    tier: Tier
    always_asks: bool
    reversibility: str
    data_class: DataClass
    money_family: str
    dial: Dial | None
    limits: tuple[str, ...]
    worst: str
    stopped_by: str

    @property
    def default(self) -> str:
        """What a fresh agent does with it, in words."""
        return self.does(self.dial, limited=bool(self.limits))

    def does(self, dial: Dial | None, *, limited: bool) -> str:
        """Return what an agent does with the tool at a dial, in words. ``limited``: it has limits there."""
        if dial is None:
            return "not granted"
        if self.tier is Tier.READ:
            return DIALS[Dial.AUTONOMOUS]
        unbounded = dial is Dial.BOUNDED and self.tier is Tier.WRITE_HARD and not limited
        if dial in (Dial.BOUNDED, Dial.AUTONOMOUS) and (self.always_asks or unbounded):
            return DIALS[Dial.ASK]
        return DIALS[dial]


def rows_of(roles: Iterable[RoleSpec]) -> list[BlastRow]:
    """Return a row for every tool of every role, in the order of their declaration."""
    return [_row(role, tool) for role in roles for tool in role.tools]


def _row(role: RoleSpec, tool: ToolSpec) -> BlastRow:
    grant = next((grant for grant in role.grants if grant.tool == tool.name), None)
    return BlastRow(
        role=role.name,
        role_title=role.title,
        tool=tool.name,
        tier=tool.tier,
        always_asks=tool.is_write and (tool.irreversible or tool.destructive),
        reversibility=tool.reversibility,
        data_class=tool.data_class,
        money_family=tool.money_family,
        dial=None if grant is None else grant.dial,
        limits=_limits(grant),
        worst=tool.worst,
        stopped_by=tool.stopped_by,
    )


def _limits(grant: GrantDefault | None) -> tuple[str, ...]:
    return () if grant is None else tuple(threshold.words for threshold in grant.thresholds)


def document(head: str, rows: Sequence[BlastRow]) -> str:
    """Return the whole document: the ``head`` that people write, the marker, and a section with a table for each role.

    ``head`` may be the document as it was: what stands after the marker is replaced.
    """
    written = head.partition(MARKER)[0].rstrip("\n")
    titles = dict.fromkeys((row.role, row.role_title) for row in rows)
    sections = [_section(title, [row for row in rows if row.role == role]) for role, title in titles]
    return f"{written}\n\n{MARKER}\n" + "\n".join(sections)


_HEADINGS = ("tool", "kind", "data", "fresh agent", "taken back", "worst call", "what stops it")


def _section(title: str, rows: Sequence[BlastRow]) -> str:
    lines = [_line(_HEADINGS), "|---" * len(_HEADINGS) + "|", *(_line(_cells(row)) for row in rows)]
    return f"## {title}\n\n" + "\n".join(lines) + "\n"


def _cells(row: BlastRow) -> tuple[str, ...]:
    data = row.data_class.value + (f", money: {row.money_family}" if row.money_family else "")
    default = f"{row.default}: {' '.join(row.limits)}" if row.limits else row.default
    return (f"`{row.tool}`", TIERS[row.tier], data, default, row.reversibility, row.worst, row.stopped_by)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
