"""`stepladder audit`: from what `stepladder recourse` wrote, or from a saved result."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stepladder as sl
from stepladder.audit import audit
from stepladder.cli import inputs
from stepladder.cli.app import app

MODULE = """
import numpy as np

def model(frame):
    return 1 / (1 + np.exp((20 + frame["debt"] - frame["income"]) / 3))

def old(frame):
    return np.where(frame["age"] >= 50, 0.9, 0.1)
"""

SCHEMA = sl.Schema(
    [
        sl.Numeric("income"),
        sl.Numeric("debt", change="decrease"),
        sl.Numeric("age", integer=True, change="never"),
        sl.Categorical("job", levels=["None", "clerk", "smith"], change="never"),
    ]
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(inputs, "AT_A_TIME", 17)
    monkeypatch.delitem(sys.modules, "loans", raising=False)
    (tmp_path / "loans.py").write_text(MODULE)
    table(300, seed=0).to_parquet("data.parquet")
    table(40).to_parquet("people.parquet")
    SCHEMA.save("schema.yaml")
    yield tmp_path
    sys.modules.pop("loans", None)


ASIDE = ["sex", "approved"]
"""The table's columns that aren't in the schema."""

USUAL = {
    "--model": "loans:model",
    "--data": "data.parquet",
    "--people": "people.parquet",
    "--schema": "schema.yaml",
    "--goal": "0.6",
}


def options(**changed: object) -> list[str]:
    usual = {**USUAL, **{f"--{name}": value for name, value in changed.items()}}
    return [str(part) for pair in usual.items() for part in pair]


def stepladder(*arguments: object):
    return CliRunner().invoke(app, [*map(str, arguments)])


def streamed(ending: str = ".parquet", **changed: object) -> Path:
    shown = stepladder("recourse", *options(out=f"plan{ending}", **changed), "--quiet")
    assert shown.exit_code in (0, 3), shown.output
    return Path(f"plan{ending}")


def expected(people: pd.DataFrame, *, schema: sl.Schema = SCHEMA) -> sl.Recourse:
    import loans

    rows = pd.read_parquet("data.parquet")[list(people.columns)]
    return (
        sl.StEP()
        .fit(rows, loans.model, schema=schema, goal=sl.Goal(threshold=0.6))
        .recourse(people)
    )


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {"__pycache__"}


# ---- what `stepladder recourse` wrote, in Python ----------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_a_streamed_result_loads_as_what_the_library_gives(folder, table, ending, monkeypatch):
    monkeypatch.setattr(inputs, "AT_A_TIME", 7)
    loaded = sl.Recourse.load(streamed(ending))
    result = expected(table(40).drop(columns=ASIDE))
    pd.testing.assert_frame_equal(loaded.final, result.final)
    pd.testing.assert_frame_equal(loaded.paths, result.paths)
    pd.testing.assert_frame_equal(loaded.changes, result.changes)
    pd.testing.assert_frame_equal(loaded.status, result.status)
    assert (loaded.settings, loaded.reference) == (result.settings, result.reference)
    assert loaded.goal == result.goal
    np.testing.assert_array_equal(loaded.nearness, result.nearness)
    people = table(40).drop(columns=ASIDE)
    parts = [expected(people.iloc[at : at + 7]) for at in range(0, 40, 7)]
    for what in ("calls", "rows"):  # a few people are asked about with more foresight than many
        assert loaded.asked[what] == sum(part.asked[what] for part in parts)
    loaded.save("again.parquet")
    pd.testing.assert_frame_equal(sl.Recourse.load("again.parquet").final, result.final)


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_missing_values_other_names_and_features_named_like_columns_load_too(folder, table, ending):
    renamed = {"debt": "score", "age": "steps"}
    features = [
        sl.Numeric("income"),
        sl.Numeric("score", change="decrease"),
        sl.Numeric("steps", integer=True, change="never"),
        sl.Categorical("job", levels=["None", "clerk", "smith"], change="never"),
    ]
    sl.Schema(features).save("schema.yaml")
    Path("loans.py").write_text(MODULE.replace("debt", "score").replace("age", "steps"))
    table(300, seed=0).rename(columns=renamed).to_parquet("data.parquet")
    people = table(6).rename(columns=renamed).set_axis(list("abcdef")).drop(columns=ASIDE)
    people.loc["b", "income"] = np.nan
    people.loc["d", "job"] = None
    people.to_parquet("people.parquet")
    loaded = sl.Recourse.load(streamed(ending))
    result = expected(people, schema=sl.Schema(features))
    pd.testing.assert_frame_equal(loaded.final, result.final, check_dtype=False)
    assert list(loaded.status["outcome"]).count("missing_value") == 1  # a job may be missing


# ---- audits -----------------------------------------------------------------------------------


def test_a_result_of_the_command_is_audited_by_its_own_features(folder, table):
    shown = stepladder("audit", streamed(), "--by", "job, age", "--smallest", "5")
    assert shown.exit_code == 0, shown.output
    result = expected(table(40).drop(columns=ASIDE))
    assert shown.stdout == f"{audit(result, ['job', 'age'], smallest=5)}\n"
    assert shown.stderr == ""


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_a_saved_result_is_audited_by_a_table_of_groups(folder, ending, table):
    people = table(40).set_axis([f"p{i}" for i in range(40)])
    result = expected(people.drop(columns=ASIDE))
    result.save(f"saved{ending}")
    groups = people[["sex"]].rename_axis("who").iloc[::-1]
    groups.to_csv("groups.csv")
    groups.to_parquet("groups.parquet")
    said = audit(result, people[["sex"]], budget=1.5)
    for more in (["--groups", "groups.csv", "--id", "who"], ["--groups", "groups.parquet"]):
        shown = stepladder(
            *("audit", f"saved{ending}", "--by", "sex", *more, "--budget", "1.5", "--json")
        )
        assert shown.exit_code == 0, shown.output
        assert json.loads(shown.stdout) == json.loads(json.dumps(said.to_dict()))


def test_features_and_columns_of_a_table_go_together(folder, table):
    people = table(40)
    more = ["--groups", "people.parquet", "--smallest", "5"]
    shown = stepladder("audit", streamed(), "--by", "sex,job", *more)
    assert shown.exit_code == 0, shown.output
    result = expected(people.drop(columns=ASIDE))
    assert shown.stdout == f"{audit(result, people[['sex', 'job']], smallest=5)}\n"
    people.drop(columns="job").to_parquet("people.parquet")
    again = stepladder("audit", "plan.parquet", "--by", "sex,job", *more)
    assert again.stdout == shown.stdout


def test_names_are_matched_as_they_are_written(folder, table):
    people = table(12).assign(who=[f"{i:03}" for i in range(12)])
    people.to_csv("people.csv", index=False)
    plan = streamed(people="people.csv", id="who")
    shown = stepladder("audit", plan, "--by", "sex", "--groups", "people.csv", "--id", "who")
    assert shown.exit_code == 0, shown.output


def test_the_result_may_have_fewer_people_than_the_groups(folder):
    plan = streamed(limit=30)
    shown = stepladder("audit", plan, "--by", "sex", "--groups", "people.parquet", "--json")
    assert json.loads(shown.stdout)["people"] == 30


@pytest.mark.parametrize("out", ["audit.json", "audit.csv"])
def test_an_audit_is_written_to_a_file(folder, out, table):
    shown = stepladder("audit", streamed(), "--by", "job", "--out", out, "--quiet")
    assert (shown.exit_code, shown.output) == (0, "")
    told = audit(expected(table(40).drop(columns=ASIDE)), ["job"]).to_dict()
    if out == "audit.json":
        assert json.loads(Path(out).read_text()) == json.loads(json.dumps(told))
    else:
        kept = pd.read_csv(out)
        assert kept["group"].tolist() == [row["group"] for row in told["by_group"]]
        np.testing.assert_allclose(kept["success"], [row["success"] for row in told["by_group"]])


def test_when_nobody_who_asked_has_a_path_the_exit_is_3(folder, table):
    table(5).assign(age=30).to_parquet("people.parquet")
    shown = stepladder("audit", streamed(model="loans:old"), "--by", "job")
    assert shown.exit_code == 3
    assert "5 people, of whom 5 asked" in shown.stdout


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["none.parquet", "--by", "job"], "There is no result at 'none.parquet'."),
        (["people.parquet", "--by", "job"], "isn't a result that can be read back"),
        (["schema.yaml", "--by", "job"], "isn't a result that can be read back"),
        (["plan.csv", "--by", "job"], ".parquet or .json file of result.save() or stepladder rec"),
        (["plan.parquet", "--by", "jobs"], "no feature of the schema. Did you mean 'job'?"),
        (["plan.parquet", "--by", "sex"], "comes with its table: --groups TABLE."),
        (
            ["plan.parquet", "--by", "sx", "--groups", "people.parquet"],
            "of the schema, nor a column of 'people.parquet'. Did you mean 'sex'?",
        ),
        (["plan.parquet", "--by", "sex", "--groups", "none.csv"], "There is no table at"),
        (
            ["plan.parquet", "--by", "sex", "--groups", "few.csv"],
            "'few.csv' has no row for 37 of the 40 people of the result, such as '3'; it calls ",
        ),
        (
            ["plan.parquet", "--by", "sex", "--groups", "few.csv", "--id", "sex"],
            "'few.csv' has more than one row for ",
        ),
        (["plan.parquet", "--by", "job", "--out", "audit.txt"], "ends in .json, .csv."),
        (["plan.parquet", "--by", "job", "--out", "no/audit.csv"], "Can't write to 'no/audit.csv'"),
        (["plan.parquet", "--by", "job", "--out", "/proc/a.csv"], "Can't write to '/proc/a.csv'"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(folder, more, said, table):
    streamed()
    assert stepladder("recourse", *options(out="plan.csv"), "--quiet").exit_code == 0
    table(3)[["sex"]].assign(sex="f").to_csv("few.csv", index=False)
    before = files(folder)
    out = [] if "--out" in more else ["--out", "audit.json"]
    shown = stepladder("audit", *more, *out, "--quiet")
    assert shown.exit_code == 1, shown.output
    assert shown.stderr.startswith("Error: ")
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""
    assert files(folder) == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["plan.parquet"], "Missing option '--by'"),
        (["plan.parquet", "--by", ","], "--by names at least one column"),
        (["--by", "job"], "Missing argument 'RESULT'"),
        (["plan.parquet", "--by", "job", "--id", "who"], "--id names a column of --groups"),
        (["people.csv", "--by", "job", "--out", "./people.csv"], "is a file that is read from"),
        (["plan.parquet", "--by", "job", "--smallest", "0"], "'--smallest'"),
        (["plan.parquet", "--by", "job", "--budget", "-1"], "'--budget'"),
    ],
)
def test_bad_usage_is_exit_2(folder, more, said):
    shown = stepladder("audit", *more)
    assert shown.exit_code == 2
    assert said in shown.stderr
