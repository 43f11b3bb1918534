"""The documents name what is there: links, paths, incident codes, tools."""

import re
from pathlib import Path

import pytest

from agentops.kernel.errors import IncidentCode
from agentops.registry.blast_radius import document, rows_of
from agentops.registry.roles import all_roles
from tests.architecture.markdown import PAGES, ROOT, anchors, links, quoted_paths, rows, section

MADE_LATER = {".demo/elsewhere"}
MOST_IMAGE_BYTES = 200 * 1024


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_the_pages_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/operations.md"} <= {_name(page) for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_relative_links_resolve(page: Path) -> None:
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        found = aim.is_relative_to(ROOT) and aim.is_file()
        if not found or (anchor and anchor not in anchors(aim)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_quoted_paths_exist(page: Path) -> None:
    assert [path for path in quoted_paths(page) if path not in MADE_LATER and not _exists(path)] == []


def _exists(path: str) -> bool:
    return any(ROOT.glob(path.rstrip("/")))


def test_images_are_small() -> None:
    images = list((ROOT / "docs/images").rglob("*.png"))
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        name for page in pages for name in re.findall(r"!\[[^]]*\]\([^)]*?images/([^)]+)\)", page.read_text("utf-8"))
    }
    assert {str(image.relative_to(ROOT / "docs/images")) for image in images} == shown
    assert [image.name for image in images if image.stat().st_size > MOST_IMAGE_BYTES] == []


def test_every_incident_code_says_what_to_do() -> None:
    told = rows(section(ROOT / "docs/operations.md", "Incident codes"))
    assert [code for code, _ in told] == [code.value for code in IncidentCode]
    assert [code for code, words in told if not words] == []


def test_blast_radius_is_the_one_that_the_tools_declare() -> None:
    """Written by ``manage.py blast_radius --write``."""
    page = ROOT / "docs/blast-radius.md"
    text = page.read_text(encoding="utf-8")
    assert text == document(text, rows_of(all_roles()))
    for role in all_roles():
        assert [cells[0] for cells in rows(section(page, role.title))] == [tool.name for tool in role.tools]
