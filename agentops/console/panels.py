"""What the parts of the session page receive with which people step in: prepared values and the forms they fill in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django import forms

from agentops.console.chart import Chart
from agentops.console.marks import Kind, Option, Text
from agentops.console.phases import PhaseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Something the reader may do with the session now. One without fields is a button, the others unfold.

    ``words`` say what it does, ``failed`` that it was just tried, ``danger`` that it cannot be taken back.
    """

    name: str
    url: str
    label: str
    button: str
    words: str
    form: forms.Form
    icon: str = ""
    failed: bool = False
    danger: bool = False

    @property
    def opens(self) -> bool:
        """Whether there is anything to fill in."""
        return bool(self.form.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """A tool that the person may use for the next step, with the fields of its arguments once it is chosen."""

    options: Sequence[Option]
    name: str = ""
    description: str = ""
    effect: str = ""
    form: forms.Form | None = None
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPanel:
    """What the agent asked and waits to be told. ``form`` is None for whoever may only read."""

    url: str
    who: str
    body: Text
    asked: datetime
    until: datetime
    form: forms.Form | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """What is used of one limit; ``share`` in thousandths of it. ``warned`` are (percent, position) of its warnings."""

    label: str
    used: str
    limit: str
    share: int
    kind: Kind
    warned: Sequence[tuple[int, int]] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """Where the session stands in one process of its role. ``chart`` is None when its drawing is not known any more."""

    name: str
    state: str
    failed: bool
    chart: Chart | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElevationRow:
    """A scope that the session may use for now. ``revoke_url`` is empty for whoever may not take it back."""

    scope: str
    by: str
    reason: Text
    until: datetime
    revoke_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Everything on the page of a session with which people step in, as far as the reader may.

    ``turned_down`` says why what was just tried was not done; ``may_prove`` offers evidence of each write.
    """

    turned_down: Sequence[str]
    controls: Sequence[Control]
    step: ToolChoice | None
    finish: Control | None
    question: QuestionPanel | None
    budgets: Sequence[BudgetRow]
    phases: Sequence[PhaseRow]
    processes: Sequence[ProcessRow]
    scopes: Sequence[str]
    elevations: Sequence[ElevationRow]
    elevate: Control | None
    may_prove: bool = False
