"""Which call takes a write on the platform back. Pure: tools offer it, and guards let it through.

The call names the version that the write left behind, so that it is refused when somebody has changed the target since.
"""

from collections.abc import Mapping

from agentops.registry.tool import Arguments, Result, UndoCall
from sre_agent.connectors.book_rules import OPPOSITES

TAKEN_BACK = "Takes back what was done before."
_HOW = frozenset({"seen_version", "reason"})


def undo_restart(arguments: Arguments, result: Result) -> UndoCall | None:
    """Leave what the restart has not reached as it is."""
    return _on_service("halt_restart", result)


def undo_scale(arguments: Arguments, result: Result) -> UndoCall | None:
    """Run as many replicas as before; a service that ran none is stopped by people."""
    before = result.get("replicas_before")
    return _on_service("scale_service", result, replicas=before) if before else None


def undo_roll_back(arguments: Arguments, result: Result) -> UndoCall | None:
    """Deploy the release that ran before."""
    before = result.get("release_before")
    return _on_service("roll_back", result, release=before) if before else None


def undo_runbook(arguments: Arguments, result: Result) -> UndoCall | None:
    """Run the opposite procedure."""
    known = OPPOSITES.get(arguments["runbook"])
    return _on_service("run_runbook", result, runbook=known) if known else None


def undo_drain(arguments: Arguments, result: Result) -> UndoCall | None:
    """Use the node again."""
    return _on("node", "uncordon_node", result)


def undo_uncordon(arguments: Arguments, result: Result) -> UndoCall | None:
    """Empty the node again."""
    return _on("node", "drain_node", result)


_UNDO = {
    "restart_service": undo_restart,
    "scale_service": undo_scale,
    "roll_back": undo_roll_back,
    "run_runbook": undo_runbook,
    "drain_node": undo_drain,
    "uncordon_node": undo_uncordon,
}


def takes_back(tool: str, arguments: Arguments, *, of: str, made: Arguments, result: Result) -> bool:
    """Return whether a call takes back the call ``of`` with the arguments ``made``, whatever version and reason say."""
    undo = _UNDO.get(of)
    call = undo(made, result) if undo is not None else None
    return call is not None and call[0] == tool and _what(call[1]) == _what(arguments)


def _what(arguments: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if name not in _HOW}


def _on_service(tool: str, result: Result, **more: object) -> UndoCall | None:
    return _on("service", tool, result, **more)


def _on(kind: str, tool: str, result: Result, **more: object) -> UndoCall | None:
    """Return the call on what ``result`` names, None for a result that does not say what it left behind."""
    if not result.get(kind) or "version" not in result:
        return None
    return tool, {kind: result[kind], "seen_version": result["version"], **more, "reason": TAKEN_BACK}
