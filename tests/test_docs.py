"""The documents: nothing left to fill in, no link that leads nowhere, and a site that can be built of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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


def test_the_site_is_built_strictly_and_asks_no_other_server(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    for page in (tmp_path / "site").glob("**/*.html"):
        fetched = re.findall(r"<(?:script|img|link)[^>]* (?:src|href)=\"?(?:https?:)?//[^ >]+", page.read_text())
        assert not fetched, page


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_page_shows_where_it_was_written(page: Path) -> None:
    assert not re.findall(rf"pytest-of|/tmp/|{re.escape(str(Path.home()))}/", page.read_text())


@pytest.mark.parametrize("module", sorted(ROOT.glob("scheduler/**/*.py")), ids=lambda p: p.name)
def test_pages_that_code_refers_to_exist(module: Path) -> None:
    for page in re.findall(r"docs/[\w/-]+\.md", module.read_text()):
        assert (ROOT / page).exists(), page


def test_the_plan_that_a_page_shows_is_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "reference" / "problem-files.md").read_text()
    shown = re.search(r"```console\n\$ olston (plan [^\n]+)\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    command = [sys.executable, "-m", "olston", *shown[1].split()]
    environment = {**os.environ, "COLUMNS": "110"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert [line.rstrip() for line in run.stdout.rstrip().splitlines()] == shown[2].rstrip().splitlines()
