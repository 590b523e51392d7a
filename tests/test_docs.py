"""The documents: nothing left to fill in, no link that leads nowhere."""

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
