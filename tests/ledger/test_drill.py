"""The drill finds what it should, says where, alarms about nothing else, and notices a verifier that is broken."""

import ast
import json
import types
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from agentops.ledger import auditverify
from agentops.ledger.drill import CLASSES, Case, drill, tampered, untouched

SOURCE = Path(auditverify.__file__).read_text(encoding="utf-8")
# Checks whose loss the drill cannot notice, and who notices it.
ELSEWHERE = {
    "too many positions are left out": "a bound on memory: test_auditverify",
    "the export's checkpoints": "a line that cannot be read: test_auditverify",
    "cannot be read: {error}": "a line that cannot be read: test_auditverify",
    "is no text": "a line that cannot be read: test_auditverify",
    'f"index {index}: {error}"': "a line that cannot be read: test_auditverify",
    "one of the signatures": "with two keys only: test_auditverify",
    "later - 1": "a forged checkpoint after the end: test_auditverify",
}


def test_small_drill_finds_everything_at_its_place() -> None:
    done = drill(trials=2, honest_logs=40, seed=20260105)
    assert done.missed == []
    assert (done.classes, done.trials, done.found) == (len(CLASSES), 2 * len(CLASSES), 2 * len(CLASSES))
    assert (done.honest, done.false_alarms, done.passed) == (40, 0, True)
    assert len(CLASSES) >= 20


def test_drill_of_nothing_has_not_passed() -> None:
    assert not drill(trials=0, honest_logs=1, seed=1).passed


def test_same_seed_gives_the_same_drill() -> None:
    first, again = ([case.log for case in tampered(trials=1, seed=5)] for _ in range(2))
    assert [log.events for log in first] == [log.events for log in again]
    assert [log.checkpoints for log in first] == [log.checkpoints for log in again]


def test_command_prints_the_figures() -> None:
    out = StringIO()
    call_command("ledger", "drill", "--json", "--trials", "1", "--honest", "3", "--seed", "7", stdout=out)
    told = json.loads(out.getvalue())
    figures = {name: told[name] for name in ("classes", "trials", "found", "honest", "false_alarms", "seed")}
    count = len(CLASSES)
    assert figures == {"classes": count, "trials": count, "found": count, "honest": 3, "false_alarms": 0, "seed": 7}


def is_check(node: ast.AST) -> bool:
    """Tell whether a statement reports something bad."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    named = any(isinstance(call, ast.Name) and call.id == "Bad" for call in calls)
    return isinstance(node, ast.Raise | ast.Expr) and named


# Proofs and packs are no exports: their checks have tests of their own.
SINGLE = {"check_proof", "_accepted", "verify_consistency", "verify_pack", "check_pack"}
PARTS = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.FunctionDef) and node.name not in SINGLE]
CHECKS = sorted({node.lineno for part in PARTS for node in ast.walk(part) if is_check(node)})


def without_check(line: int) -> types.ModuleType:
    """Return the verifier without the check in this line."""

    class Drop(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if is_check(node) and getattr(node, "lineno", 0) == line:
                return ast.copy_location(ast.Pass(), node)
            return super().generic_visit(node)

    module = types.ModuleType("broken_auditverify")
    tree = ast.fix_missing_locations(Drop().visit(ast.parse(SOURCE)))
    # A dataclass looks for its module by this name.
    module.__dict__["__name__"] = auditverify.__name__
    exec(compile(tree, "broken_auditverify", "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def cases() -> list[tuple[Case, str]]:
    """Cases of the drill, each with the kind of what the whole verifier finds there."""
    kinds: list[str] = []

    class Listening:
        trust_of = staticmethod(auditverify.trust_of)

        @staticmethod
        def verify_export(*args: object, **more: object) -> auditverify.Report:
            report = auditverify.verify_export(*args, **more)  # type: ignore[arg-type]
            kinds.append(report.kind)
            return report

    drawn = [*tampered(trials=3, seed=11), *untouched(count=3, seed=11)]
    faults = [case.answer(Listening) for case in drawn]
    assert not any(faults)
    return list(zip(drawn, kinds, strict=True))


@pytest.mark.parametrize("line", CHECKS)
def test_drill_notices_a_verifier_without_one_of_its_checks(line: int, cases: list[tuple[Case, str]]) -> None:
    statement = next(node for node in ast.walk(ast.parse(SOURCE)) if is_check(node) and node.lineno == line)
    text = ast.unparse(statement)
    lines = "\n".join(SOURCE.splitlines()[max(line - 2, 0) : statement.end_lineno])
    if any(words in lines for words in ELSEWHERE):
        pytest.skip("not a check of exports")
    broken = without_check(line)
    likely = sorted(cases, key=lambda case: f"'{case[1]}'" not in text)
    assert any(_noticed(case, broken) for case, _ in likely), f"nothing notices the loss of: {text}"


def _noticed(case: Case, broken: types.ModuleType) -> bool:
    try:
        return bool(case.answer(broken))
    except (UnboundLocalError, TypeError, KeyError):
        return True
