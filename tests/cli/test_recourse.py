"""`stepladder recourse` through its own front door: files in, files out, and every way to fail."""

from __future__ import annotations

import errno
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import csv, parquet
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from typer.testing import CliRunner

import stepladder as sl
from stepladder.cli import EXITS, inputs, recourse
from stepladder.cli.app import app
from stepladder.files import uninterrupted
from stepladder.result.provenance import data_hash, model_hash

MARK = 77.75
"""An income on which the slow model falls asleep."""

MODULE = f"""
import pathlib, time
import numpy as np

def model(frame):
    return 1 / (1 + np.exp((20 + frame["debt"] - frame["income"]) / 3))

def slow(frame):
    if (frame["income"] == {MARK}).any():
        pathlib.Path("asleep").touch()
        time.sleep(60)
    return model(frame)

def stopped(frame):
    if (frame["income"] == {MARK}).any():
        raise KeyboardInterrupt
    return model(frame)

def old(frame):
    return np.where(frame["age"] >= 50, 0.9, 0.1)

def never(frame):
    return np.where(frame["income"] > 1000, 1.0, 0.0)

def broken(frame):
    raise RuntimeError("no such thing")
"""

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", typical=(0, 60)),
        sl.Numeric("debt", typical=(0, 30), change="decrease"),
        sl.Numeric("age", integer=True, change="never", typical=(18, 70)),
        sl.Categorical("job", levels=["None", "clerk", "smith"], change="never"),
    ]
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table) -> Path:
    """A folder with a model, a reference table, forty people and a schema: the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "loans", raising=False)
    (tmp_path / "loans.py").write_text(MODULE)
    table(300, seed=0).to_parquet("data.parquet")
    table(40).to_parquet("people.parquet")
    SCHEMA.save("schema.yaml")
    yield tmp_path
    sys.modules.pop("loans", None)


USUAL = {
    "--model": "loans:model",
    "--data": "data.parquet",
    "--people": "people.parquet",
    "--schema": "schema.yaml",
    "--goal": "0.6",
}


def arguments(*more: object, **changed: object) -> list[str]:
    usual = {**USUAL, **{f"--{name}": value for name, value in changed.items()}}
    return ["recourse", *(str(part) for pair in usual.items() for part in pair), *map(str, more)]


def stepladder(*more: object, **changed: object):
    return CliRunner().invoke(app, arguments(*more, **changed))


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {"__pycache__"}


INPUTS = {"loans.py", "data.parquet", "people.parquet", "schema.yaml"}


def expected(people: pd.DataFrame, **settings: object) -> sl.Recourse:
    import loans

    step = sl.StEP(**settings)
    aside = ["sex", "approved"]
    rows = pd.read_parquet("data.parquet").drop(columns=aside)
    step.fit(rows, loans.model, schema=SCHEMA, goal=sl.Goal(0.6))
    return step.recourse(people.drop(columns=aside))


# ---- what comes out ---------------------------------------------------------------------------


def test_one_person_is_counted_as_one(folder):
    shown = stepladder("--out", "plan.csv", "--limit", "1")
    assert re.match(r"1 person: (1 has|0 have) a path to .*, (1 has|0 have) none", shown.stdout)


def test_csv_holds_the_ends_and_says_so(folder, table):
    shown = stepladder("--out", "plan.csv")
    assert shown.exit_code == 0, shown.output
    assert re.match(r"40 people: \d+ have a path to a score of at least 0.6, \d+ had", shown.stdout)
    assert "Written to plan.csv: where each path ends; .parquet or .json would" in shown.stderr
    assert "people.parquet: not in the schema, set aside: 'sex', 'approved'." in shown.stderr
    final = expected(table(40)).final
    kept = pd.read_csv("plan.csv", keep_default_na=False, na_values={"holds": [""]})
    pd.testing.assert_frame_equal(kept, final, check_dtype=False)


def test_a_result_says_which_columns_people_came_with_in_vain(folder, table):
    table(40).assign(who=range(40)).to_parquet("people.parquet")
    shown = stepladder("--out", "plan.parquet", "--id", "who", "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["set_aside"] == ["sex", "approved"]
    kept = sl.Recourse.load("plan.parquet")
    assert kept.set_aside == ("sex", "approved")
    assert kept.template.columns == expected(table(40)).template.columns


def test_parquet_holds_every_row_of_every_path(folder, monkeypatch, table):
    monkeypatch.setattr(inputs, "AT_A_TIME", 7)
    assert stepladder("--out", "plan.parquet").exit_code == 0
    kept = parquet.read_table("plan.parquet")
    result = expected(table(40))
    own = ["outcome", "reason", "nearness", "point", "efforts", "ranks", "tight", "holds"]
    rows = kept.to_pandas().drop(columns=own)
    pd.testing.assert_frame_equal(rows, result.paths, check_dtype=False)
    ends = kept.to_pandas().groupby(["person", "path"]).last().reset_index()
    assert ends["outcome"].tolist() == result.final["outcome"].tolist()
    facts = json.loads(kept.schema.metadata[b"stepladder.run"])
    assert facts["settings"]["method"] == "StEP"
    assert facts["goal"]["threshold"] == 0.6


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_a_report_comes_with_the_result_when_asked_for(folder, ending):
    shown = stepladder("--out", f"plan{ending}", "--report", "report.html")
    assert shown.exit_code == 0, shown.output
    assert "The report is in report.html." in shown.stderr
    page = Path("report.html").read_text(encoding="utf-8")
    assert re.search(r"\d+ of \d+ who asked have a route to a yes", page)
    rows = pd.read_parquet("data.parquet").drop(columns=["sex", "approved"])
    assert data_hash(rows) in page


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--out", "plan.csv", "--report", "r.html"], "give --out a .parquet or .json file."),
        (["--report", "r.html"], "give --out a .parquet or .json file."),
        (["--out", "plan.parquet", "--report", "r.pdf"], "expected a name that ends in .html."),
        (["--out", "plan.parquet", "--report", "no/r.html"], "Can't write to 'no/r.html': No such"),
    ],
)
def test_a_report_that_cannot_be_written_is_said_before_the_run(folder, more, said):
    shown = stepladder(*more)
    assert shown.exit_code in (1, 2)
    assert said in shown.stderr
    assert files(folder) == INPUTS


def test_the_result_knows_what_it_was_made_from(folder):
    skops = pytest.importorskip("skops.io")
    data = pd.read_parquet("data.parquet").drop(columns=["sex", "approved"])
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    ).fit(data, data["income"] - data["debt"] > 20)
    skops.dump(model, "model.skops")
    assert stepladder("--out", "plan.parquet", model="model.skops").exit_code == 0
    fingerprints = sl.Recourse.load("plan.parquet").fingerprints
    assert fingerprints == {"model": model_hash("model.skops"), "data": data_hash(data)}
    assert stepladder("--out", "plan.parquet").exit_code == 0
    assert set(sl.Recourse.load("plan.parquet").fingerprints) == {"data"}


def test_a_level_that_looks_like_a_gap_is_a_level_if_the_schema_says_so(folder, table):
    levels = ["NA", "clerk", "smith"]
    rules = [*SCHEMA.features[:3], sl.Categorical("job", levels=levels, change="never")]
    sl.Schema(rules).save("schema.yaml")
    for file, rows in (("data.csv", table(300, seed=0)), ("people.csv", table(40))):
        rows.replace({"job": {"None": "NA"}}).to_csv(file, index=False)
    shown = stepladder("--json", data="data.csv", people="people.csv")
    assert "missing_value" not in json.loads(shown.stdout)["outcomes"]


def test_levels_that_were_learned_are_read_alike_from_a_csv(folder, table):
    rules = [*SCHEMA.features[:3], sl.Categorical("job", change="never")]
    sl.Schema(rules).save("schema.yaml")
    codes = {"job": {"None": "1", "clerk": "2", "smith": "3"}}
    table(300, seed=0).replace(codes).to_parquet("data.parquet")
    table(40).replace(codes).to_csv("people.csv", index=False)
    assert stepladder(people="people.csv").exit_code == 0


@pytest.mark.parametrize("package", ["jinja2", "altair", "vl_convert"])
def test_what_a_report_needs_is_asked_for_before_the_run(folder, monkeypatch, package):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else found(name)
    )
    shown = stepladder("--out", "plan.parquet", "--report", "report.html")
    assert shown.exit_code == 1
    assert f"Making a page needs {package}" in shown.stderr
    assert files(folder) == INPUTS


def test_the_result_is_told_before_its_report_is_made(folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(recourse, "_write_report", interrupted)
    shown = stepladder("--out", "plan.parquet", "--report", "report.html")
    assert shown.exit_code == 130
    assert "Written to plan.parquet" in shown.stderr
    assert Path("plan.parquet").exists()


def test_reference_rows_without_a_value_are_counted_aloud(folder, table):
    data = table(300, seed=0)
    data.loc[:2, "income"] = np.nan
    data.to_parquet("data.parquet")
    said = stepladder().stderr
    assert "Reference rows left out, since a value is missing: 3." in said


def test_json_holds_every_person_with_their_paths(folder, table):
    assert stepladder("--out", "plan.json", "--paths", "2").exit_code == 0
    kept = json.loads(Path("plan.json").read_text())
    result = expected(table(40), paths=2)
    assert [person["person"] for person in kept["people"]] == list(range(40))
    ends = [path["rows"][-1]["score"] for person in kept["people"] for path in person["paths"]]
    np.testing.assert_allclose(ends, result.final["score"])
    assert kept["run"]["settings"]["paths"] == 2


def test_json_on_stdout_is_one_object_of_counts_and_metrics(folder, monkeypatch, table):
    monkeypatch.setattr(inputs, "AT_A_TIME", 9)
    shown = stepladder("--json", "--out", "plan.csv")
    said = json.loads(shown.stdout)
    result = expected(table(40))
    assert said["people"] == 40
    assert said["complete"] is True
    assert said["outcomes"] == result.status["outcome"].value_counts().to_dict()
    for name, value in result.metrics().iloc[0].items():
        assert said["metrics"][name] == pytest.approx(value)
    assert said["out"] == "plan.csv"


def test_quiet_says_nothing(folder):
    shown = stepladder("--quiet", "--out", "plan.csv")
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "", "")


def test_without_out_it_only_counts(folder):
    assert stepladder().exit_code == 0
    assert files(folder) == INPUTS


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_csv_tables_give_what_parquet_gives(folder, ending, table):
    table(300, seed=0).to_csv(f"data{ending}", index=False)
    table(40).to_csv(f"people{ending}", index_label="who")
    stepladder("--out", "a.parquet")
    shown = stepladder(
        *("--id", "who", "--out", "b.parquet"), data=f"data{ending}", people=f"people{ending}"
    )
    assert shown.exit_code == 0, shown.output
    one, two = (parquet.read_table(name).to_pandas() for name in ("a.parquet", "b.parquet"))
    assert two["person"].tolist() == one["person"].astype(str).tolist()
    pd.testing.assert_frame_equal(one.iloc[:, 1:], two.iloc[:, 1:], check_dtype=False)


def test_people_are_called_by_their_index_or_by_a_column(folder, table):
    people = table(4).set_axis(["ann", "bob", "cy", "di"])
    people.to_parquet("people.parquet")
    stepladder("--out", "plan.csv", "--paths", "1")
    assert pd.read_csv("plan.csv")["person"].tolist() == ["ann", "bob", "cy", "di"]
    people.rename_axis("who").to_parquet("people.parquet")
    assert stepladder("--id", "who").exit_code == 0
    people.reset_index(drop=True).assign(who=[7, 8, 9, 4]).to_parquet("people.parquet")
    stepladder("--out", "plan.json", "--paths", "1", "--id", "who")
    kept = json.loads(Path("plan.json").read_text())["people"]
    assert [person["person"] for person in kept] == [7, 8, 9, 4]


def test_a_missing_value_is_an_outcome_in_every_form(folder, table):
    people = table(20).astype({"age": "Int64"})
    people.loc[1, "income"] = np.nan
    people.loc[2, "age"] = pd.NA
    people.loc[3, "job"] = None
    people.to_parquet("people.parquet")
    for name in ("plan.parquet", "plan.csv", "plan.json"):
        shown = stepladder("--out", name, "--json")
        assert shown.exit_code == 0, shown.output
        # The model takes jobs and ages as they come, and has a score for a gap in them.
        assert json.loads(shown.stdout)["outcomes"]["missing_value"] == 1
    rows = json.loads(Path("plan.json").read_text())["people"][1]["paths"][0]
    assert rows["reason"] == "no value for income"
    assert rows["rows"][0]["score"] is None


def test_limit_takes_the_first_people(folder, monkeypatch):
    monkeypatch.setattr(inputs, "AT_A_TIME", 8)
    stepladder("--out", "plan.csv", "--limit", "11", "--paths", "1")
    assert pd.read_csv("plan.csv")["person"].tolist() == list(range(11))


# ---- locks and limits -------------------------------------------------------------------------


def test_what_is_locked_changes_for_nobody(folder):
    assert "debt" in set(_made("--paths", "2")["feature"])
    assert set(_made("--lock", "DEBT")["feature"]) == {"income"}
    assert set(_made("--lock", "debt,age", "--lock", "job")["feature"]) == {"income"}


def _made(*more: object, **changed: object) -> pd.DataFrame:
    shown = stepladder("--out", "plan.parquet", *more, **changed)
    assert shown.exit_code == 0, shown.output
    return sl.Recourse.load("plan.parquet").changes


LIMITS = "person,feature,low,high\n3,income,,33.5\n17,debt,5,\n17,income,35,40\n39,income,,0\n"


def assert_limited(people: pd.DataFrame, names: dict[int, object]) -> None:
    """Whether the plan keeps to `LIMITS`, and does for nobody else what it wouldn't without."""
    plan, free = (
        result.paths.set_index("person")
        for result in (sl.Recourse.load("plan.parquet"), expected(people))
    )
    assert (plan.loc[names[3], "income"] <= max(33.5, people["income"].iloc[3])).all()
    assert (plan.loc[names[17], "debt"] >= min(5, people["debt"].iloc[17])).all()
    moved = plan.loc[names[17], "income"]
    assert (moved.between(35, 40) | (moved == people["income"].iloc[17])).all()
    assert (plan.loc[names[39], "income"] == people["income"].iloc[39]).all()
    others = [label for i, label in names.items() if i not in (3, 17, 39)]
    pd.testing.assert_frame_equal(plan.loc[others], free.loc[others])
    assert not plan.loc[names[39]].equals(free.loc[names[39]])


def poor(table) -> pd.DataFrame:
    """People who all ask."""
    return table(40).assign(income=lambda rows: (rows["income"] / 2).round(2))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("names", [range(40), range(100, 140), [f"p {i}" for i in range(40)]])
def test_limits_hold_for_the_people_that_a_file_names(folder, monkeypatch, table, names, ending):
    monkeypatch.setattr(inputs, "AT_A_TIME", 7)
    people = poor(table)
    named = people if names == range(40) else people.assign(who=names)
    named.to_parquet("people.parquet")
    Path("limits.csv").write_text(LIMITS)
    rows = pd.read_csv("limits.csv")
    rows["person"] = [names[i] for i in rows["person"]]
    file = f"limits{ending}"
    rows.to_csv(file, index=False) if ending == ".csv" else rows.to_parquet(file)
    _made("--limits", file, *(() if named is people else ("--id", "who")))
    assert_limited(people.set_axis(names), dict(enumerate(names)))


def test_limits_of_people_beyond_those_asked_for_do_no_harm(folder):
    Path("limits.csv").write_text(LIMITS)
    _made("--limits", "limits.csv", "--limit", "5")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x,income,,3\n", "'limits.csv', line 2: nobody in 'people.parquet' is called 'x'. It has"),
        ("3,income,,3\n40,income,,3\n", "line 3: nobody in 'people.parquet' is called '40'."),
        ("3,incom,,3\n", "('limits.csv', line 2): The schema has no feature 'incom'. Did you mean"),
        ("3,income,5,3\n", "('limits.csv', line 2) are contradictory: low 5 is above high 3."),
        ("3,income,few,\n", "('limits.csv', line 2): low must be a number"),
        ("3,job,clerk,\n", "limits are for what has an order, and it's categorical."),
        ("3,income,,3\n3,income,1,\n", "'3' on 'income' ('limits.csv', line 3) are given twice."),
        (",income,,3\n", "Limits without a person ('limits.csv', line 2)."),
        ("\n3,income,few,\n", "('limits.csv', row 1): low must be a number"),
    ],
)
def test_limits_that_are_wrong_are_refused_before_anything_is_done(
    folder, monkeypatch, content, said
):
    monkeypatch.setattr(inputs, "AT_A_TIME", 7)
    Path("limits.csv").write_text(f"person,feature,low,high\n{content}")
    shown = stepladder("--out", "plan.csv", "--limits", "limits.csv")
    assert shown.exit_code == 1, shown.output
    assert said in " ".join(shown.stderr.split())
    assert files(folder) == {*INPUTS, "limits.csv"}


def test_a_file_of_limits_that_cannot_be_read_is_said(folder):
    assert "There is no table at 'no.csv'." in stepladder("--limits", "no.csv").stderr
    Path("limits.csv").write_text("who,feature,low,high\n3,income,,3\n")
    shown = stepladder("--limits", "limits.csv")
    assert "'limits.csv' has no column 'person', which --limits names." in shown.stderr
    pd.DataFrame({"person": [3], "feature": ["incom"], "low": [1.0], "high": [None]}).to_parquet(
        "limits.parquet"
    )
    shown = stepladder("--limits", "limits.parquet")
    assert "('limits.parquet', row 1): The schema has no feature 'incom'." in shown.stderr
    shown = stepladder("--lock", "incom")
    assert "There's no feature called 'incom'. Did you mean 'income'?" in shown.stderr
    shown = stepladder("--out", "limits.csv", "--limits", "limits.csv")
    assert "--out limits.csv is a file that is read from" in " ".join(shown.stderr.split())


def test_a_feature_may_be_called_as_a_column_of_limits(folder, table):
    rules = [sl.Numeric("low", typical=(0, 60)), *SCHEMA.features[1:]]
    sl.Schema(rules).save("schema.yaml")
    Path("loans.py").write_text(MODULE.replace('frame["income"]', 'frame["low"]'))
    for file, rows in (("data.parquet", table(300, seed=0)), ("people.parquet", table(40))):
        rows.rename(columns={"income": "low"}).to_parquet(file)
    Path("limits.csv").write_text("person,feature,low,high\n3,low,,20\n4,debt,few,\n")
    assert (
        "'debt' ('limits.csv', line 3): low must be" in stepladder("--limits", "limits.csv").stderr
    )
    Path("limits.csv").write_text("person,feature,low,high\n3,low,,20\n")
    _made("--limits", "limits.csv")


def test_a_time_budget_covers_the_whole_run(folder, monkeypatch):
    monkeypatch.setattr(inputs, "AT_A_TIME", 5)
    shown = stepladder("--time-budget", "1e-9", "--json", "--out", "plan.csv")
    said = json.loads(shown.stdout)
    assert said["outcomes"] == {"timed_out": 40}
    assert said["people"] == 40
    assert shown.exit_code == 3


def test_a_skops_model_a_class_labels_and_another_method(folder, table):
    skops = pytest.importorskip("skops.io")
    data = table(300, seed=0)
    schema = sl.Schema(SCHEMA.features[:3])
    schema.save("schema.yaml")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    skops.dump(model.fit(data[list(schema.names)], data["approved"]), "model.skops")
    for method in ("step", "dice"):
        shown = stepladder(
            *("--desired", "no", "--labels", "approved", "--method", method, "--json"),
            model="model.skops",
        )
        assert shown.exit_code == 0, shown.output
        assert json.loads(shown.stdout)["goal"] == "a score of at least 0.6 for 'no'"
    shown = stepladder("--desired", "nope", model="model.skops")
    assert "has no class 'nope'" in shown.stderr


def three_classes(table) -> Path:
    """A model of three classes, and the data that it was trained on."""
    skops = pytest.importorskip("skops.io")
    data = table(300, seed=0)
    data["approved"] = pd.cut(data["income"] - data["debt"], 3, labels=["no", "partly", "yes"])
    data.astype({"approved": str}).to_parquet("data.parquet")
    sl.Schema(SCHEMA.features[:3]).save("schema.yaml")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    rows = data[["income", "debt", "age"]]
    skops.dump(model.fit(rows, data["approved"].astype(str)), "model.skops")
    return rows, model


def test_several_classes_may_be_desired(folder, table):
    rows, model = three_classes(table)
    wanted = ["--desired", "yes", "--desired", "partly"]
    shown = stepladder(
        *wanted, "--labels", "approved", "--out", "plan.json", "--json", model="model.skops"
    )
    assert shown.exit_code == 0, shown.output
    said = json.loads(shown.stdout)
    assert said["goal"] == "a score of at least 0.6 for 'yes' or 'partly'"
    kept = sl.Recourse.load("plan.json")
    assert kept.goal == sl.Goal(0.6, desired=["yes", "partly"])
    final = kept.final[kept.final["outcome"] == "reached"]
    scores = model.predict_proba(final[list(rows.columns)])
    np.testing.assert_allclose(final["score"], scores[:, 1] + scores[:, 2])
    shown = stepladder("--desired", "yes", "--desired", "partli", model="model.skops")
    assert "has no class 'partli'. Did you mean 'partly'?" in shown.stderr
    shown = stepladder("--desired", "yes", "--desired", "yes", model="model.skops")
    assert shown.exit_code == 2
    assert "--desired yes is given more than once." in shown.stderr


REGRESSION = """
import numpy as np

def worth(frame):
    return 100 * (frame["income"] - frame["debt"]) - 5000
"""


def regression(*more: object):
    """A run of a model that predicts a number, from about −5,000 to 0."""
    Path("worths.py").write_text(REGRESSION)
    usual = {**USUAL, "--model": "worths:worth"}
    usual.pop("--goal")
    given = [part for pair in usual.items() for part in pair]
    return CliRunner().invoke(app, ["recourse", *given, *map(str, more)])


@pytest.mark.parametrize(
    ("ends", "goal"),
    [
        (("-2500", "-1000"), sl.Goal.between(-2500, -1000)),
        (("-2500", "none"), sl.Goal.between(low=-2500)),
        (("None", "-3e3"), sl.Goal.between(high=-3000)),
    ],
)
def test_a_prediction_may_be_wanted_between_two_numbers(folder, ends, goal):
    shown = regression("--goal-between", *ends, "--out", "plan.json", "--paths", 1)
    assert shown.exit_code == 0, shown.output
    kept = sl.Recourse.load("plan.json")
    assert kept.goal == goal
    reached = kept.final[kept.final["outcome"] == "reached"]
    assert len(reached)
    assert goal.met(reached["score"].to_numpy()).all()


@pytest.mark.parametrize(
    ("more", "said", "status"),
    [
        (["--goal", "0.6"], "scores classes; give one of them", 2),
        (["--desired", "yes"], "and --desired for one that scores classes", 2),
        (["--goal-between", "low", "9"], "or none for an open end; got 'low'", 2),
        (["--goal-between", "1", "inf"], "or none for an open end; got 'inf'", 2),
        (["--goal-between", "nan", "1"], "or none for an open end; got 'nan'", 2),
        (["--goal-between", "none", "none"], "needs a low end, a high end or both", 1),
        (["--goal-between", "9", "1"], "low 9.0 is above high 1.0; swap them", 1),
    ],
)
def test_a_range_that_is_none_is_refused(folder, more, said, status):
    shown = regression("--goal-between", "1", "2", *more, "--out", "plan.json")
    assert shown.exit_code == status
    assert said in " ".join(shown.stderr.split())
    assert files(folder) == {*INPUTS, "worths.py"}


def test_a_number_without_a_range_is_answered_with_the_option_for_one(folder):
    shown = regression()
    assert shown.exit_code == 1
    assert "on the command line --goal-between LOW HIGH" in shown.stderr


def test_a_privacy_budget_is_spent_from_its_ledger(folder):
    pytest.importorskip("opendp")
    budget = ["--epsilon", "1", "--delta", "1e-6", "--ledger", "ledger.sqlite"]
    shown = stepladder(*budget, "--json", "--out", "plan.parquet")
    assert shown.exit_code in (0, 3), shown.output
    said = json.loads(shown.stdout)
    assert said["privacy"]["way"] == "once"
    assert set(said["reference"]) == {"made_up"}
    again = stepladder("--ledger", "ledger.sqlite")
    assert again.exit_code == 1
    assert len(again.stderr.splitlines()) == 3  # two tables with a column set aside, one error
    assert sl.Budget.open("ledger.sqlite").statement.left == pytest.approx(0, abs=1e-6)


def test_when_nobody_who_asks_has_a_path_the_result_is_written_and_the_exit_is_3(folder, table):
    table(5).assign(age=30).to_parquet("people.parquet")
    shown = stepladder("--out", "plan.csv", model="loans:old")
    assert shown.exit_code == 3, shown.output
    assert "0 have a path" in shown.stdout
    assert len(pd.read_csv("plan.csv")) == 15


def test_what_was_bought_is_used_again_for_nothing(folder):
    pytest.importorskip("opendp")
    budget = ["--ledger", "spent.sqlite", "--bought", "facts.json", "--quiet"]
    first = stepladder(*budget, "--epsilon", "1", "--delta", "1e-6", "--out", "first.csv")
    again = stepladder(*budget, "--out", "again.csv")
    assert (first.exit_code, again.exit_code) == (0, 0), again.output
    assert len(sl.Budget.open("spent.sqlite").entries()) == 1
    assert Path("first.csv").read_text() == Path("again.csv").read_text()
    shown = stepladder(*budget, goal="0.7")
    assert "'facts.json' was made with another schema or goal." in shown.stderr


def test_what_is_wrong_with_the_inputs_is_said_before_anything_is_paid(folder, table):
    pytest.importorskip("opendp")
    budget = ["--epsilon", "1", "--delta", "1e-6", "--ledger", "spent.sqlite", "--quiet"]
    sl.Schema([sl.Numeric("income"), *SCHEMA.features[1:]]).save("open.yaml")
    table(40).assign(job="thief").to_parquet("odd.parquet")
    before = files(folder)
    for changed in (
        {"schema": "open.yaml"},
        {"model": "loans:broken"},
        {"people": "odd.parquet"},
        {"people": "odd.parquet", "invalid": "raise"},
        {"method": "stpe"},
        {"method": "dice"},
    ):
        shown = stepladder(*budget, **changed)
        assert shown.exit_code == (2 if "method" in changed else 1), shown.output
        assert files(folder) == before


# ---- how often files are read -----------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch) -> Counter[str]:
    """How often all rows of each file were read so far; opening one for its columns isn't that."""
    counted: Counter[str] = Counter()
    opened: dict[int, str] = {}

    class Counted(parquet.ParquetFile):
        def __init__(self, file, *rest, **more):
            opened[id(self)] = Path(file).name
            super().__init__(file, *rest, **more)

        def read(self, *rest, **more):
            counted[opened[id(self)]] += 1
            return super().read(*rest, **more)

        def iter_batches(self, *rest, **more):
            counted[opened[id(self)]] += 1
            return super().iter_batches(*rest, **more)

    def counting(function):
        def read(file, *rest, **more):
            counted.update([file.name] if file.parent == Path() else [])  # what libraries read
            return function(file, *rest, **more)

        return read

    monkeypatch.setattr(parquet, "ParquetFile", Counted)
    monkeypatch.setattr(csv, "read_csv", counting(csv.read_csv))
    monkeypatch.setattr(csv, "open_csv", counting(csv.open_csv))
    monkeypatch.setattr(Path, "read_text", counting(Path.read_text))
    return counted


def test_files_are_read_once_and_people_once_more_to_check_them_first(folder, reads, table):
    table(40).assign(who=range(40)).to_parquet("people.parquet")
    wanted = ["--labels", "approved", "--desired", "yes"]
    shown = stepladder(*wanted, "--id", "who", "--out", "plan.parquet")
    assert shown.exit_code == 0, shown.output
    assert reads == {"data.parquet": 1, "schema.yaml": 1, "people.parquet": 2}


def test_of_a_csv_the_head_is_read_besides(folder, reads, table):
    table(300, seed=0).to_csv("data.csv", index=False)
    table(40).to_csv("people.csv", index=False)
    assert stepladder("--out", "plan.csv", data="data.csv", people="people.csv").exit_code == 0
    assert reads == {"data.csv": 1 + 1, "schema.yaml": 1, "people.csv": 1 + 2}


def test_a_walk_reads_each_file_once(folder, reads):
    shown = CliRunner().invoke(app, ["walk", *arguments("--person", 7)[1:]], input="quit\n")
    assert shown.exit_code == 0, shown.output
    assert reads == {"data.parquet": 1, "schema.yaml": 1, "people.parquet": 1}


def test_a_schema_is_guessed_from_a_table_that_is_read_once(folder, reads, table):
    table(40).astype({"job": "category"}).to_parquet("data.parquet")
    assert CliRunner().invoke(app, ["schema", "data.parquet"]).exit_code == 0
    assert reads == {"data.parquet": 1}


def test_a_person_s_name_is_checked_where_a_batch_ends(folder, monkeypatch, table):
    monkeypatch.setattr(inputs, "AT_A_TIME", 7)
    table(40).assign(who=[*range(39), 3]).to_parquet("people.parquet")
    shown = stepladder("--id", "who", "--quiet")
    assert "More than one person is called '3' by the column 'who'" in shown.stderr


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (pd.date_range("2024-02-27", periods=4), pd.date_range("2024-02-27", periods=4)),
        ([1.5, 2.5, 3.5, 4.5], [1.5, 2.5, 3.5, 4.5]),
        (pd.Categorical(list("abcd")), list("abcd")),
        ([b"a", b"b", b"c", b"d"], ["b'a'", "b'b'", "b'c'", "b'd'"]),
    ],
    ids=["dates", "numbers", "categories", "bytes"],
)
@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_people_may_be_called_by_all_that_a_table_holds(folder, table, names, kept, ending):
    table(4).assign(who=names).to_parquet("people.parquet")
    assert stepladder("--id", "who", "--out", f"plan{ending}").exit_code == 0
    assert sl.Recourse.load(f"plan{ending}").status["person"].tolist() == list(kept)


@pytest.mark.parametrize("ending", [".parquet", ".json", ".csv"])
def test_the_published_method_leaves_whole_numbers_unrounded(folder, table, ending):
    rules = [sl.Numeric("income", integer=True, typical=(0, 60)), *SCHEMA.features[1:]]
    sl.Schema(rules).save("schema.yaml")
    table(40).astype({"income": int}).to_parquet("people.parquet")
    shown = stepladder("--method", "step.published", "--out", f"plan{ending}")
    assert shown.exit_code == 0, shown.output
    kept = pd.read_csv("plan.csv") if ending == ".csv" else sl.Recourse.load(f"plan{ending}").final
    assert (kept["income"] % 1 != 0).any()


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "none.onnx"}, "There is no model file at 'none.onnx'."),
        ({"model": "loans:modle"}, "has no 'modle', which the model 'loans:modle' names. Did you"),
        ({"model": "loans:broken"}, "The model broken raised RuntimeError: no such thing"),
        ({"model": "loans:never"}, "None of the 300 reference rows meets the goal"),
        ({"data": "none.parquet"}, "There is no table at 'none.parquet'."),
        ({"data": "empty.parquet"}, "Error: 'empty.parquet' has no rows."),
        ({"data": "odd.csv"}, "'odd.csv', line 3: 'income' is 'lots', but by the schema it's a"),
        ({"data": "semicolons.csv"}, "were separated by ';'; expected commas."),
        ({"people": "nobody.csv", "id": "who"}, "a person without a value in 'who'"),
        ({"people": "odd.csv"}, "'odd.csv', line 3: 'income' is 'lots', but by the schema it's a"),
        ({"people": "none.csv"}, "There is no table at 'none.csv'."),
        ({"people": "people.feather"}, "ends in .parquet, .csv, .csv.gz."),
        ({"schema": "none.yaml"}, "There is no schema file at 'none.yaml'. Make one: stepladder"),
        ({"schema": "bad.yaml"}, "bad.yaml, line 3, column 9: not YAML"),
        (
            {"schema": "other.yaml"},
            "'data.parquet' has no column 'incom', which the schema names. ",
        ),
        (
            {"labels": "aproved"},
            "no column 'aproved', which --labels names. Did you mean 'approved'",
        ),
        ({"id": "whom"}, "'people.parquet' has no column 'whom', which --id names."),
        ({"method": "stpe"}, "There's no method 'stpe'. Did you mean 'step'?"),
        ({"out": "plan.xlsx"}, "expected a name that ends in .parquet, .csv, .json."),
        ({"out": "no/plan.csv"}, "Can't write to 'no/plan.csv': No such file or directory."),
        ({"out": "/proc/plan.csv"}, "Can't write to '/proc/plan.csv': "),
        ({"ledger": "none.sqlite"}, "none.sqlite"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(folder, changed, said, table):
    Path("bad.yaml").write_text("features:\n- name: income\n    kind: numeric\n")
    Path("other.yaml").write_text("features:\n- {name: incom, kind: numeric}\n")
    table(0).to_parquet("empty.parquet")
    table(3).assign(income=["30", "lots", "20"]).to_csv("odd.csv", index=False)
    table(3).to_csv("semicolons.csv", index=False, sep=";")
    table(3).assign(who=["a", None, "c"]).to_csv("nobody.csv", index=False)
    before = files(folder)
    shown = stepladder("--quiet", **{"out": "plan.parquet", **changed})
    assert shown.exit_code == 1, shown.output
    assert shown.stdout == ""
    assert shown.stderr.startswith("Error: ")
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr
    assert files(folder) == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--epsilon", "1"], "--epsilon and --delta come together"),
        (["--epsilon", "1", "--delta", "1e-6", "--method", "dice"], "Only --method step"),
        (["--bought", "facts.json"], "--bought goes with a privacy budget: --epsilon and --delta"),
        (["--labels", "job"], "--labels job is a feature in schema.yaml"),
        (["--out", "./people.parquet"], "is a file that is read from"),
        (["--model", "m.json", "--out", "./m.json"], "is a file that is read from"),
        (["--limit", "0"], "--limit"),
        (["--goal", "high"], "--goal"),
        (["--goal", "60"], "'--goal': 60 isn't a score above 0 and at most 1. Did you mean 0.6?"),
        (["--goal", "-1"], "'--goal': -1 isn't a score above 0 and at most 1.\n"),
        (["--paths", "0"], "'--paths'"),
        (["--time-budget", "-3"], "'--time-budget': -3 isn't a number of seconds above 0."),
    ],
)
def test_bad_usage_is_exit_2(folder, more, said):
    shown = stepladder(*more)
    assert shown.exit_code == 2
    assert said in shown.stderr
    assert files(folder) == INPUTS


def test_a_person_outside_the_bounds_is_named_with_their_place(folder, monkeypatch, table):
    monkeypatch.setattr(inputs, "AT_A_TIME", 10)
    sl.Schema([sl.Numeric("income", bounds=(None, 500)), *SCHEMA.features[1:]]).save("schema.yaml")
    people = table(40)
    people.loc[25, "income"] = 900.0
    people.to_parquet("people.parquet")
    shown = stepladder("--out", "plan.csv", "--quiet", "--invalid", "raise")
    assert shown.exit_code == 1
    assert "'people.parquet': Row 25 has income = 900, outside the schema's own" in shown.stderr
    assert files(folder) == INPUTS


# ---- invalid rows -----------------------------------------------------------------------------

SMITH = (
    "'smit' isn't a level of 'job'. Did you mean 'smith'? Known levels: 'None', 'clerk', 'smith'. "
    "Correct the value, or add the level to the schema."
)


@pytest.fixture
def invalid(folder, monkeypatch, table) -> pd.DataFrame:
    """Forty people, of whom 3 and 25 are invalid."""
    monkeypatch.setattr(inputs, "AT_A_TIME", 10)
    people = table(40)
    people.loc[3, "job"] = "smit"
    people.loc[25, "income"] = np.inf
    people.to_parquet("people.parquet")
    return people


@pytest.mark.parametrize("more", [[], ["--quiet"], ["--report", "report.html"]])
def test_invalid_rows_are_listed_and_everybody_else_is_answered(invalid, table, more):
    shown = stepladder("--out", "plan.parquet", *more)
    assert shown.exit_code == 4, shown.output
    assert (
        f"2 rows are invalid:\n  3: {SMITH}\n"
        "  25: 'income' is infinite. Replace it with a number or a gap.\n"
    ) in shown.stderr
    assert ("invalid_row 2" in shown.stdout) == ("--quiet" not in more)
    final = sl.Recourse.load("plan.parquet").final.set_index("person")
    assert set(final.loc[[3, 25], "outcome"]) == {"invalid_row"}
    others = final.drop(index=[3, 25])
    usual = expected(table(40)).final.set_index("person").drop(index=[3, 25])
    assert others["outcome"].tolist() == usual["outcome"].tolist()
    np.testing.assert_allclose(others["score"], usual["score"])
    assert Path("report.html").exists() == ("--report" in more)


def test_of_many_invalid_rows_ten_are_listed_and_json_has_them_all(folder, table):
    people = table(40).set_axis([f"p{i}" for i in range(40)])
    people.iloc[:13, people.columns.get_loc("job")] = "smit"
    people.to_parquet("people.parquet")
    said = stepladder().stderr.splitlines()
    start = said.index("13 rows are invalid:")
    listed = said[start + 1 : start + 12]
    assert listed == [*(f"  p{i}: {SMITH}" for i in range(10)), "  and 3 more"]
    shown = stepladder("--json")
    assert shown.exit_code == 4
    found = json.loads(shown.stdout)
    assert found["invalid"] == [{"person": f"p{i}", "reason": SMITH} for i in range(13)]
    assert found["outcomes"]["invalid_row"] == 13


def test_without_an_invalid_row_nothing_is_said_of_any(folder):
    shown = stepladder("--json")
    assert shown.exit_code == 0
    assert json.loads(shown.stdout)["invalid"] == []
    assert "invalid" not in shown.stderr


def test_an_invalid_row_is_said_by_the_exit_before_nobody_has_a_path(folder, table):
    people = table(40)
    people[(people["age"] < 40)].head(5).to_parquet("people.parquet")
    assert stepladder(model="loans:old").exit_code == 3
    people = people[(people["age"] < 40)].head(5)
    people.iloc[0, people.columns.get_loc("job")] = "smit"
    people.to_parquet("people.parquet")
    shown = stepladder(model="loans:old")
    assert shown.exit_code == 4
    assert "1 row is invalid:\n" in shown.stderr


def test_invalid_rows_raise_where_that_is_wanted_before_the_first_answer(invalid, folder):
    shown = stepladder("--out", "plan.csv", "--invalid", "raise")
    assert shown.exit_code == 1
    assert "Error: 'people.parquet': 'smit' isn't a level of 'job'" in shown.stderr
    assert files(folder) == INPUTS
    shown = stepladder("--invalid", "skip")
    assert shown.exit_code == 2
    assert "'skip' is neither outcome nor raise." in shown.stderr


def test_a_whole_column_that_is_wrong_ends_the_run_before_the_first_answer(folder, table):
    table(40).assign(income="much").to_parquet("people.parquet")
    shown = stepladder("--out", "plan.csv")
    assert shown.exit_code == 1
    assert "'people.parquet': Column 'income' is declared numeric but holds" in shown.stderr
    assert files(folder) == INPUTS


# ---- who is who -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_people_who_are_called_the_same_are_refused(folder, table, ending):
    people = table(40).assign(who=[f"p{i}" for i in [*range(30), 17, *range(31, 40)]])
    people.to_parquet("people.parquet", index=False)
    people.to_csv("people.csv", index=False)
    asked = ["--id", "who", "--quiet", "--out", "plan.csv"]
    before = files(folder)
    shown = stepladder(*asked, people=f"people{ending}")
    assert shown.exit_code == 1
    assert shown.stderr == (
        f"Error: More than one person is called 'p17' by the column 'who' of 'people{ending}'. "
        "Give --id a column that tells everyone apart, or leave it out to call them by their "
        "row number.\n"
    )
    assert files(folder) == before
    assert stepladder(*asked, "--limit", "30", people=f"people{ending}").exit_code == 0


def test_an_index_that_calls_people_the_same_is_refused(folder, table):
    pd.concat([table(3), table(3)]).to_parquet("people.parquet")
    shown = stepladder("--quiet")
    assert "More than one person is called '0' by the index of 'people.parquet'." in shown.stderr
    assert "with --id, or write the table without its index.\n" in shown.stderr


def test_names_that_only_share_a_hash_are_told_apart(folder, table, monkeypatch):
    monkeypatch.setattr("stepladder.cli.tablefile.hash", len, raising=False)
    table(40).assign(who=[f"p{i}" for i in range(40)]).to_parquet("people.parquet")
    assert stepladder("--id", "who", "--quiet").exit_code == 0


BUDGET = {"epsilon": "1", "delta": "1e-6"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"schema": "open.yaml", **BUDGET},
            "Give each bounds, or a typical range, in the schema: [low",
        ),
        ({"schema": "dated.yaml"}, "'data.parquet': Column 'when' is declared numeric but holds d"),
        (
            {"schema": "tight.yaml", "invalid": "raise"},
            "'people.parquet': Row 5 has income = 900, outside the schema",
        ),
        ({"model": "loans:never"}, "Lower the goal, check which class is desired, or give more"),
        ({"paths": "299"}, "reference rows meet the goal. Ask for "),
        ({"ledger": "none.sqlite"}, "make a new one, with an epsilon and a delta, where you may"),
        ({"ledger": "spent.sqlite"}, "kept in a file (saved=, or --bought) can be used"),
        (
            {**BUDGET, "epsilon": "-1"},
            "The epsilon of a privacy budget must be a number from 1e-06",
        ),
    ],
)
def test_advice_can_be_followed_at_the_command_line(folder, table, changed, said):
    pytest.importorskip("opendp")
    days = pd.date_range("2020-01-01", periods=300)
    table(300, seed=0).assign(when=days).to_parquet("data.parquet")
    people = table(40).assign(when=days[:40])
    people.loc[5, "income"] = 900.0
    people.to_parquet("people.parquet")
    rest = SCHEMA.features[1:]
    sl.Schema([sl.Numeric("income"), *rest]).save("open.yaml")
    sl.Schema([*SCHEMA.features, sl.Numeric("when")]).save("dated.yaml")
    sl.Schema([sl.Numeric("income", bounds=(None, 500)), *rest]).save("tight.yaml")
    budget = sl.Budget(1, 1e-6, ledger="spent.sqlite")
    budget.spend(budget.multiplier(), "everything")
    shown = stepladder("--quiet", **changed)
    assert shown.exit_code == 1, shown.output
    assert said in shown.stderr
    assert not re.search(r"np\.|sl\.|Numeric\(|Goal\(|Timestamp|=\(", shown.stderr)


def test_an_empty_table_of_people_is_said(folder, table):
    table(0).to_parquet("people.parquet")
    shown = stepladder("--out", "plan.csv", "--quiet")
    assert shown.stderr == "Error: 'people.parquet' has no rows.\n"
    assert files(folder) == INPUTS


def test_a_model_that_does_not_fit_the_data_is_said(folder, table):
    skops = pytest.importorskip("skops.io")
    data = table(300, seed=0)[["income", "debt"]].assign(savings=1.0)
    skops.dump(LogisticRegression().fit(data, data["debt"] > 10), "model.skops")
    shown = stepladder("--out", "plan.csv", "--quiet", model="model.skops")
    assert shown.exit_code == 1
    assert "it needs 'savings', which the schema doesn't name, and doesn't know" in shown.stderr
    assert files(folder) == {*INPUTS, "model.skops"}


def test_a_type_in_a_skops_model_is_trusted_by_its_name(folder, table):
    skops = pytest.importorskip("skops.io")
    data = table(300, seed=0)
    schema = sl.Schema(SCHEMA.features[:3])
    schema.save("schema.yaml")
    model = make_pipeline(SplineTransformer(), LogisticRegression())
    skops.dump(model.fit(data[list(schema.names)], data["approved"]), "model.skops")
    shown = stepladder(model="model.skops")
    assert shown.exit_code == 1
    options = re.search(r"say so with (--trust .*) \(trust=", shown.stderr)[1].split()
    assert len(options) == 4  # two types
    shown = stepladder(*options, model="model.skops")
    assert shown.exit_code == 0, shown.output


def test_a_crafted_pickle_is_not_executed(folder):
    import pickle

    class Crafted:
        def __reduce__(self):
            return Path.touch, (Path("executed"),)

    for name in ("model.pkl", "model.json", "model.skops"):
        Path(name).write_bytes(pickle.dumps(Crafted()))
        assert stepladder(model=name).exit_code == 1
        assert not Path("executed").exists()
    stepladder("--trust-pickle", model="model.pkl")
    assert Path("executed").exists()


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".json"])
def test_a_disk_that_fills_up_leaves_what_was_there(folder, ending, monkeypatch):
    monkeypatch.setattr(inputs, "AT_A_TIME", 10)
    out = Path(f"plan{ending}")
    out.write_text("mine")
    opened = Path.open

    class Full(io.RawIOBase):
        def writable(self):
            return True

        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    def full(self, mode="r", *rest, **more):
        made = opened(self, mode, *rest, **more)
        if mode != "wb":
            return made
        made.close()
        return Full()

    monkeypatch.setattr(Path, "open", full)
    shown = stepladder("--out", out, "--quiet")
    assert shown.exit_code == 1, shown.output
    assert shown.stderr == (
        f"Error: Can't write to '{out}': No space left on device. Choose a folder that exists, "
        "can be written to and has room.\n"
    )
    assert out.read_text() == "mine"
    assert files(folder) == {*INPUTS, out.name}


MOUNTS = shutil.which("unshare") is not None and (
    subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True,
        check=False,
    ).returncode
    == 0
)


@pytest.mark.skipif(not MOUNTS, reason="no small or read-only disk can be mounted here")
@pytest.mark.parametrize(
    ("options", "said", "ending"),
    [
        ("size=8k", "No space left on device", ".parquet"),
        ("size=8k", "No space left on device", ".json"),
        ("ro", "Read-only file system", ".csv"),
    ],
)
def test_a_real_disk_that_is_full_or_read_only(folder, options, said, ending, table):
    (folder / "disk").mkdir()
    table(400).to_parquet("people.parquet")
    command = [sys.executable, "-m", "stepladder", *arguments("--quiet", out=f"disk/plan{ending}")]
    script = f'mount -t tmpfs -o {options} tmpfs disk && "$@"; echo "$?"; ls -A disk'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1\n"
    assert done.stderr.startswith(f"Error: Can't write to 'disk/plan{ending}': {said}. Choose")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_stdout_that_is_full_is_one_sentence(folder):
    command = [sys.executable, "-m", "stepladder", "schema", "data.parquet"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "Error: No space left on device.\n"


# ---- long runs --------------------------------------------------------------------------------


def interrupted(folder: Path, out: str, people: pd.DataFrame, *more: str):
    """The run of a child that gets a Ctrl-C once it's about to answer the marked person."""
    people.to_parquet("people.parquet")
    command = [sys.executable, "-m", "stepladder", *arguments(*more, model="loans:slow", out=out)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    until = time.monotonic() + 60
    while not Path("asleep").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)
    return process.returncode, *said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_ctrl_c_keeps_what_is_finished_in_a_file_named_partial(folder, table):
    people = table(1500)
    people.loc[1200, "income"] = MARK
    Path("plan.parquet").write_text("mine")
    status, out, said = interrupted(folder, "plan.parquet", people, "--paths", "1")
    assert status == 130
    assert out == ""
    assert said.endswith("Stopped. 1,000 of 1,500 people are kept in plan.partial.parquet.\n")
    assert "Traceback" not in said
    assert Path("plan.parquet").read_text() == "mine"
    assert files(folder) == {*INPUTS, "plan.parquet", "plan.partial.parquet", "asleep"}
    kept = parquet.read_table("plan.partial.parquet")
    assert kept["person"].unique().to_pylist() == list(range(1000))


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_a_partial_file_of_any_kind_can_be_read(folder, ending, monkeypatch, table):
    monkeypatch.setattr(inputs, "AT_A_TIME", 10)
    people = table(40)
    people.loc[25, "income"] = MARK
    people.to_parquet("people.parquet")
    shown = stepladder("--paths", "1", model="loans:stopped", out=f"plan{ending}")
    assert shown.exit_code == 130
    kept = Path(f"plan.partial{ending}")
    assert f"Stopped. 20 of 40 people are kept in {kept}." in shown.stderr
    assert files(folder) == {*INPUTS, kept.name}
    if ending == ".csv":
        assert pd.read_csv(kept)["person"].tolist() == list(range(20))
    else:
        assert len(json.loads(kept.read_text())["people"]) == 20


def test_ctrl_c_waits_for_what_is_being_written():
    written = []

    def write():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            written.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert written == ["all of it"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_ctrl_c_before_anybody_is_finished_writes_nothing(folder, table):
    people = table(50)
    people.loc[20, "income"] = MARK
    status, out, said = interrupted(folder, "plan.csv", people, "--json")
    assert status == 130
    assert json.loads(out)["people"] == 0
    assert json.loads(out)["complete"] is False
    assert files(folder) == {*INPUTS, "asleep"}
    assert "Traceback" not in said


PEAK = """
import resource, sys
from stepladder.cli import main
status = main(sys.argv[1:])
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted otherwise elsewhere")
def test_fifty_thousand_people_take_no_more_memory_than_five_thousand(folder, table):
    peaks = []
    for count in (5_000, 50_000):
        people = table(count)
        people["income"] += 12  # most are there already, so that this doesn't take minutes
        people["who"] = [f"person {i}" for i in range(count)]
        people.to_parquet("people.parquet")
        more = ["--quiet", "--paths", "1", "--id", "who", "--out", f"{count}.parquet"]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *arguments(*more)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        status, peak = done.stdout.split()
        assert status == "0", done.stderr
        assert len(parquet.read_table(f"{count}.parquet")["person"].unique()) == count
        peaks.append(int(peak) / 1024)
    assert peaks[1] - peaks[0] < 40  # MiB; all of the results would be several times that


# ---- the page ---------------------------------------------------------------------------------

DOCS = Path(__file__).parents[2] / "docs"
PAGE, LETTERS = ((DOCS / name).read_text(encoding="utf-8") for name in ("cli.md", "letter.md"))


COMMANDS = ["demo", "schema", "recourse", "walk", "audit", "report", "letter"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_option(command):
    said = CliRunner().invoke(app, [command, "--help"]).stdout
    options = set(re.findall(r"^  (--[a-z-]+)", said, re.MULTILINE)) - {"--help"}
    assert len(options) > 3
    page = PAGE + (LETTERS if command == "letter" else "")
    assert {option for option in options if f"`{option}" not in page} == set()


def test_the_page_and_the_help_have_the_table_of_exits():
    said = CliRunner().invoke(app, ["--help"]).stdout
    for status, why in EXITS.items():
        assert f"| {int(status)} | {why} |" in PAGE
        assert f"{int(status):>5}  {why}" in said


def test_what_decides_which_paths_are_found_is_said_on_the_command_line(folder):
    given = {"cost": "distance", "slack": 0.05, "step-size": 0.5, "max-steps": 20}
    shown = stepladder(*(str(p) for n, v in given.items() for p in (f"--{n}", v)), "--json")
    assert shown.exit_code in (0, 3), shown.output
    settings = json.loads(shown.stdout)["settings"]
    assert {name: settings[name.replace("-", "_")] for name in given} == given
    usual = json.loads(stepladder("--json").stdout)["settings"]
    assert (usual["cost"], usual["slack"]) == ("effort", 0.1)
    for name, value in given.items():
        shown = stepladder("--method", "face", f"--{name}", str(value))
        assert shown.exit_code == 2
        assert f"--{name} is for --method step" in shown.output
    shown = stepladder("--cost", "money")
    assert shown.exit_code == 2
    assert "'money' is neither effort nor distance" in shown.output


def test_a_policy_and_the_most_changes_are_said_on_the_command_line(folder):
    shown = stepladder(
        *("--out", "plan.csv", "--policy", "debt <= 2", "--max-changes", "1", "--json")
    )
    assert shown.exit_code in (0, 3), shown.output
    said = json.loads(shown.stdout)
    assert said["goal"].endswith("with debt <= 2")
    assert said["settings"]["max_changes"] == 1
    ends = pd.read_csv("plan.csv")
    met = ends[ends["outcome"].isin(["reached", "already_positive"])]
    assert (met["debt"] <= 2).all()
    shown = stepladder("--method", "face", "--max-changes", "1")
    assert shown.exit_code == 2
    assert "--max-changes is for --method step" in shown.output
    shown = stepladder("--policy", "dept <= 2")
    assert shown.exit_code == 1
    assert "Did you mean 'debt'?" in shown.output
