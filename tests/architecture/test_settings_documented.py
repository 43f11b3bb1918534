"""Every setting that is read from the environment has its line in docs/operations.md, with its default."""

import ast
from collections.abc import Iterator
from pathlib import Path

from agentops.settings.readers import Environment
from tests.architecture.markdown import ROOT, rows, section

READERS = {name for name in vars(Environment) if not name.startswith("_") and name != "values"}
# Read by Django itself; the paragraph below the table is about it.
DJANGO = {"DJANGO_SETTINGS_MODULE"}


def _calls() -> Iterator[ast.Call]:
    sources = [*(ROOT / "agentops").rglob("*.py"), *(ROOT / "approvals").rglob("*.py"), *ROOT.glob("*_agent/**/*.py")]
    for source in [*sources, ROOT / "manage.py"]:
        yield from (node for node in ast.walk(_tree(source)) if isinstance(node, ast.Call))


def _tree(source: Path) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"))


def _reads() -> list[tuple[str, list[ast.expr]]]:
    """Return name and further arguments of every reading of the environment."""
    found = []
    for call in _calls():
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="ENVIRONMENT"), attr=reader)) if reader in READERS:
                pass
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="environ"), attr="get" | "setdefault")):
                pass
            case ast.Call(func=ast.Attribute(attr="getenv")):
                pass
            case _:
                continue
        name, *rest = call.args
        assert isinstance(name, ast.Constant), "a setting is read under a name that is not written out"
        found.append((name.value, rest))
    return found


def _documented() -> dict[str, str]:
    told = rows(section(ROOT / "docs/operations.md", "Settings"))
    assert [name for name, default, meaning in told if not default or not meaning] == []
    return {name: default for name, default, _ in told}


def test_the_documented_settings_are_those_that_are_read() -> None:
    assert set(_documented()) == {name for name, _ in _reads()} - DJANGO


def test_documented_defaults_are_those_of_the_code() -> None:
    words = {True: "yes", False: "no"}
    documented = _documented()
    told, right = {}, {}
    for name, rest in _reads():
        if rest and isinstance(rest[0], ast.Constant) and isinstance(rest[0].value, int):
            value = rest[0].value
            told[name] = documented[name]
            right[name] = words[value] if isinstance(value, bool) else str(value)
    assert told == right
    assert {"LEASE_SECONDS", "SSL_REDIRECT"} <= set(right)


def test_no_subscript_reads_the_environment_past_the_readers() -> None:
    sources = [source for source in (ROOT / "agentops").rglob("*.py") if "environ[" in source.read_text("utf-8")]
    assert sources == []
