"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902), as far as they are used."""

from copy import deepcopy
from typing import Any

from tests.factories.fake_kubernetes.errors import Obj, Refusal

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"


def patched(obj: Obj, kind: str, body: Any) -> Obj:
    """Return ``obj`` after a patch. Raises Refusal."""
    if kind == MERGE and isinstance(body, dict):
        return dict(_merged(obj, body))
    if kind == JSON and isinstance(body, list):
        made = deepcopy(obj)
        for step in body:
            _step(made, step)
        return made
    raise Refusal(400, f"this fake knows no patch of type {kind}")


def _merged(value: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return deepcopy(patch)
    made = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            made.pop(name, None)
        else:
            made[name] = _merged(made.get(name), part)
    return made


def _step(obj: Obj, step: Obj) -> None:
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
    here: Any = obj
    for name in parents:
        if not isinstance(here, dict) or name not in here:
            raise Refusal(422, f"the path {step['path']} does not exist", "Invalid")
        here = here[name]
    match step["op"]:
        case "add":
            here[last] = deepcopy(step["value"])
        case "replace" | "remove" if last not in here:
            raise Refusal(422, f"the path {step['path']} does not exist", "Invalid")
        case "replace":
            here[last] = deepcopy(step["value"])
        case "remove":
            del here[last]
        case other:
            raise Refusal(400, f"this fake knows no operation {other}")
