"""A run: in parallel, resumable, and no failure takes more than its own cell along."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stepladder.bench.results import Results
from stepladder.bench.runner import run
from stepladder.bench.spec import Cell
from stepladder.errors import ParameterError


class Notes:
    """A watch that writes everything down, and may do something at every cell."""

    def __init__(self, at_cell=lambda done: None):
        self.cells, self.said, self._at_cell = [], [], at_cell

    def started(self, total, done):
        self.said.append(("started", total, done))

    def cell(self, cell, seconds, error, done, total, remaining):
        self.cells.append((cell, error))
        assert remaining >= 0
        self._at_cell(done)

    def finished(self):
        self.said.append("finished")


def rows_of(folder) -> pd.DataFrame:
    return Results(folder).rows


@pytest.fixture(scope="module")
def undisturbed(spec, tmp_path_factory) -> tuple[Path, Notes]:
    """The folder of a run that nothing came between, which is only to be read, and its notes."""
    folder, watch = tmp_path_factory.mktemp("undisturbed"), Notes()
    run(spec, folder, jobs=2, watch=watch)
    return folder, watch


def test_a_run_gives_a_row_for_each_person_and_says_how_it_went(spec, undisturbed, tmp_path):
    folder, watch = undisturbed
    results = Results(folder)
    assert watch.said == [("started", 5, 0), "finished"]
    assert {cell for cell, error in watch.cells} == set(spec.cells())
    worked = results.cells[results.cells["error"] == ""]
    assert results.rows.groupby(["method", "seed"]).size().tolist() == [12, 12, 12, 12]
    assert (worked["people"] == 12).all()
    assert (worked["model_calls"] > 0).all()
    assert (worked["peak_mib"] > 50).all()
    assert (worked["seconds"] > 0).all()
    assert "numpy" in json.loads(worked["versions"].iloc[0])
    settings = [json.loads(text)["method"] for text in worked.sort_values("method")["settings"]]
    assert settings == ["FACE", "FACE", "StEP", "StEP"]
    ours = results.rows[results.rows["method"] == "step"]
    assert (ours["success"] == ours["valid_success"]).all()
    assert (ours["least_distance"] > 0).all()

    # The one that can't work says why, and is the only one that is tried again.
    failed = results.cells[results.cells["error"] != ""]
    assert failed["method"].tolist() == ["impossible"]
    assert "100000 paths were asked for" in failed["error"].iloc[0]
    again, copied = Notes(), shutil.copytree(folder, tmp_path / "copied")
    run(spec, copied, jobs=1, watch=again)
    assert [cell.method for cell, _ in again.cells] == ["impossible"]
    assert again.said[0] == ("started", 5, 4)


def test_a_changed_setting_makes_only_its_own_cells_stale(spec, undisturbed, tmp_path):
    copied = shutil.copytree(undisturbed[0], tmp_path / "copied")
    entries = [
        entry.model_copy(update={"settings": {"paths": 1}}) if entry.label == "step" else entry
        for entry in spec.methods
    ]
    watch = Notes()
    changed = spec.model_copy(update={"methods": tuple(entries)})
    run(changed, copied, jobs=2, only=["*/*/step", "*/*/face"], watch=watch)
    assert {cell.method for cell, _ in watch.cells} == {"step"}
    assert len(Results(copied).cells) == 5


def test_a_process_that_dies_fails_the_cell_it_was_at_and_the_rest_goes_on(spec, tmp_path):
    def kill(done: int) -> None:
        if done == 1:
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGKILL)

    watch = Notes(kill)
    run(spec, tmp_path, jobs=1, only=["*/*/step", "*/*/face"], watch=watch)
    errors = {cell: error for cell, error in watch.cells if error}
    assert len(watch.cells) == 4
    assert list(errors) == [Cell("mortgage", "logistic_regression", "face", 0)]
    assert "ended by signal 9 while running mortgage" in next(iter(errors.values()))
    assert len(rows_of(tmp_path)) == 3 * 12


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process group")
def test_killed_and_run_again_the_rows_are_those_of_an_undisturbed_run(spec, undisturbed, tmp_path):
    file = tmp_path / "spec.toml"
    file.write_text(_toml(spec), encoding="utf-8")
    command = [sys.executable, "-m", "stepladder", "bench", "run", str(file), "--jobs", "1"]
    broken = [*command, "--out", str(tmp_path / "broken")]
    process = subprocess.Popen(
        broken, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    cells = tmp_path / "broken" / "cells"
    deadline = time.monotonic() + 60
    while not list(cells.glob("*.parquet")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {name: (cells / name).stat().st_mtime_ns for name in os.listdir(cells)}
    assert 1 <= len([name for name in kept if not name.startswith(".")]) < 5

    run(spec, tmp_path / "broken", jobs=1)
    pd.testing.assert_frame_equal(rows_of(tmp_path / "broken"), rows_of(undisturbed[0]))


def _toml(spec) -> str:
    lines = [
        f"{name} = {json.dumps(value)}"
        for name, value in json.loads(spec.model_dump_json(exclude_none=True)).items()
        if name != "methods"
    ]
    for entry in spec.methods:
        settings = ", ".join(f"{k} = {json.dumps(v)}" for k, v in entry.settings.items())
        lines += ["[[methods]]", f'label = "{entry.label}"', f'method = "{entry.method}"']
        lines += [f"settings = {{ {settings} }}"]
        lines += [f"seeds = {entry.seeds}"] if entry.seeds else []
    return "\n".join(lines)


def test_a_pattern_that_fits_nothing_is_said(spec, tmp_path):
    with pytest.raises(ParameterError, match=r"No cell of the spec 'small' fits adult/\*/\*"):
        run(spec, tmp_path, only=["adult/*/*"])


def test_data_that_are_not_there_fail_the_cells_with_the_reason(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("STEPLADDER_DATA", raising=False)
    gone = spec.model_copy(update={"datasets": ("adult",), "seeds": 1})
    results = run(gone, tmp_path / "out", jobs=1, only=["*/*/step"])
    assert len(results.rows) == 0
    assert "adult" in results.cells["error"].iloc[0]


def test_two_protocols_differ_in_scale_alone(spec):
    from stepladder.bench.tasks import prepare

    fair = prepare(spec, "mortgage", "logistic_regression", 0, None)
    whole = prepare(
        spec.model_copy(update={"protocol": "published"}),
        "mortgage",
        "logistic_regression",
        0,
        None,
    )
    pd.testing.assert_frame_equal(fair.train, whole.train)
    assert fair.space.schema == whole.space.schema
    train = fair.space.encode(fair.train)
    np.testing.assert_allclose(train[:, fair.space.changeable].mean(axis=0)[:2], 0, atol=1e-9)
    assert (fair.space.center != whole.space.center).any()


def test_retrained_models_are_others_of_the_same_kind_and_the_same_each_time(spec, tmp_path):
    from stepladder.bench.tasks import prepare

    asked = spec.model_copy(update={"retrained": 2})

    def weights() -> list[list[float]]:
        task = prepare(asked, "mortgage", "logistic_regression", 0, None)
        return [each.model.coef_[0].tolist() for each in (task.model, *task.retrained)]

    first = weights()
    assert len({tuple(each) for each in first}) == 3
    assert first == weights()
    cells = asked.model_copy(update={"methods": spec.methods[:1], "seeds": 1})
    rows = run(cells, tmp_path, jobs=1).rows
    assert rows["holds"].dropna().between(0, 1).all()
    assert rows["tenth_short"].dropna().isin([0, 1 / 3, 2 / 3, 1]).all()
    assert len(rows["holds"].dropna())
