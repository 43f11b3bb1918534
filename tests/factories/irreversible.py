"""The toy role with a payment that nobody can take back."""

from dataclasses import replace
from typing import Any

from agentops.registry.role import RoleSpec
from tests.factories.toy import Toy


class FinalToy(Toy):
    """A toy whose ``pay`` is irreversible."""

    def spec(self) -> RoleSpec:
        """Return the role."""
        spec = super().spec()
        final: dict[str, Any] = {"irreversible": True, "undo": None, "undo_call": None, "undo_within": None}
        tools = [replace(tool, **final) if tool.name == "pay" else tool for tool in spec.tools]
        return replace(spec, tools=tuple(tools))
