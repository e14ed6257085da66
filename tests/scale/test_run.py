"""People in parts: the same as all at once, kept when the run is killed, and never mixed up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.contract import made as contract
from tests.scale import made

import stepladder as sl
from stepladder import scale
from stepladder.errors import ColumnError, DatasetError, EmptyFrameError, NotFittedError


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


# ---- the same as all at once --------------------------------------------------------------------


@pytest.mark.parametrize("size", [1000, 30, 11])
def test_parts_are_one_result(tmp_path, size):
    people = made.table(33, seed=1)
    people.loc["person 5", "income"] = -4  # invalid
    scale.recourse(made.fitted(), people, tmp_path / "plan", part_size=size)
    assert len(parts(tmp_path / "plan")) == -(-len(people) // size)
    made.assert_same(sl.Recourse.load(tmp_path / "plan"), made.fitted().recourse(people))


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_other_libraries(tmp_path, library):
    people = library(made.table(12, seed=1).reset_index(drop=True))
    limits = {3: {"income": (None, 60)}, 10: {"debt": (1, None)}}
    locked = {5: ["job"], 11: ["income"]}
    kept = {"limits": limits, "locked": locked}
    scale.recourse(made.fitted(), people, tmp_path / "plan", part_size=4, **kept)
    given = sl.Recourse.load(tmp_path / "plan")
    made.assert_same(given, made.fitted().recourse(people, **kept))
    assert given.people.tolist() == list(range(12))


@pytest.mark.parametrize("name", [name for name in contract.REPEATABLE if name != contract.NOISY])
def test_every_method(tmp_path, name):
    method, people = contract.fitted(name, "trees"), contract.people("trees")
    scale.recourse(method, people, tmp_path, part_size=2)
    given, wanted = sl.Recourse.load(tmp_path), method.recourse(people)
    follows = name == "mim" or "published" in name  # equation 1, and rounds nothing
    within = max(1e-9 if follows else 0.0, method.settings.get("tolerance", 0.0))
    for frame in made.FRAMES[:2]:
        pd.testing.assert_frame_equal(
            getattr(given, frame), getattr(wanted, frame), rtol=within, atol=within
        )
    assert given.status.equals(wanted.status)
    assert given.privacy == wanted.privacy


def test_what_single_people_cannot_do(tmp_path):
    people = made.table(30, seed=1)
    kept = {
        "limits": pd.DataFrame(
            {
                "person": ["person 2", "person 20"],
                "feature": ["income", "debt"],
                "low": [None, 1.0],
                "high": [50.0, None],
            }
        ),
        "locked": {"person 9": ["income"], "person 29": ["job", "debt"]},
    }
    scale.recourse(made.fitted(), people, tmp_path, part_size=10, **kept)
    made.assert_same(sl.Recourse.load(tmp_path), made.fitted().recourse(people, **kept))


# ---- Parquet in ---------------------------------------------------------------------------------


def gappy(rows: int) -> pd.DataFrame:
    """Gaps in the first part only, and levels that other parts haven't."""
    people = made.table(rows, seed=1)
    people["income"] = people["income"].astype(object).where(people.index != "person 2", None)
    people["income"] = people["income"].astype("float64")
    return people


def test_a_file_is_read_as_the_frame_it_holds(tmp_path):
    people = gappy(50).set_axis(range(100, 200, 2))
    table = pa.Table.from_pandas(people)
    whole = pa.array([None if np.isnan(v) else int(v) for v in people["income"]])
    table = table.set_column(0, "income", whole)  # whole numbers, but for where there's a gap
    pa.parquet.write_table(table, tmp_path / "people.parquet", row_group_size=11)
    scale.recourse(made.fitted(), tmp_path / "people.parquet", tmp_path / "plan", part_size=20)
    wanted = made.fitted().recourse(pd.read_parquet(tmp_path / "people.parquet"))
    made.assert_same(sl.Recourse.load(tmp_path / "plan"), wanted)
    assert wanted.people.tolist()[:2] == [100, 102]


def test_a_file_with_names_in_its_index(tmp_path):
    people = made.table(25, seed=1)
    people.to_parquet(tmp_path / "people.parquet")
    scale.recourse(made.fitted(), str(tmp_path / "people.parquet"), tmp_path / "p", part_size=10)
    made.assert_same(sl.Recourse.load(tmp_path / "p"), made.fitted().recourse(people))


def test_a_folder_of_files_is_one_table(tmp_path):
    people = made.table(50, seed=1).reset_index(drop=True)
    (tmp_path / "in").mkdir()
    people[:33].to_parquet(tmp_path / "in" / "a.parquet")
    people[33:].to_parquet(tmp_path / "in" / "b.parquet")
    scale.recourse(made.fitted(), tmp_path / "in", tmp_path / "plan", part_size=20)
    made.assert_same(sl.Recourse.load(tmp_path / "plan"), made.fitted().recourse(people))
    people.drop(columns="age").to_parquet(tmp_path / "in" / "c.parquet")
    with pytest.raises(DatasetError, match=r"c.parquet' has other columns than"):
        scale.recourse(made.fitted(), tmp_path / "in", tmp_path / "other")


# ---- killed, and asked again --------------------------------------------------------------------

KILLED = """
import sys
from tests.scale import made
from stepladder import scale
scale.recourse(made.fitted("published"), made.table(1200, seed=2), sys.argv[1], part_size=30)
"""


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    root = Path(__file__).parents[2]
    # Its folder first: a package of the environment may be called tests too.
    code = f"import sys, tests; tests.__path__ = [{str(root / 'tests')!r}]\n" + KILLED
    path = os.pathsep.join([str(root / "src"), str(root)])
    run = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "PYTHONPATH": path}
    )
    deadline = time.monotonic() + 60
    while len(parts(tmp_path)) < 3:
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    before = {part: part.stat().st_mtime_ns for part in parts(tmp_path)}
    assert 3 <= len(before) < 40
    with pytest.raises(sl.StepladderError, match=rf"holds {len(before)} of 40 parts.*Ask again"):
        sl.Recourse.load(tmp_path)

    people = made.table(1200, seed=2)
    reached = []
    scale.recourse(
        made.fitted("published"),
        people,
        tmp_path,
        part_size=30,
        progress=lambda *n: reached.append(n),
    )
    assert {part: part.stat().st_mtime_ns for part in before} == before
    assert reached[: len(before)] == [(30 * i, 1200) for i in range(1, len(before) + 1)]
    assert reached[-1] == (1200, 1200)
    assert [file.name for file in tmp_path.glob(".*")] == []
    scale.recourse(made.fitted("published"), people, tmp_path / "at once", part_size=30)
    made.assert_same(sl.Recourse.load(tmp_path), sl.Recourse.load(tmp_path / "at once"))


def test_what_is_finished_is_not_answered_again(tmp_path, monkeypatch):
    people = made.table(20, seed=1)
    scale.recourse(made.fitted(), people, tmp_path, part_size=5)
    parts(tmp_path)[2].unlink()
    asked, recourse = [], sl.StEP.recourse

    def noted(self, rows, **options):
        asked.append(len(rows))
        return recourse(self, rows, **options)

    monkeypatch.setattr(sl.StEP, "recourse", noted)
    scale.recourse(made.fitted(), people, tmp_path, part_size=5)
    scale.recourse(made.fitted(), people, tmp_path, part_size=5)
    assert asked == [5]


def test_another_fit_of_the_same_goes_on_too(tmp_path):
    people = made.table(20, seed=1)
    scale.recourse(made.fitted(), people, tmp_path, part_size=10)
    parts(tmp_path)[1].unlink()
    scale.recourse(made.fit(sl.StEP(paths=2)), people, tmp_path, part_size=10)
    made.assert_same(sl.Recourse.load(tmp_path), made.fitted().recourse(people))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("settings", "paths is 2 there and 1 here"),
        ("size", "part size is 10 there and 5 here"),
        ("people", "rows of people changed"),
        ("names", "rows of people changed"),
        ("locked", r"locked is '\[\]' there and \"\['job'\]\" here"),
        ("model", "model and reference rows changed"),
        ("goal", "threshold is 0.6 there and 0.7 here"),
    ],
)
def test_the_folder_of_another_run_is_refused(tmp_path, what, said):
    people, method = made.table(20, seed=1), made.fitted()
    scale.recourse(method, people, tmp_path, part_size=10)
    train, model, goal = made.table(400, seed=0), made.model(), sl.Goal(threshold=0.6)
    match what:
        case "settings":
            method = made.fit(sl.StEP(paths=1))
        case "people":
            people = people.assign(income=people["income"].where(people.index != "person 7", 99))
        case "names":
            people = people.rename(index={"person 7": "somebody"})
        case "model":
            changed = lambda rows: model.predict_proba(rows)[:, 1] * 1.0001  # noqa: E731
            method = sl.StEP(paths=2).fit(train, changed, schema=made.SCHEMA, goal=goal)
        case "goal":
            goal = sl.Goal(threshold=0.7)
            method = sl.StEP(paths=2).fit(train, model, schema=made.SCHEMA, goal=goal)
    with pytest.raises(sl.StepladderError, match=f"holds the parts of another run: {said}. Name"):
        scale.recourse(
            method,
            people,
            tmp_path,
            part_size=5 if what == "size" else 10,
            locked=["job"] if what == "locked" else [],
        )


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(sl.StepladderError, match="isn't empty and holds no parts of a result"):
        scale.recourse(made.fitted(), made.table(5, seed=1), tmp_path)
    with pytest.raises(sl.StepladderError, match=r"There is no result at .*no run.json that can"):
        sl.Recourse.load(tmp_path)


def test_a_damaged_part_is_noticed(tmp_path):
    scale.recourse(made.fitted(), made.table(10, seed=1), tmp_path, part_size=5)
    part = parts(tmp_path)[1]
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(sl.StepladderError, match="isn't a result that can be read back"):
        sl.Recourse.load(tmp_path)


def test_a_part_of_another_run_is_noticed(tmp_path):
    for name, paths in (("one", 1), ("two", 2)):
        scale.recourse(
            made.fit(sl.StEP(paths=paths)), made.table(10, seed=1), tmp_path / name, part_size=5
        )
    parts(tmp_path / "one")[1].replace(parts(tmp_path / "two")[1])
    with pytest.raises(sl.StepladderError, match="isn't a result that can be read back"):
        sl.Recourse.load(tmp_path / "two")


# ---- chance -------------------------------------------------------------------------------------


def test_noise_is_the_same_in_parts(tmp_path):
    people = made.table(40, seed=1)
    people.iloc[1] = people.iloc[0]  # twins, in one part
    scale.recourse(made.fitted("noisy"), people, tmp_path, part_size=20)
    given, wanted = sl.Recourse.load(tmp_path), made.fitted("noisy").recourse(people)
    pd.testing.assert_frame_equal(given.final, wanted.final, rtol=1e-9)
    assert (
        not wanted.final[wanted.final["person"] == "person 0"]
        .iloc[0]
        .equals(wanted.final[wanted.final["person"] == "person 1"].iloc[0])
    )


def test_noise_is_refused_where_twins_are_in_different_parts(tmp_path):
    people = made.table(40, seed=1)
    people.iloc[39] = people.iloc[0]
    with pytest.raises(sl.StepladderError, match="the same row is in more than one part"):
        scale.recourse(made.fitted("noisy"), people, tmp_path / "plan", part_size=20)
    assert not (tmp_path / "plan").exists()
    scale.recourse(made.fitted("published"), people, tmp_path / "plan", part_size=20)


def test_answers_that_are_paid_for_one_by_one_are_refused(tmp_path):
    budget = sl.PayPerDirection(sl.Budget(8, 1e-6))
    method = contract.fit(sl.StEP(paths=2, privacy=budget))
    with pytest.raises(sl.StepladderError, match="pays for every answer from one privacy budget"):
        scale.recourse(method, contract.people(), tmp_path)


# ---- bad input ----------------------------------------------------------------------------------


def test_bad_input_is_answered_in_a_sentence(tmp_path):
    method, people = made.fitted(), made.table(5, seed=1)
    with pytest.raises(NotFittedError, match="isn't fitted yet"):
        scale.recourse(sl.StEP(), people, tmp_path)
    with pytest.raises(EmptyFrameError, match="no rows"):
        scale.recourse(method, people[:0], tmp_path)
    with pytest.raises(ColumnError, match="incom"):
        scale.recourse(method, people.rename(columns={"income": "incom"}), tmp_path)
    with pytest.raises(DatasetError, match="no Parquet file at"):
        scale.recourse(method, tmp_path / "nowhere", tmp_path)
    with pytest.raises(sl.StepladderError, match="locked names 'person 77', but nobody"):
        scale.recourse(method, people, tmp_path, locked={"person 77": ["job"]})
    with pytest.raises(sl.StepladderError, match="part_size must be a whole number"):
        scale.recourse(method, people, tmp_path, part_size=0)
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(DatasetError, match=r"text.parquet' can't be read as Parquet"):
        scale.recourse(method, tmp_path / "text.parquet", tmp_path / "plan")
    (tmp_path / "text.parquet").unlink()
    assert list(tmp_path.iterdir()) == []
