"""What all verbs have in common: help, errors, exit codes."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import olston as ol
from olston.cli import VERBS, exits
from olston.errors import SparkError
from tests.cli.stage import WORKFLOW, Stage, Told

ROOT = Path(__file__).parents[2]


def test_every_verb_has_help_with_an_example_and_json(stage: Stage) -> None:
    text = stage.run("--help").out
    for verb in VERBS:
        assert re.search(rf"^│ {verb} ", text, re.MULTILINE), verb
        shown = " ".join(stage.run(verb, "--help").out.split())
        assert f"olston {verb}" in shown.partition("Usage:")[2].partition("Example")[2], verb
        assert "--json" in shown, verb
    assert stage.run().out == text
    assert stage.run("--version").out == f"olston {ol.__version__}\n"


def test_mistyped_verbs_and_options_are_errors_with_the_nearest(stage: Stage) -> None:
    told = stage.run("stats")
    assert (told.code, told.out) == (2, "")
    assert told.err == "error: [USAGE] No such command 'stats'. Did you mean 'status'?\n"
    assert stage.run("foo").err == "error: [USAGE] No such command 'foo'. See olston --help.\n"
    told = stage.run("status", "--fail-if-stal", "--json")
    assert told.code == 2
    assert told.json["error"]["code"] == "USAGE"
    assert "--fail-if-stale" in told.err


def test_what_is_missing_is_told_with_where_to_look_it_up(stage: Stage) -> None:
    assert stage.run("provenance").err == "error: [USAGE] Missing argument 'channel'. See olston provenance --help.\n"


def test_an_error_of_the_definition_names_the_line(stage: Stage) -> None:
    file = stage.folder / "workflow.py"
    for wrong, code in (('"1 wek"', "BAD_DURATION"), ("1 / 0", "BAD_WORKFLOW")):
        file.write_text(WORKFLOW.replace('"1 week"', wrong))
        told = stage.run("check")
        assert told.code == 2
        assert told.err.startswith(f"error: [{code}] {file}:12: ")


def test_a_folder_without_a_project_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = Stage(tmp_path, capsys).run("status")
    assert told.code == 2
    assert told.err.startswith("error: [NO_PROJECT]")
    assert "olston init" in told.err


def test_the_project_can_be_named_after_the_verb_too(stage: Stage, tmp_path: Path) -> None:
    folder, stage.folder = stage.folder, tmp_path
    assert stage.run("check").code == 2
    assert stage.run("check", "-C", str(folder)).code == 0
    assert stage.run("check", "--project", str(folder / "olston.yml")).code == 0


def test_an_unexpected_failure_has_a_traceback_only_in_debug(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("olston.engine.Engine.status", broken)
    told = stage.run("status", "--json")
    assert told.code == 1
    assert told.json["error"] == {
        "code": "UNEXPECTED",
        "message": "RuntimeError: out of luck; olston --debug … shows where.",
    }
    assert "Traceback" not in told.err
    for place in (["--debug", "status", "--json"], ["status", "--debug", "--json"]):
        debug = stage.run(*place)
        assert (debug.code, debug.out) == (told.code, told.out)
        assert "Traceback" in debug.err
        assert debug.err.endswith(told.err)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_arrows_and_symbols_are_written_in_every_locale(stage: Stage, encoding: str) -> None:
    command = [sys.executable, "-m", "olston"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for verb in (["dag"], ["plan", "--json"], ["provenance", "total\N{GREEK SMALL LETTER SIGMA}", "--json"]):
        told = subprocess.run([*command, *verb], cwd=stage.folder, env=environment, capture_output=True, check=False)
        assert "Traceback" not in told.stderr.decode()
        said = told.stdout.decode()  # pipes and files get UTF-8
        assert json.loads(said) if "--json" in verb else "← orders" in said, said


def test_a_terminal_that_knows_no_arrows_gets_the_rest(stage: Stage) -> None:
    ours, theirs = os.openpty()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "olston", "dag"]
    told = subprocess.run(command, cwd=stage.folder, env=environment, stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert told.returncode == 0, said
    assert "? orders" in said


def test_what_a_workflow_prints_is_no_part_of_an_answer(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = stage.run("dag", "--format", "svg")
    file = stage.folder / "workflow.py"
    file.write_text(f'print("declaring")\n{WORKFLOW}')
    told = stage.run("dag", "--format", "svg")
    assert (told.code, told.out, told.err) == (0, plain.out, "declaring\n")

    looked = ol.Engine.status

    def printing(engine: ol.Engine) -> Any:
        print("looking")  # as a function of a step may
        return looked(engine)

    monkeypatch.setattr("olston.engine.Engine.status", printing)
    told = stage.run("status", "--json")
    assert told.json["workflow"] == "shop"
    assert told.err == "declaring\nlooking\n"
    assert "looking" in stage.run("status").out
    assert "Usage" in stage.run("status", "--json", "--help").out


def test_an_interrupt_is_told_shortly(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(*_: Any) -> None:
        said = "py4j/java_gateway.py", 1070, "KeyboardInterrupt while sending command.", None, None
        logging.getLogger().handle(logging.LogRecord("root", logging.ERROR, *said))
        raise KeyboardInterrupt

    monkeypatch.setattr("olston.engine.Engine.status", interrupted)
    assert stage.run("status") == Told(130, "", "interrupted\n")
    assert not caplog.records, "py4j's own words are not shown"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ol.WorkflowError("w"), 2),
        (ol.InfeasibleError("w"), 3),
        (ol.StepError("w"), 4),
        (ol.StepError("w", code="INFEASIBLE_BOUNDS"), 3),
        (SparkError("w"), 6),
        (ol.CatalogError("w"), 6),
        (ol.OlstonError("w", code="PAUSED"), 7),
    ],
)
def test_errors_have_the_documented_exit_codes(error: ol.OlstonError, code: int) -> None:
    assert exits.exit_code(error) == code


def test_the_exit_codes_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    told = {int(n) for n in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert told == {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    import olston.cli

    assert told == {int(n) for n in re.findall(r"^    (\d+)  ", olston.cli.__doc__ or "", re.MULTILINE)}


def test_every_verb_and_option_is_on_the_page(stage: Stage) -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    for verb in VERBS:
        assert f"## olston {verb}" in page
        section = page.partition(f"## olston {verb}")[2].partition("\n## ")[0]
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", stage.run(verb, "--help").out.partition("Options")[2]))
        for option in options - {"--json", "--project", "--help", "--debug"}:
            assert f"`{option}" in section, (verb, option)


def test_a_file_whose_name_does_not_tell_its_format_is_told_with_the_option(stage: Stage) -> None:
    told = stage.run("ingest", "orders", "olston.yml")
    assert told.code == 2
    assert "olston ingest takes --format" in told.err
