"""The contracts on file, ``contracts/<role>.json``: for each tool its version, arguments that must stay valid, and a
digest of everything that a caller relies on.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import django

from agentops.kernel.canonical import digest
from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles
from agentops.registry.tool import ToolSpec

FOLDER = Path(__file__).with_name("contracts")


def stored(role: str) -> dict[str, Any]:
    """Return the entries of a role by the tool's name."""
    entries: dict[str, Any] = json.loads((FOLDER / f"{role}.json").read_text(encoding="utf-8"))
    return entries


def entry_of(tool: ToolSpec) -> dict[str, Any]:
    """Return the entry that a tool has now. Descriptions are not part of it: they may be worded better."""
    relied_on = {
        "input": _without_words(tool.input_schema),
        "output": _without_words(tool.output_schema),
        "tier": tool.tier.value,
        "scoped": dict(tool.scoped),
        "identity": list(tool.identity),
        "versioned": tool.versioned,
        "money_family": tool.money_family,
        "auth_scope": tool.auth_scope,
        "data_class": tool.data_class.value,
        "outcome": tool.outcome,
        "can_be_undone": not tool.irreversible,
    }
    return {
        "version": tool.version,
        "arguments": [dict(example) for example in tool.examples],
        "relied_on": digest(relied_on).hex(),
    }


def _without_words(schema: Any) -> Any:
    if isinstance(schema, dict):
        named = "properties" in schema
        kept = {name: part for name, part in schema.items() if name != "description"}
        if named:
            kept["properties"] = {name: _without_words(part) for name, part in schema["properties"].items()}
        return {name: part if name == "properties" else _without_words(part) for name, part in kept.items()}
    return [_without_words(part) for part in schema] if isinstance(schema, list | tuple) else schema


def write_changed(roles: Iterable[RoleSpec]) -> list[str]:
    """Write the entries of tools that are new or have a new version; return the tools that changed without one."""
    unversioned = []
    FOLDER.mkdir(exist_ok=True)
    for role in roles:
        path = FOLDER / f"{role.name}.json"
        before = stored(role.name) if path.exists() else {}
        entries = {}
        for tool in role.tools:
            old, new = before.get(tool.name), entry_of(tool)
            if old is None or old["version"] != new["version"]:
                entries[tool.name] = new
                continue
            entries[tool.name] = old
            if old["relied_on"] != new["relied_on"]:
                unversioned.append(tool.name)
        path.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    return unversioned


if __name__ == "__main__":
    django.setup()
    changed = write_changed(all_roles())
    if changed:
        sys.exit(f"Changed without a new version: {', '.join(changed)}.")
