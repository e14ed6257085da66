"""`stepladder recourse --to`: results in parts, from which a stopped run goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import stepladder as sl
from stepladder.cli import recourse
from stepladder.cli.app import app
from stepladder.scale import run

MODEL = """
import time
import numpy as np

def model(frame):
    return 1 / (1 + np.exp((20 + frame["debt"] - frame["income"]) / 3))

def slow(frame):
    time.sleep(0.005)
    return model(frame)
"""

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", typical=(0, 60)),
        sl.Numeric("debt", change="decrease"),
        sl.Numeric("age", integer=True, change="never"),
    ]
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lending", raising=False)
    monkeypatch.setattr(run, "PART", 12)
    (tmp_path / "lending.py").write_text(MODEL)
    table(200, seed=0).drop(columns=["job", "sex"]).to_parquet("data.parquet")
    people = table(40).drop(columns=["job", "sex", "approved"])
    people["age"] = people["age"].astype("Int64").mask(people.index == 30)  # a gap, in one part
    people.assign(who=[f"p{i}" for i in people.index]).to_csv("people.csv", index=False)
    SCHEMA.save("schema.yaml")
    return tmp_path


ASK = ["--model", "lending:model", "--data", "data.parquet", "--people", "people.csv"]
ASK += ["--schema", "schema.yaml", "--goal", "0.6", "--id", "who"]


def stepladder(*more: str):
    return CliRunner().invoke(app, ["recourse", *ASK, *more])


def test_parts_are_the_result_that_a_file_would_be(folder):
    (folder / "limits.csv").write_text("person,feature,low,high\np3,income,,31\np38,debt,2,\n")
    options = ("--paths", "2", "--lock", "age", "--limits", "limits.csv", "--json")
    in_file = stepladder(*options, "--out", "plan.parquet")
    in_parts = stepladder(*options, "--to", "plan")
    assert (in_file.exit_code, in_parts.exit_code) == (0, 0), in_parts.output
    assert len(list((folder / "plan").glob("part-*.parquet"))) == 4
    one, other = sl.Recourse.load("plan.parquet"), sl.Recourse.load("plan")
    for frame in ("final", "paths", "status"):
        pd.testing.assert_frame_equal(getattr(one, frame), getattr(other, frame), check_exact=True)
    assert one.fingerprints == other.fingerprints
    said, expected = json.loads(in_parts.stdout), json.loads(in_file.stdout)
    assert said["out"] == "plan"
    for key in ("people", "outcomes", "goal", "settings", "reference", "set_aside"):
        assert said[key] == expected[key]
    assert said["metrics"] == pytest.approx(expected["metrics"])


def test_on_processes_of_this_machine_and_with_a_report(folder, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # so that workers find the model
    pages = []
    monkeypatch.setattr(recourse, "_write_report", lambda *of: pages.append(of[:2]))
    shown = stepladder("--to", "plan", "--workers", "1", "--report", "plan.html")
    assert shown.exit_code == 0, shown.output
    assert "Written to plan: every row of every path, in parts." in shown.stderr
    assert pages == [(Path("plan.html"), Path("plan"))]
    stepladder("--to", "here")
    pd.testing.assert_frame_equal(
        sl.Recourse.load("plan").final, sl.Recourse.load("here").final, check_exact=True
    )


def test_stopped_by_the_user_it_goes_on(folder):
    path = os.pathsep.join([*sys.path, str(folder)])
    code = "import sys; from stepladder.scale import run; run.PART = 5; "
    code += "from stepladder.cli import main; sys.exit(main(sys.argv[1:]))"
    ask = ["recourse", *ASK, "--to", "plan"]
    ask[ask.index("lending:model")] = "lending:slow"
    begun = subprocess.Popen(
        [sys.executable, "-c", code, *ask],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while len(list((folder / "plan").glob("part-*.parquet"))) < 2:
        assert begun.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    begun.send_signal(signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    assert begun.returncode == 130, said
    kept = len(list((folder / "plan").glob("part-*.parquet")))
    assert f"Stopped. {5 * kept} of 40 people are kept in plan; the same command goes on" in said
    done = subprocess.run(
        [sys.executable, "-c", code, *ask, "--json"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["people"] == 40
    assert len(sl.Recourse.load("plan").people) == 40


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "2"], "--workers answers parts: name a folder for them, --to."),
        (["--scheduler", "tcp://x:1"], "--scheduler answers parts: name a folder"),
        (["--to", "p", "--out", "p.csv"], "to a file, --out, or to a folder, --to; give one."),
        (["--to", "p", "--workers", "1", "--scheduler", "x"], "each name a cluster; give one."),
        (["--to", "p", "--time-budget", "9"], "--time-budget doesn't go with --to"),
        (["--to", "p", "--epsilon", "1", "--delta", "1e-6"], "needs --bought FILE"),
    ],
)
def test_options_that_do_not_go_together(folder, options, said):
    shown = stepladder(*options)
    assert shown.exit_code == 2
    assert said in " ".join(shown.stderr.replace("│", " ").split())
    assert not (folder / "p").exists()


def test_the_folder_of_another_run_is_refused(folder):
    assert stepladder("--to", "plan", "--limit", "20", "--quiet").exit_code == 0
    shown = stepladder("--to", "plan", "--paths", "1", "--limit", "20")
    assert shown.exit_code == 1
    said = " ".join(shown.stderr.split())
    assert "'plan' holds the parts of another run: paths is 3 there and 1 here." in said
