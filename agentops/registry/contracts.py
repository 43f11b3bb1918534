"""The contracts on file: for each tool of a role its version, golden arguments, and all that a caller relies on.

They lie as data beside the role, in ``contracts.json`` of the package that its module belongs to. A change without a
new version is an error; what a new version breaks is told until its contract is written.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.kernel.errors import AgentOpsError
from agentops.registry.compat import Change, Side, changes, without_words
from agentops.registry.role import RoleSpec
from agentops.registry.schemas import violations
from agentops.registry.tool import ToolSpec

FILE = "contracts.json"
MAX_FILE_BYTES = 5_000_000

Entry = dict[str, Any]
Stored = dict[str, Entry]
_PARTS = {"version": int, "arguments": list, "input": dict, "output": dict, "relied_on": dict}


class BadContracts(AgentOpsError):
    """A file of contracts that is missing or not one."""

    code = "BAD_CONTRACTS"
    next_step = "Write it: manage.py contracts --write"


@dataclass(frozen=True)
class Finding:
    """Something that does not fit. ``is_error`` False: a version was raised, and its contract is to be written."""

    words: str
    is_error: bool


def read_contracts(path: Path) -> Stored:
    """Return the entries on file by the tool's name. Raises BadContracts."""
    try:
        stored = parse_json(path.read_bytes(), max_bytes=MAX_FILE_BYTES)
    except FileNotFoundError as error:
        raise BadContracts("there are no contracts on file") from error
    except (BadJSON, OSError) as error:
        raise BadContracts(f"the contracts on file cannot be read: {error}") from error
    if not isinstance(stored, dict) or not all(_is_entry(entry) for entry in stored.values()):
        raise BadContracts("the contracts on file lack something")
    return stored


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(name), kind) for name, kind in _PARTS.items())


def write_contracts(path: Path, entries: Stored) -> None:
    """Write the entries, so that a difference between two versions of the file can be read."""
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def entry_of(tool: ToolSpec) -> Entry:
    """Return the entry that a tool has now. Descriptions are not part of it: they may be worded better."""
    return {
        "version": tool.version,
        "arguments": [dict(example) for example in tool.examples],
        "input": without_words(tool.input_schema),
        "output": without_words(tool.output_schema),
        "relied_on": {
            "tier": tool.tier.value,
            "scoped": dict(tool.scoped),
            "identity": list(tool.identity),
            "versioned": tool.versioned,
            "money_family": tool.money_family,
            "auth_scope": tool.auth_scope,
            "data_class": tool.data_class.value,
            "outcome": tool.outcome,
            "can_be_undone": not tool.irreversible,
        },
    }


def renewed(role: RoleSpec, stored: Stored) -> Stored:
    """Return the entries to write: the former one of a tool whose version is the same, otherwise a new one."""
    entries = {}
    for tool in role.tools:
        old, new = stored.get(tool.name), entry_of(tool)
        entries[tool.name] = old if old is not None and old["version"] == new["version"] else new
    return entries


def findings(role: RoleSpec, stored: Stored) -> Iterator[Finding]:
    """Compare the tools of a role with the contracts on file."""
    for name in sorted(stored.keys() - {tool.name for tool in role.tools}):
        yield Finding(f"The contract of {name!r} is on file, and there is no such tool.", is_error=True)
    for tool in role.tools:
        entry = stored.get(tool.name)
        if entry is None:
            yield Finding(f"The tool {tool.name!r} has no contract on file.", is_error=True)
        else:
            yield from _findings_of(tool, entry)


def _findings_of(tool: ToolSpec, entry: Entry) -> Iterator[Finding]:
    now = entry_of(tool)
    if entry["version"] > tool.version:
        words = f"The contract of {tool.name!r} on file is of version {entry['version']}, later than {tool.version}."
        yield Finding(words, is_error=True)
    elif entry["version"] < tool.version:
        yield Finding(_raised(tool, entry, now), is_error=False)
    else:
        for what, found in _differences(entry, now).items():
            if found:
                told = "; ".join(change.words for change in found)
                words = f"{what.format(repr(tool.name))} changed and its version did not: {told}."
                yield Finding(words, is_error=True)
        yield from _golden(tool, entry)


def _raised(tool: ToolSpec, entry: Entry, now: Entry) -> str:
    breaking = [change.words for found in _differences(entry, now).values() for change in found if change.breaks]
    told = "breaks callers, who must change: " + "; ".join(breaking) if breaking else "breaks no caller"
    return f"Version {tool.version} of {tool.name!r} {told}. The contract on file is of version {entry['version']}."


def _golden(tool: ToolSpec, entry: Entry) -> Iterator[Finding]:
    if not entry["arguments"]:
        yield Finding(f"The contract of {tool.name!r} holds no golden arguments.", is_error=True)
    for arguments in entry["arguments"]:
        found = violations(tool.checks_input, arguments, most=1)
        if found:
            words = f"The tool {tool.name!r} does not take its golden arguments: {found[0].path}: {found[0].message}."
            yield Finding(words, is_error=True)


def _differences(was: Entry, now: Entry) -> Mapping[str, list[Change]]:
    """Return what changed, by the part of the tool in words with a place for its name."""
    before, after = was["relied_on"], now["relied_on"]
    relied_on = [
        Change(f"{name} was {json.dumps(before.get(name))} and is {json.dumps(after.get(name))}", breaks=True)
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
    return {
        "The arguments of {}": changes(was["input"], now["input"], Side.TAKES),
        "The result of {}": changes(was["output"], now["output"], Side.RETURNS),
        "What callers of {} rely on": relied_on,
    }
