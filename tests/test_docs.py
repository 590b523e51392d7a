"""The documents: nothing left to fill in, no link that leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_is_left_to_fill_in(page: Path) -> None:
    assert not re.findall(r"@@\w+@@|\bTODO\b|\bTBD\b", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in link:
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("module", sorted(ROOT.glob("scheduler/**/*.py")), ids=lambda p: p.name)
def test_pages_that_code_refers_to_exist(module: Path) -> None:
    for page in re.findall(r"docs/[\w/-]+\.md", module.read_text()):
        assert (ROOT / page).exists(), page
