"""How a benchmark starts: the options that several of them have, and a server of its own."""

import argparse
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path


def parser_of(words: str | None) -> argparse.ArgumentParser:
    """Return a parser that shows ``words`` as they are written, with the option that every benchmark has."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object only")
    return parser


def number_from(least: int, most: int) -> Callable[[str], int]:
    """Return the type of an option that is a whole number from ``least`` to ``most``."""

    def number(text: str) -> int:
        if not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"write a number from {least} to {most}")
        return int(text)

    return number


def some_of(names: Collection[str]) -> Callable[[str], frozenset[str]]:
    """Return the type of an option that is some of ``names``, with commas between them."""

    def parts(text: str) -> frozenset[str]:
        found = frozenset(text.split(","))
        if not found <= set(names):
            raise argparse.ArgumentTypeError(f"the parts are {', '.join(names)}")
        return found

    return parts


@contextmanager
def set_up(settings: str = "benchmarks.runtime_settings") -> Iterator[None]:
    """Set Django up with a module of settings. The embedded server, where one is needed, is gone at the end."""
    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    os.environ.pop("AGENTOPS_TEST_DATABASE", None)
    with tempfile.TemporaryDirectory(prefix="agentops-benchmark-", ignore_cleanup_errors=True) as folder:
        os.environ["BENCHMARK_FOLDER"] = str(Path(folder) / "server")
        # Options are read by interpreters that have no Django, too.
        import django  # noqa: PLC0415

        django.setup()
        try:
            yield
        finally:
            _remove_server()


def _remove_server() -> None:
    from django.conf import settings  # noqa: PLC0415 - as above

    embedded = settings.DATABASES["default"].get("EMBEDDED")
    if embedded is None or not embedded["base"].exists():
        return
    from agentops.embedded.backend.base import server_of  # noqa: PLC0415 - only where there is an embedded server
    from agentops.embedded.home import remove_home  # noqa: PLC0415

    server_of(embedded).destroy()
    remove_home(embedded["base"])
