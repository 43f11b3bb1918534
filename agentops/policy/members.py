"""The members of the house's own sets, and by which of its values a person may call one (pure).

A record is one object of a result. Its reference says which member it is, its short texts are names of it: a file with
the id 11 is also "the grocery list" when its name is ``grocery-list.txt``. A name that more than one member has is a
name of none.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from agentops.policy.leaves import declared
from agentops.policy.records import Key, key_of
from agentops.registry.flow import UNDECLARED_FIELD, Field, Flow, Kind, Trust

MOST_MEMBERS = 20_000
"""Values that are looked at. Members that come after them have no names."""

_SHORTEST = 4
_LONGEST = 60
_OURS = frozenset({Trust.OWN, Trust.HOUSE})
_ENDING = re.compile(r"\.\w{1,5}$")
_JOINTS = re.compile(r"[-_]+")


class Members:
    """The members that were read. They are sorted when one is first asked about."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Flow, Any]] = []
        self._written: list[tuple[Any, str, list[str]]] = []
        self._names: defaultdict[str, defaultdict[str, set[Key]]] = defaultdict(lambda: defaultdict(set))
        self._looked = 0

    def add(self, flow: Flow, result: Any) -> None:
        """Note a result, whose leaves are what ``flow`` declares."""
        self._waiting.append((flow, result))

    def called(self, of: str, said: Callable[[str], bool]) -> frozenset[Key]:
        """Return the members of ``of`` that one of their names was ``said`` of."""
        self._sort()
        if of not in self._names:
            return frozenset()
        found = self._names[of].items()
        return frozenset(key for name, keys in found if len(keys) == 1 and said(name) for key in keys)

    def wrote(self, said: Callable[[Any, str], bool]) -> Iterator[str]:
        """Yield the texts by authors of whom ``said(author, set)`` is true."""
        self._sort()
        for author, of, texts in self._written:
            if said(author, of):
                yield from texts

    def _sort(self) -> None:
        for flow, result in self._waiting:
            for row in _rows("", result):
                fields = [(path, declared(path, flow.results, UNDECLARED_FIELD), value) for path, value in row]
                self._row([(field, value) for _, field, value in fields])
                author = next(((field, value) for path, field, value in fields if path == flow.author), None)
                if author is not None:
                    self._written.append(
                        (author[1], author[0].of, [value for _, value in row if isinstance(value, str)])
                    )
        self._waiting.clear()

    def _row(self, row: list[tuple[Field, Any]]) -> None:
        self._looked += len(row)
        references: defaultdict[str, set[Key]] = defaultdict(set)
        for field, value in row:
            key = key_of(value, Kind.REF) if field.kind is Kind.REF and field.trust in _OURS else None
            if key is not None:
                references[field.of].add(key)
        if not references or self._looked > MOST_MEMBERS:
            return
        names = {name for field, value in row if field.kind is Kind.TEXT for name in _names_of(value)}
        for of, keys in references.items():
            # Of two references to one set nobody knows which of them is called by the name.
            if len(keys) == 1:
                for name in names:
                    self._names[of][name] |= keys


def _rows(path: str, value: Any) -> Iterator[list[tuple[str, Any]]]:
    """Yield the values that stand in one object each; a value in a list of values stands alone."""
    if isinstance(value, dict):
        inner = [(f"{path}.{key}" if path else str(key), child) for key, child in value.items()]
        yield [(name, child) for name, child in inner if not isinstance(child, dict | list) and child is not None]
        for name, child in inner:
            yield from _rows(name, child) if isinstance(child, dict | list) else ()
    elif isinstance(value, list):
        for child in value:
            yield from _rows(f"{path}[]", child)
    elif value is not None:
        yield [(path, value)]


def _names_of(value: Any) -> Iterator[str]:
    """Yield the text, and how people call a file: without the ending of its name and with spaces."""
    if isinstance(value, str) and len(value) <= _LONGEST and any(map(str.isalpha, value)):
        for name in {value.strip(), _JOINTS.sub(" ", _ENDING.sub("", value.strip()))}:
            if len(name) >= _SHORTEST:
                yield name
