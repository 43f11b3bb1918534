"""The objects of a cluster, their versions, and a record of what changed them."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tests.factories.fake_kubernetes.errors import Obj, Refusal, changed, missing

BEGAN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
WITH_GENERATION = {"deployments", "replicasets"}
Key = tuple[str, str, str]


@dataclass
class Store:
    """Objects by plural, namespace (empty for what has none) and name. ``name`` makes its uids its own."""

    name: str = "east"
    now: datetime = BEGAN
    objects: dict[Key, Obj] = field(default_factory=dict)
    effects: list[Obj] = field(default_factory=list)
    count: int = 100

    def uid(self, *parts: str) -> str:
        """Return a uid that is the same each time."""
        return str(uuid5(NAMESPACE_URL, "/".join((self.name, *parts))))

    def stamp(self) -> str:
        """Return the time, as objects say it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def pass_time(self, seconds: int) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def add(self, plural: str, body: Obj) -> Obj:
        """Make an object. Raises Refusal 409 when there is one of that name."""
        obj = deepcopy(body)
        meta = obj.setdefault("metadata", {})
        key = (plural, meta.get("namespace", ""), meta["name"])
        if key in self.objects:
            raise Refusal(409, f'{plural} "{meta["name"]}" already exists', "AlreadyExists")
        self.count += 1
        meta.update(uid=self.uid(*key, str(self.count)), resourceVersion=str(self.count))
        meta.setdefault("creationTimestamp", self.stamp())
        if plural in WITH_GENERATION:
            meta["generation"] = 1
        self.objects[key] = obj
        return obj

    def get(self, plural: str, namespace: str, name: str) -> Obj:
        """Return an object. Raises Refusal 404."""
        found = self.objects.get((plural, namespace, name))
        if found is None:
            raise missing(plural, name)
        return found

    def all(self, plural: str, namespace: str | None = None) -> Iterator[Obj]:
        """Return the objects of a kind, by name, of one namespace or of all."""
        for kind, place, _ in sorted(self.objects):
            if kind == plural and namespace in (None, place):
                yield self.objects[kind, place, _]

    def put(self, plural: str, obj: Obj) -> Obj:
        """Replace an object with what it is now. Its generation moves when its spec did."""
        key = self.key(plural, obj)
        before = self.objects[key]
        if obj != before:
            self.count += 1
            obj["metadata"]["resourceVersion"] = str(self.count)
            if plural in WITH_GENERATION and obj.get("spec") != before.get("spec"):
                obj["metadata"]["generation"] = before["metadata"]["generation"] + 1
            self.objects[key] = obj
        return obj

    def touch(self, plural: str, namespace: str, name: str, **changes: Any) -> Obj:
        """Change top-level parts of an object from inside the cluster, as a controller does."""
        obj = deepcopy(self.get(plural, namespace, name))
        obj.update(changes)
        return self.put(plural, obj)

    def drop(self, plural: str, namespace: str, name: str) -> Obj:
        """Delete an object. Raises Refusal 404."""
        found = self.get(plural, namespace, name)
        del self.objects[plural, namespace, name]
        return found

    def key(self, plural: str, obj: Obj) -> Key:
        """Return under which key an object lies."""
        return plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

    def require_version(self, plural: str, obj: Obj, version: str | None) -> None:
        """Raise Refusal 409 when a version is named and is not the object's."""
        if version is not None and version != obj["metadata"]["resourceVersion"]:
            raise changed(plural, obj["metadata"]["name"])
