"""House rules that no other tool checks: sizes, purity of what calls itself pure, no bypass in production."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("agentops", "approvals", "support_agent", "billing_agent", "sre_agent", "benchmarks", "tests", "scripts")
PACKAGES = OURS[:5]
LONGEST = {".py": 400, ".js": 400, ".css": 400, ".sh": 400, ".md": 400, ".html": 130}
# Why a file may be longer, for every one that is.
LONGER: dict[str, str] = {
    "agentops/ledger/auditverify.py": "auditors read and run one file, without the product",
}
IMPURE = frozenset(
    {
        "celery",
        "channels",
        "django",
        "guardian",
        "httpx2",
        "os",
        "psycopg",
        "random",
        "redis",
        "secrets",
        "socket",
        "subprocess",
        "time",
        "urllib.request",
        "uuid.uuid4",
        "agentops.kernel.ids",
        "agentops.kernel.clock.utcnow",
    }
)
# What a pure module imports all the same, and why that takes nothing of its purity.
EXCUSED: dict[str, str] = {}


def files_of(*folders: str) -> Iterator[Path]:
    """Yield what somebody wrote: everything but migrations, which Django writes from the models."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and not {"__pycache__", "migrations"}.intersection(path.parts):
                yield path


def test_no_file_is_too_long_without_a_reason() -> None:
    too_long = set()
    for path in files_of(*OURS, "templates", "static", "docs"):
        limit = LONGEST.get(path.suffix)
        if limit and len(path.read_text(encoding="utf-8").splitlines()) > limit:
            too_long.add(str(path.relative_to(ROOT)))
    assert too_long == set(LONGER)
    assert all(LONGER.values())


def test_modules_that_call_themselves_pure_are() -> None:
    pure = [path for path in files_of(*PACKAGES) if path.suffix == ".py" and "(pure)" in docstring_of(path)]
    assert len(pure) >= 25
    impure = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in pure
        for name in imports_of(path)
        if any(name == banned or name.startswith(f"{banned}.") for banned in IMPURE)
    }
    assert impure == set(EXCUSED)
    assert all(EXCUSED.values())


def docstring_of(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def imports_of(path: Path) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


PRODUCTION = """
import sys
import django
django.setup()
from django.conf import settings
shown = {name: repr(getattr(settings, name)) for name in dir(settings) if name.isupper()}
shown["modules"] = repr(sorted(name for name in sys.modules if name.startswith("agentops.")))
print([name for name, value in shown.items() if "unsafe" in f"{name}={value}".lower()])
"""


def test_production_has_no_bypass() -> None:
    """What goes around a safeguard says Unsafe in its name, so that it can be found here."""
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "agentops.settings.production",
        "SECRET_KEY": "x" * 60 + "yz123",
        "ALLOWED_HOSTS": "agents.example.com",
        "DATABASE_URL": "postgres://agentops@db.example.com/agentops",
        "REDIS_URL": "redis://redis.example.com",
    }
    answer = subprocess.run(
        [sys.executable, "-c", PRODUCTION],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    # The pages of Django's own admin are built on inline scripts; tests/settings/test_headers.py keeps it to them.
    assert answer.stdout.strip() == "['ADMIN_CONTENT_SECURITY_POLICY']"
