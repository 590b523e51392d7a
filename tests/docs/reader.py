"""A reader who types what a page shows, in a folder of her own."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from olston.cli import main
from olston.cli.settings import settings

ROOT = Path(__file__).parents[2]


class Reader:
    """Runs the blocks of one page in order: Python in one namespace, commands in one shell.

    The JVM of the tests began in another folder, so what pages name from where they are gets its whole path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = self._here = folder
        self._names: dict[str, Any] = {"__name__": "__main__"}

    def python(self, body: str, place: str) -> str:
        """What the code prints."""
        whole = re.sub(r'(?<=")(?=(?:lake|landing)\b)', f"{self.folder}/", body)
        said = io.StringIO()
        with chdir(self._here), redirect_stdout(said):
            exec(compile(whole, place, "exec"), self._names)
        return said.getvalue()

    def command(self, line: str) -> str:
        """What a command says on standard output, and errors; progress is left out."""
        olston = re.fullmatch(r"olston (.+?)(; echo \$\?)?", line)
        if olston is not None:
            said, code = self._olston([_in_the_repository(word) for word in shlex.split(olston[1])])
            return said + (f"{code}\n" if olston[2] else "")
        if line.startswith("cd "):
            self._here = (self._here / line[3:]).resolve()
            return ""
        run = subprocess.run(["bash", "-c", line], cwd=self._here, capture_output=True, text=True, check=True)
        return run.stdout

    def _olston(self, arguments: list[str]) -> tuple[str, int]:
        settings.project, code = None, 0
        out, err = io.StringIO(), io.StringIO()
        with chdir(self._here), redirect_stdout(out), redirect_stderr(err):
            try:
                main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
        if arguments[0] == "init":
            workflow = self._here / arguments[1] / "workflow.py"
            workflow.write_text(workflow.read_text().replace('files="', f'files="{workflow.parent}/'))
        errors = [line for line in err.getvalue().splitlines() if line.startswith(("error:", "  also:"))]
        return out.getvalue() + "".join(f"{line}\n" for line in errors), code


def _in_the_repository(word: str) -> str:
    """Files of the tests are named from the root of the repository."""
    return str(ROOT / word) if word.startswith("tests/") else word
