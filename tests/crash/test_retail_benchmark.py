"""The retail benchmark on a shop and tasks of our own, in the form of its files."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.support_agent.test_import_shop import ORDER, PRODUCT, USER

ROOT = Path(__file__).resolve().parent.parent.parent


def task(name: str, actions: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "user_id": "ann",
        "email": USER["email"],
        "body": "Please help me.",
        "actions": actions,
        "errors": [],
        "after": {"orders": {}, "users": {}},
        **changes,
    }


def cancelled() -> dict[str, Any]:
    after = deepcopy(ORDER)
    after["payment_history"].append({"transaction_type": "refund", "amount": 12.5, "payment_method_id": "paypal_1"})
    return {**after, "status": "cancelled", "cancel_reason": "no longer needed"}


CANCEL = {"tool": "cancel_pending_order", "arguments": {"order_id": "#W1", "reason": "no longer needed"}}
LOOK = {"tool": "get_order_details", "arguments": {"order_id": "#W1"}}
AFTER = {"orders": {"#W1": cancelled()}, "users": {}}


def run(folder: Path, tasks: list[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    files = {"users": {"ann": USER}, "orders": {"#W1": ORDER}, "products": {"1": PRODUCT}}
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    (folder / "tasks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tasks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "benchmarks/tau_retail.py", str(folder), "--json", "--seed", "1"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "AGENTOPS_TEST_DATABASE"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_figures_tell_right_from_wrong(tmp_path: Path) -> None:
    right = task("right", [LOOK, CANCEL], after=AFTER)
    missed = task("missed", [LOOK], after=AFTER)
    strange = task("strange", [{"tool": "sing", "arguments": {}}, LOOK])
    code, figures = run(tmp_path, [right, missed, strange])
    told = {name: figures[name] for name in ("tasks", "equal", "double_effects", "questions", "errors")}
    assert (code, told) == (1, {"tasks": 3, "equal": 2, "double_effects": 0, "questions": 1, "errors": 1})


def test_all_equal_is_success(tmp_path: Path) -> None:
    code, figures = run(tmp_path, [task("right", [LOOK, CANCEL], after=AFTER)])
    assert (code, figures["equal"], figures["errors"]) == (0, 1, 0)
