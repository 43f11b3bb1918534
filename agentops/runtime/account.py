"""What a session's stream adds up to, and how that compares with the projection rows (pure)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentops.runtime.states import ENDED, UNFINISHED, IllegalTransition, InvocationState, SessionStatus, Wish


@dataclass
class Call:
    """One proposed write: its state, the key it holds ("" for none), and the newest request for it.

    ``asked``: a person asked the agent about it, which has not answered yet.
    """

    state: InvocationState
    key: str = ""
    request: str = ""
    decision: str = ""
    asked: bool = False


@dataclass
class Process:
    """Where the session stands in one process. ``failed``: what it did is being taken back."""

    state: str
    failed: bool = False


@dataclass
class Account:
    """What a stream adds up to.

    ``paused_for`` is the incident code that the session is paused for, "" for none. ``calls`` by invocation id,
    ``processes`` by name; tokens and cost as recorded.
    """

    status: SessionStatus | None = None
    stop_code: str = ""
    paused_for: str = ""
    wanted: Wish = Wish.NONE
    taken_by: str = ""
    question: str = ""
    position: int = 0
    fence: int = 0
    gates: int = 0
    tokens: int = 0
    cost_micro: int = 0
    reopened: bool = False
    calls: dict[str, Call] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def unfinished(self) -> list[str]:
        """Ids of the calls that are under way or wait for a decision; never more than one."""
        return [id_ for id_, call in self.calls.items() if call.state in UNFINISHED]


@dataclass(frozen=True)
class MachineEvent:
    """What the machine looks at of a ledger event."""

    type: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    refs: Mapping[str, str] = field(default_factory=dict)
    actor: str = ""


Check = Callable[[Account, MachineEvent], None]


def require(holds: bool, event: MachineEvent, words: str) -> None:
    """Raise IllegalTransition unless it holds; ``words`` say what is wrong with the event."""
    if not holds:
        raise IllegalTransition(f"{event.type} {words}")


def undisturbed(account: Account, event: MachineEvent) -> None:
    """Nothing new is begun once somebody wants something of the session."""
    require(account.wanted is Wish.NONE, event, f"comes although somebody wants to {account.wanted}")


def differences(account: Account, row_fields: Mapping[str, Any]) -> list[str]:
    """Return in which fields the projection rows say something else than the ledger, as sentences.

    ``row_fields`` has any of: ``status``, ``stop_code``, ``wanted``, ``taken_by``, ``position``, ``fence``,
    ``gates``; ``tokens`` and ``cost_micro``, which may be more than the events tell, since what a lost or
    interrupted worker used counts too; ``question`` (the open one's id, or ""); ``calls`` (state by id); ``processes``
    (state and whether it failed, by name).
    """
    told: dict[str, Any] = {
        "status": account.status,
        "stop_code": account.stop_code if account.status in ENDED else account.paused_for,
        "wanted": account.wanted,
        "taken_by": account.taken_by,
        "question": account.question,
        "position": account.position,
        "fence": account.fence,
        "gates": account.gates,
        "calls": {id_: call.state.value for id_, call in account.calls.items()},
        "processes": {name: (process.state, process.failed) for name, process in account.processes.items()},
    }
    found = [
        f"{name}: the row says {row_fields[name]}, the ledger {value}"
        for name, value in told.items()
        if name in row_fields and row_fields[name] != value
    ]
    found += [
        f"{name}: the row says {row_fields[name]}, the ledger at least {least}"
        for name, least in (("tokens", account.tokens), ("cost_micro", account.cost_micro))
        if name in row_fields and row_fields[name] < least
    ]
    return found
